import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { dataFilesOf, joinedFilesOf, type Plan, usesFiles } from '../core/plan.ts';
import { orUndefined } from '../core/value/value.ts';
import { commandWords } from '../credentials/command-run.ts';
import { CredentialList } from '../credentials/credential-list.ts';
import { homeIfAny } from '../files/home.ts';
import { statOf } from '../files/stat.ts';
import { certificateFiles } from '../http/client-certificate.ts';
import type { ReservedPath } from '../http/transfers/reserved-paths.ts';

interface FlowSurroundings {
  readonly flow: string;
  readonly cacert?: string;
  /** Paths of the process that runs the flow, such as the flows of a server. */
  readonly reserved?: readonly ReservedPath[];
}

/** These variables contain the path of a file with a secret or with certificate authorities. */
const fileVariable = /^(?:AUTOMATE_\w+_FILE|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS)$/;

/**
 * Returns the files and folders that the records of a flow can neither send nor save to: the flow and the other flows in its folder, the
 * files that it reads, the programs and scripts that it starts, and automate's home folder. Paths often come from records, and records from
 * other people. Empty if the flow uses no files.
 */
export async function reservedPaths(plan: Plan, { flow, cacert, reserved = [] }: FlowSurroundings): Promise<readonly ReservedPath[]> {
  if (!usesFiles(plan)) return [];
  const variables = Object.entries(process.env).flatMap(([name, path]) => (path && fileVariable.test(name) ? [path] : []));
  const home = homeIfAny(process.env);
  const programs = plan.tools.flatMap(({ connection: { server } }) => ('command' in server ? server.command : []));
  const certificates = plan.certificates.flatMap((certificate) => Object.values(certificateFiles(certificate)));
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  const caches = XDG_CACHE_HOME || LOCALAPPDATA || orUndefined(() => join(homedir(), '.cache'));
  return [
    ...reservedFiles([flow], 'the flow'),
    ...reservedFiles([testFileOf(flow)], 'the test file of the flow'),
    ...reservedFiles(
      [...plan.files.keys()].map((path) => resolve(dirname(flow), path)),
      'a file of the flow',
    ),
    ...reservedFiles(
      [...dataFilesOf(plan), ...joinedFilesOf(plan).map(({ path }) => path), ...certificates, ...(cacert === undefined ? [] : [cacert])],
      'a file that the flow reads',
    ),
    ...reservedFiles(filesIn(programs), 'a program that the flow starts'),
    ...reservedFiles(filesIn(await wordsOfCredentials()), 'part of a command that prints a secret'),
    ...reservedFiles(variables, 'a file that automate reads'),
    ...(home === undefined ? [] : [{ path: home, kind: 'folder', what: "in automate's home folder" } as const]),
    // bin/automate.js runs the code in this folder.
    ...(caches === undefined ? [] : [{ path: join(caches, 'automate'), kind: 'folder', what: "in automate's cache folder" } as const]),
    ...reserved,
    { path: dirname(flow), kind: 'flows', what: 'a YAML file in the folder of the flow' },
  ];
}

/** Returns the words of all stored commands that print secrets. They are run for other flows, too. */
async function wordsOfCredentials(): Promise<string[]> {
  const stored = orUndefined(() => new CredentialList(homeIfAny(process.env)).all()) ?? [];
  const commands = stored.flatMap(({ command }) => command ?? []);
  return (await Promise.all(commands.map((command) => commandWords(command).catch(() => [])))).flat();
}

/** Returns the files that the words of a command name. A word can contain several, as in `sh -c './token.sh | head -1'`. */
function filesIn(words: readonly string[]): string[] {
  const names = words.flatMap((word) => [word, ...word.split(/[\s=;|&<>()'"]+/)]);
  return names.filter((name) => statOf(name)?.isFile());
}

/** Returns files as reserved paths. `what` is the continuation of "it is" in messages. */
export function reservedFiles(paths: readonly string[], what: string): ReservedPath[] {
  return paths.map((path) => ({ path, kind: 'file', what }));
}

/** Returns the flows of a folder as reserved paths, even those that are added later. */
export function reservedFlows(folder: string): ReservedPath {
  return { path: folder, kind: 'flows', what: 'one of the flows' };
}

/** Returns the path of a flow's test file: flow.test.yaml for flow.yaml, or flow.test.yml if only that file exists. */
export function testFileOf(flow: string): string {
  const path = join(dirname(flow), `${basename(flow).replace(/\.ya?ml$/i, '')}.test.yaml`);
  const short = path.replace(/yaml$/, 'yml');
  return !statOf(path) && statOf(short) ? short : path;
}
