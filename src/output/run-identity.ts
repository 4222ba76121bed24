import { createHash } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import { dataFilesOf, type Plan, usesFiles } from '../core/plan.ts';
import type { RunOptions } from '../core/run-options.ts';
import { version } from '../core/version.ts';
import { envOf } from '../files/home.ts';
import { fullPath, statOf } from '../files/stat.ts';
import { readError } from '../records/input.ts';
import { filesFolder, inputPaths } from '../records/inputs.ts';
import { errorsFileKey, type Identity } from './journal/complete-run.ts';
import type { FailedList } from './journal/failed-list.ts';
import type { OutputPlan } from './output-plan.ts';

export interface FlowInFile {
  readonly file: string;
  readonly plan: Plan;
}

const writingKey = 'the way the output is written';

/** A run with `replace`, whose rows are in part files until it is complete. */
export function isReplacing(identity: Identity): boolean {
  return JSON.parse(identity[writingKey] ?? '{}').replace === true;
}

const versionKey = 'the version of automate';

export function withoutVersion({ [versionKey]: _, ...identity }: Identity): Identity {
  return identity;
}

/** False for stdin and pipes, which cannot be read twice and have no fingerprint. */
export function knowsInput(identity: Identity, options: RunOptions): boolean {
  const paths = inputPaths(options);
  return paths.every((path) => Object.hasOwn(identity, keyFor(contentKey, path, paths)));
}

/** With several inputs, the key contains the input's path. */
function keyFor(property: string, path: string, { length }: readonly string[]): string {
  return length === 1 ? property : property.replace('the input', () => path);
}

const flowKey = 'the flow';

const variableKey = (name: string) => `the variable ${name}`;

export function changedVariables({ variables }: Plan, before: Identity): string[] {
  const isChanged = ([name, value]: readonly [string, string]) => ![undefined, contentHash(value)].includes(before[variableKey(name)]);
  return [...variables.values].filter(isChanged).map(([name]) => name);
}

/** Ignores the values of variables. */
export async function hasChanged(flow: FlowInFile, { [flowKey]: before }: Identity): Promise<boolean> {
  return (await flowHash(flow)) !== before;
}

