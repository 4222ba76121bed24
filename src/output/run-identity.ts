import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { AutomateError } from '../core/failure.ts';
import { dataFilesOf, joinedFilesOf, type Plan, usesFiles } from '../core/plan.ts';
import { optionsWith, type RunOptions, valuesOf } from '../core/run-options.ts';
import { lowerCaseName } from '../core/text/words.ts';
import { version } from '../core/version.ts';
import { envOf } from '../files/home.ts';
import { fullPath, shownPath, statOf } from '../files/stat.ts';
import type { Format } from '../records/formats.ts';
import { readError } from '../records/input.ts';
import { filesFolder, inputPaths } from '../records/inputs.ts';
import type { OutputPlan } from './output-plan.ts';

export interface FlowInFile {
  readonly file: string;
  readonly plan: Plan;
}

/** Everything that determines the content of a run's output. To resume the run, all of it must be the same. Hashes are those of contents. */
export interface Identity {
  readonly version: string;
  readonly flow: string;
  readonly variables: Readonly<Record<string, string>>;
  /** A hash; undefined if the flow uses none. */
  readonly savedConnections?: string;
  readonly env: string;
  readonly inputs: readonly InputIdentity[];
  readonly dataFiles: Readonly<Record<string, string>>;
  /** A hash for each file that belongs to the flow, such as a schema. */
  readonly flowFiles: Readonly<Record<string, string>>;
  /** A hash for each joined file, by its path in the flow. */
  readonly joinedFiles: Readonly<Record<string, string>>;
  readonly filesFolder?: string;
  readonly reading: Partial<RunOptions>;
  /** A hash; undefined if no fields are set. */
  readonly setFields?: string;
  readonly writing: Partial<RunOptions> & { readonly format: Format; readonly errorsFormat: Format };
  /** An absolute path, `-`, or `none`. */
  readonly errorsFile: string;
  /** An absolute path; undefined if the run writes no such file. */
  readonly goneFile?: string;
  /** The run whose failed records are retried. */
  readonly retryOf?: string;
}

/** stdin and pipes cannot be read twice, and have only a path. */
interface InputIdentity {
  /** Absolute, or `stdin`. */
  readonly path: string;
  readonly bytes?: number;
  readonly modified?: string;
  /** A hash of the first and last 64 kB, which reveal a change. */
  readonly content?: string;
}

/** A run with `replace`, whose rows are in part files until it is complete. */
export function isReplacing({ writing }: Identity): boolean {
  return writing.replace === true;
}

/** False for stdin and pipes. */
export function knowsInput({ inputs }: Identity): boolean {
  return inputs.every(({ content }) => content !== undefined);
}

export function changedVariables({ variables }: Plan, before: Identity): string[] {
  const isChanged = ([name, value]: readonly [string, string]) => ![undefined, contentHash(value)].includes(before.variables[name]);
  return [...variables.values].filter(isChanged).map(([name]) => name);
}

/** Ignores the values of variables. */
export async function hasChanged(flow: FlowInFile, before: Identity): Promise<boolean> {
  return (await flowHash(flow)) !== before.flow || !isDeepStrictEqual(flowFilesOf(flow.plan), before.flowFiles);
}

function flowFilesOf({ files }: Plan): Readonly<Record<string, string>> {
  return Object.fromEntries([...files].map(([file, text]) => [file, contentHash(text)]));
}

/** The names of the joined files whose content has changed. */
export async function changedJoinedFiles({ plan }: FlowInFile, { joinedFiles = {} }: Partial<Identity>): Promise<string[]> {
  const now = await joinedHashes(plan);
  return Object.keys(now).filter((name) => joinedFiles[name] !== undefined && joinedFiles[name] !== now[name]);
}

async function joinedHashes(plan: Plan): Promise<Readonly<Record<string, string>>> {
  const hashes: Record<string, string> = {};
  for (const { name, path } of joinedFilesOf(plan)) hashes[name] ??= await hashOfFile(path);
  return hashes;
}

