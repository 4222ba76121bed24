import module from 'node:module';
import { dataFilesOf, type Plan, usesFiles } from '../core/plan.ts';
import { homeFolder } from '../files/home.ts';
import { statOf } from '../files/stat.ts';
import { certificateFiles } from '../http/client-certificate.ts';
import type { ReservedPath } from '../http/transfers/reserved-paths.ts';
import { testFileOf } from './test-file-of.ts';

/** The files and folders around a flow that its records can neither send nor save to. */
export interface FlowSurroundings {
  /** The path of the flow file. */
  readonly flow: string;
  readonly cacert?: string | undefined;
  /** Files and folders of the process that runs the flow, such as the flows of a server. */
  readonly reserved?: readonly ReservedPath[] | undefined;
}

/** Environment variables that contain the path of a file with a secret or with certificate authorities. */
const fileVariable = /^(?:AUTOMATE_\w+_FILE|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS)$/;

/**
 * Returns the files and folders that the records of a flow can neither send nor save to: the flow, the files that it reads, and automate's
 * home folder. Paths often come from records, and records from other people. Empty if the flow uses no files.
 */
export function reservedPaths(plan: Plan, { flow, cacert, reserved = [] }: FlowSurroundings): readonly ReservedPath[] {
  if (!usesFiles(plan)) return [];
  const variables = Object.entries(process.env).flatMap(([name, path]) => (path && fileVariable.test(name) ? [path] : []));
  const programs = plan.tools.flatMap(({ connection: { server } }) => ('command' in server ? server.command : []));
  const certificates = plan.certificates.flatMap((certificate) => Object.values(certificateFiles(certificate)));
  // Node runs the code in its compile cache.
  const codeCache = (module as { getCompileCacheDir?: () => string | undefined }).getCompileCacheDir?.();
  return [
    ...reservedFiles([flow], 'the flow'),
    ...reservedFiles([testFileOf(flow)], 'the test file of the flow'),
    ...reservedFiles([...dataFilesOf(plan), ...certificates, ...(cacert === undefined ? [] : [cacert])], 'a file that the flow reads'),
    ...reservedFiles(
      programs.filter((word) => statOf(word)?.isFile()),
      'a program that the flow starts',
    ),
    ...reservedFiles(variables, 'a file that automate reads'),
    { path: homeFolder(process.env), kind: 'folder', what: "in automate's home folder" },
    ...(codeCache === undefined ? [] : [{ path: codeCache, kind: 'folder', what: "in automate's cache folder" } as const]),
    ...reserved,
  ];
}

/** Returns files as reserved paths. `what` is the continuation of "it is" in messages. */
export function reservedFiles(paths: readonly string[], what: string): ReservedPath[] {
  return paths.map((path) => ({ path, kind: 'file', what }));
}

/** Returns the flows of a folder as reserved paths, even those that are added later. */
export function reservedFlows(folder: string): ReservedPath {
  return { path: folder, kind: 'flows', what: 'one of the flows' };
}