/** Leaves out variables' values, which are compared one by one, and `max_cost` amounts, which the user raises to resume a run. */
async function flowHash({ file, plan }: FlowInFile): Promise<string> {
  const { range } = plan.variables;
  const whole = await readFile(file, range ? 'utf8' : 'latin1');
  const text = range ? whole.slice(0, range[0]) + whole.slice(range[1]) : whole;
  return contentHash(text.replace(/(\bmax_cost["']?\s*:\s*)\d[\d._eE+-]*/g, '$1'));
}

const retryKey = 'the run whose failed records are retried';

/** Added to the identity of the run that is retried. */
export function identityOfRetry({ run }: FailedList): Identity {
  return { [retryKey]: run };
}

/** The run was started by `automate retry`. */
export function isRetry(identity: Identity): boolean {
  return Object.hasOwn(identity, retryKey);
}

/** Everything that determines the content of the output. Messages show its keys. */
export async function identityOf(flow: FlowInFile, options: RunOptions, output: OutputPlan): Promise<Identity> {
  const {
    skip,
    limit,
    set = [],
    noInput,
    unordered,
    replace,
    update,
    runsAll,
    maxAge,
    inFormat,
    delimiter,
    encoding,
    records,
    sheet,
    csvSafe,
  } = options;
  const { savedConnections } = flow.plan;
  const folder = usesFiles(flow.plan) ? filesFolder(options) : undefined;
  return {
    [versionKey]: version,
    [flowKey]: await flowHash(flow),
    ...Object.fromEntries([...flow.plan.variables.values].map(([name, value]) => [variableKey(name), contentHash(value)])),
    ...(savedConnections.size > 0 ? { 'the saved connection': contentHash(JSON.stringify([...savedConnections])) } : {}),
    'the environment of its credentials': envOf(options.env),
    ...(await fingerprintsOf(inputPaths(options))),
    ...Object.fromEntries(dataFilesOf(flow.plan).map((file) => [`the data file ${file}`, stateOf(file)])),
    ...(folder !== undefined && { 'the folder for files': fullPath(folder) }),
    'the way the input is read': JSON.stringify({ skip, limit, noInput, inFormat, delimiter, encoding, records, sheet }),
    ...(set.length > 0 && { 'the list of set fields': contentHash(JSON.stringify(set)) }),
    [writingKey]: JSON.stringify({
      unordered,
      replace,
      update,
      runsAll,
      maxAge,
      csvSafe,
      format: output.format,
      errorsFormat: output.errorsFormat,
    }),
    [errorsFileKey]: output.errors === undefined || output.errors === '-' ? (output.errors ?? 'none') : fullPath(output.errors),
  };
}

function contentHash(content: string): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

/** Size and modification time. */
function stateOf(file: string): string {
  const found = statOf(file);
  return found ? `${found.size} bytes of ${found.mtime.toISOString()}` : 'missing';
}

async function fingerprintsOf(paths: readonly string[]): Promise<Identity> {
  const [first = '', ...more] = paths;
  if (more.length === 0) return fingerprintOf(first);
  const all = await Promise.all(paths.map(fingerprintOf));
  const named = all.flatMap((identity, index) =>
    Object.entries(identity).map(([name, value]) => [
      name === inputKey ? keyOfInput(index) : keyFor(name, paths[index] ?? '', paths),
      value,
    ]),
  );
  return Object.fromEntries(named);
}

const inputKey = 'input';

const keyOfInput = (index: number) => (index === 0 ? inputKey : `${inputKey} ${index + 1}`);

/** Full paths, or `stdin`. */
export function inputsIn(identity: Identity): string[] {
  const inputs: string[] = [];
  for (let path = identity[inputKey]; path !== undefined; path = identity[keyOfInput(inputs.length)]) inputs.push(path);
  return inputs;
}

async function fingerprintOf(input: string): Promise<Identity> {
  return inputFingerprint(input).catch((error: unknown) => {
    throw readError(input, error);
  });
}

/** Throws an AutomateError (`output-exists`) that lists the differences. `isComplete`: the earlier run is complete. */
export function refuseOtherRun(before: Identity, now: Identity, out: string, isComplete = false): void {
  const changed = changedNames(before, now);
  if (changed.length === 0) return;
  const lines = changed.flatMap((what) => describeChange(what, before[what] ?? 'nothing', now[what] ?? 'nothing'));
  const what = isComplete ? 'was completed by a different run' : 'cannot be resumed, because this is not the run that began it';
  const details = { isReplacing: isReplacing(before), isComplete };
  throw new AutomateError('output-exists', `${out} ${what}:\n${lines.join('\n')}`, { code: 'other-run', details });
}

/** For a hash, only says "has changed". For options, lists those that differ. */
function describeChange(what: string, before: string, now: string): string[] {
  if (/^[0-9a-f]{16}$/.test(now)) return [`${what} has changed`];
  if (!before.startsWith('{') || !now.startsWith('{')) return [`${what} was ${before}, is ${now}`];
  const [old = {}, present = {}] = [before, now].map((text) => JSON.parse(text) as Record<string, unknown>);
  return changedNames(old, present).map(
    (name) => `${what}: ${optionName(name)} was ${showOption(old[name])}, is ${showOption(present[name])}`,
  );
}

/** As on the command line: `csv-safe` for `csvSafe`. */
function optionName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function showOption(value: unknown): string {
  return value === undefined ? 'not set' : JSON.stringify(value);
}

function changedNames(before: Readonly<Record<string, unknown>>, now: Readonly<Record<string, unknown>>): string[] {
  return Object.keys({ ...before, ...now }).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]));
}

/** Contains a hash of the content. stdin and pipes have no such property. */
const contentKey = 'the content of the input';

const blockBytes = 64 * 1024;

/**
 * Path, size, modification time, and a hash of the first and last 64 kB, which reveal a change. stdin and pipes only have a name or path.
 */
async function inputFingerprint(path: string): Promise<Record<string, string>> {
  if (path === '-') return { input: 'stdin' };
  // A pipe can be read only once, so it is left for the run to read.
  if (!(await stat(path)).isFile()) return { input: resolve(path) };
  const handle = await open(path, 'r');
  try {
    const { size, mtimeMs } = await handle.stat();
    const first = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, 0);
    const last = await handle.read(Buffer.alloc(blockBytes), 0, blockBytes, Math.max(0, size - blockBytes));
    const hash = createHash('sha256').update(first.buffer.subarray(0, first.bytesRead)).update(last.buffer.subarray(0, last.bytesRead));
    return {
      input: resolve(path),
      'the size of the input': `${size} bytes`,
      'the modification time of the input': new Date(mtimeMs).toISOString(),
      [contentKey]: hash.digest('hex').slice(0, 16),
    };
  } finally {
    await handle.close();
  }
}
