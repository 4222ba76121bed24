import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { type AskedServer, askingFlow, csvOf, idsTo } from './asking.ts';
import { type Workplace, workplace } from './cli.ts';

/** Number of records in the runs of these tests. */
export const count = 900;
/** The window size in engine/window, which is the maximum number of calls that a crash repeats. */
export const windowSize = 1024;
export const journal = 'out.csv.automate-run';
export const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

const ndjson = idsTo(count)
  .map((id) => `{"id":${id},"big":12345678901234567890}\n`)
  .join('');
const array = `[${ndjson.trim().split('\n').join(',\n')}]`;

/** Creates a workplace with a flow, and with the records in every format. */
export async function placeFor(server: AskedServer, more = ''): Promise<Workplace> {
  return workplace({
    'flow.yaml': askingFlow(server.origin, more),
    'rows.csv': csvOf(count),
    'rows.csv.gz': gzipSync(csvOf(count)),
    'rows.ndjson': ndjson,
    'rows.json': array,
    'wrapped.json': `{"total":${count},"data":{"other":[{}],"items":${array}},"next":null}`,
    'rows.1.csv': csvOf(count).replace(/^400,[\s\S]*/m, ''),
    'rows.2.csv': 'id,note\n',
    'rows.3.csv': csvOf(count).replace(/^1,[\s\S]*?(?=^400,)/m, ''),
  });
}

/** Starts a run and kills it at its n-th request. Returns true if the run got that far. */
export async function killed(place: Workplace, server: AskedServer, calls: number, args: readonly string[], stdin = ''): Promise<boolean> {
  const { child, finished } = place.start(args, { stdin });
  server.after(calls, () => child.kill('SIGKILL'));
  await finished;
  server.after(0, () => {});
  return child.signalCode === 'SIGKILL';
}

/** Returns how many records before the first unfinished one are in the journal. */
async function savedRecords(place: Workplace): Promise<number> {
  const text = await place.read(journal).catch(() => '');
  return Number([...text.matchAll(/"records":(\d+)/g)].at(-1)?.[1] ?? 0);
}

/**
 * Starts a run whose server answers only this many requests, and kills it once nearly all of these records are in the journal. The server
 * answers again afterwards.
 */
export async function killedAfterSaving(place: Workplace, server: AskedServer, calls: number): Promise<void> {
  let release = () => {};
  server.after(calls + 1, () => {
    release = server.hold();
  });
  const { child, finished } = place.start(run);
  // The requests of the last records may arrive in a different order.
  await expect.poll(() => savedRecords(place)).toBeGreaterThan(calls - 16);
  child.kill('SIGKILL');
  await finished;
  release();
}

/** Stops a run after this many credits. Its journal is like that of a killed run, but no new process has to start. */
export async function stopped(place: Workplace, credits: number, args: readonly string[] = run): Promise<void> {
  expect((await place.automate([...args, '--max-credits', String(credits)])).code).toBe(5);
}

/** Returns the content of every file, without locks and notes about complete runs. */
export async function contentsOf(place: Workplace): Promise<Record<string, string>> {
  const files = (await place.files()).filter((name) => !/\.automate-(?:lock|complete)$/.test(name));
  return Object.fromEntries(await Promise.all(files.map(async (name) => [name, await readFile(place.path(name), 'utf8')] as const)));
}

/** Returns the names of the journals, locks and part files in a workplace. */
export const leftBehind = async (place: Workplace) => (await place.files()).filter((name) => /\.automate-/.test(name));