/** Of the whole content. Throws an AutomateError (`input`) if the file cannot be read. */
export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch (error) {
    throw readError(path, error);
  }
  return hash.digest('hex').slice(0, 16);
}

/** Leaves out variables' values, which are compared one by one, and `max_cost` amounts, which the user raises to resume a run. */
async function flowHash({ file, plan }: FlowInFile): Promise<string> {
  const { range } = plan.variables;
  const whole = await readFile(file, range ? 'utf8' : 'latin1');
  const text = range ? whole.slice(0, range[0]) + whole.slice(range[1]) : whole;
  return contentHash(text.replace(/(\bmax_cost["']?\s*:\s*)\d[\d._eE+-]*/g, '$1'));
}

export function isRetry({ retryOf }: Identity): boolean {
  return retryOf !== undefined;
}

export async function identityOf(flow: FlowInFile, options: RunOptions, output: OutputPlan): Promise<Identity> {
  const { noInput, runsAll, set = [] } = options;
  const { savedConnections, variables } = flow.plan;
  const folder = usesFiles(flow.plan) ? filesFolder(options) : undefined;
  return {
    version,
    flow: await flowHash(flow),
    variables: Object.fromEntries([...variables.values].map(([name, value]) => [name, contentHash(value)])),
    savedConnections: savedConnections.size > 0 ? contentHash(JSON.stringify([...savedConnections])) : undefined,
    env: envOf(options.env),
    inputs: await Promise.all(inputPaths(options).map(inputIdentity)),
    dataFiles: Object.fromEntries(dataFilesOf(flow.plan).map((file) => [file, stateOf(file)])),
    flowFiles: flowFilesOf(flow.plan),
    joinedFiles: await joinedHashes(flow.plan),
    filesFolder: folder === undefined ? undefined : fullPath(folder),
    reading: { ...valuesOf(options, optionsWith('identity', 'reading')), noInput },
    setFields: set.length > 0 ? contentHash(JSON.stringify(set)) : undefined,
    writing: {
      ...valuesOf(options, optionsWith('identity', 'writing')),
      runsAll,
      format: output.format,
      errorsFormat: output.errorsFormat,
    },
    errorsFile: output.errors === undefined || output.errors === '-' ? (output.errors ?? 'none') : fullPath(output.errors),
    goneFile: output.gone && fullPath(output.gone.out),
  };
}

function contentHash(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

function stateOf(file: string): string {
  const found = statOf(file);
  return found ? `${found.size} bytes of ${found.mtime.toISOString()}` : 'missing';
}

const blockBytes = 64 * 1024;

/** A pipe is left for the run to read. Throws an AutomateError (`input`) for a file that cannot be read. */
async function inputIdentity(path: string): Promise<InputIdentity> {
  if (path === '-') return { path: 'stdin' };
  return fileIdentity(path).catch((error: unknown) => {
    throw readError(path, error);
  });
}

async function fileIdentity(path: string): Promise<InputIdentity> {
  if (!(await stat(path)).isFile()) return { path: resolve(path) };
  const handle = await open(path, 'r');
  try {
    const { size, mtimeMs } = await handle.stat();
    const first = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, 0);
    const last = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, Math.max(0, size - blockBytes));
    const hash = createHash('sha256').update(first.buffer.subarray(0, first.bytesRead)).update(last.buffer.subarray(0, last.bytesRead));
    return {
      path: resolve(path),
      bytes: size,
      modified: new Date(mtimeMs).toISOString(),
      content: hash.digest('hex').slice(0, 16),
    };
  } finally {
    await handle.close();
  }
}

/** Throws an AutomateError (`output-exists`) that lists the differences. `isComplete`: the earlier run is complete. */
export function refuseOtherRun(before: Identity, now: Identity, out: string, isComplete = false): void {
  const [old, present] = [factsOf(before), factsOf(now)];
  // The versions of automate may differ: nothing is left to write, so the output cannot mix rows of different versions.
  if (isComplete) for (const facts of [old, present]) facts.delete(versionName);
  const lines = [...new Set([...old.keys(), ...present.keys()])].flatMap((what) => changeLines(what, old.get(what), present.get(what)));
  if (lines.length === 0) return;
  const what = isComplete ? 'was completed by a different run' : 'cannot be resumed, because this is not the run that began it';
  const details = { isReplacing: isReplacing(before), isComplete };
  throw new AutomateError('output-exists', `${out} ${what}:\n${lines.join('\n')}`, { code: 'other-run', details });
}

/** A text to show, a hash that only shows that something has changed, or options, of which those that differ are shown. */
type Fact = string | { readonly hash: string } | { readonly options: Readonly<Record<string, unknown>> };

const versionName = 'the version of automate';

function factsOf(identity: Identity): Map<string, Fact> {
  const { version, flow, variables, savedConnections, env, inputs, dataFiles, flowFiles, joinedFiles = {}, filesFolder } = identity;
  const { reading, setFields, writing } = identity;
  const facts: [string, Fact | undefined][] = [
    [versionName, version],
    ['the flow', { hash: flow }],
    ...Object.entries(variables).map(([name, hash]): [string, Fact] => [`the variable ${name}`, { hash }]),
    ['the saved connection', hashed(savedConnections)],
    ['the environment of its credentials', env],
    ...inputs.flatMap((input, index) => inputFacts(input, index, inputs.length)),
    ...Object.entries(dataFiles).map(([file, state]): [string, Fact] => [`the data file ${file}`, state]),
    ...Object.entries(flowFiles).map(([file, hash]): [string, Fact] => [`the file ${file}`, { hash }]),
    ...Object.entries(joinedFiles).map(([file, hash]): [string, Fact] => [`the joined file ${file}`, { hash }]),
    ['the folder for files', filesFolder],
    ['the way the input is read', { options: reading }],
    ['the list of set fields', hashed(setFields)],
    ['the way the output is written', { options: writing }],
    ['the errors file', identity.errorsFile],
    ['the file for gone records', identity.goneFile],
    ['the run whose failed records are retried', identity.retryOf],
  ];
  return new Map(facts.filter((fact): fact is [string, Fact] => fact[1] !== undefined));
}

function hashed(hash: string | undefined): Fact | undefined {
  return hash === undefined ? undefined : { hash };
}

/** With several inputs, they are named by their paths. */
function inputFacts({ path, bytes, modified, content }: InputIdentity, index: number, count: number): [string, Fact | undefined][] {
  const name = count === 1 ? 'the input' : shownPath(path);
  return [
    [index === 0 ? 'input' : `input ${index + 1}`, path],
    [`the size of ${name}`, bytes === undefined ? undefined : `${bytes} bytes`],
    [`the modification time of ${name}`, modified],
    [`the content of ${name}`, hashed(content)],
  ];
}

function changeLines(what: string, before: Fact = 'nothing', now: Fact = 'nothing'): string[] {
  if (isDeepStrictEqual(before, now)) return [];
  if (typeof before === 'object' && 'options' in before && typeof now === 'object' && 'options' in now)
    return optionLines(what, before.options, now.options);
  return [typeof now === 'string' ? `${what} was ${typeof before === 'string' ? before : 'other'}, is ${now}` : `${what} has changed`];
}

function optionLines(what: string, before: Readonly<Record<string, unknown>>, now: Readonly<Record<string, unknown>>): string[] {
  return Object.keys({ ...before, ...now }).flatMap((name) => {
    const [old, present] = [before[name], now[name]].map((value) => (value === undefined ? 'not set' : JSON.stringify(value)));
    return old === present ? [] : [`${what}: ${lowerCaseName(name, '-')} was ${old}, is ${present}`];
  });
}
