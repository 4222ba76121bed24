import { readFile } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { type AskedServer, askingFlow, csvOf, idsTo } from './asking.ts';
import { type Workplace, workplace } from './cli.ts';

/** How many records the runs of these tests have. */
export const count = 900;
/** engine/window: no crash repeats more calls. */
export const windowSize = 1024;
export const journal = 'out.csv.automate-run';
export const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

const ndjson = idsTo(count)
  .map((id) => `{"id":${id},"big":12345678901234567890}\n`)
  .join('');
const array = `[${ndjson.trim().split('\n').join(',\n')}]`;

/** A place with a flow and the records in every format. */
export async function placeFor(server: AskedServer, more = ''): Promise<Workplace> {
  return workplace({
    'flow.yaml': askingFlow(server.origin, more),
    'rows.csv': csvOf(count),
    'rows.csv.gz': gzipSync(csvOf(count)),
    'rows.ndjson': ndjson,
    'rows.json': array,
  });
}

/** Starts a run and kills it with the n-th call that it makes; answers whether it came to that. */
export async function killed(place: Workplace, server: AskedServer, calls: number, args: readonly string[], stdin = ''): Promise<boolean> {
  const { child, finished } = place.start(args, { stdin });
  server.after(calls, () => child.kill('SIGKILL'));
  await finished;
  server.after(0, () => {});
  return child.signalCode === 'SIGKILL';
}

/** What a file holds, unpacked. */
export async function bytesOf(place: Workplace, name: string): Promise<string> {
  const bytes = await readFile(place.path(name));
  return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
}

/** Every file of a place, as it is, but for locks. */
export async function contentsOf(place: Workplace): Promise<Record<string, string>> {
  const files = (await place.files()).filter((name) => !name.endsWith('.automate-lock'));
  return Object.fromEntries(await Promise.all(files.map(async (name) => [name, await place.read(name)] as const)));
}

/** Journals and locks. */
export const leftBehind = async (place: Workplace) => (await place.files()).filter((name) => name.includes('.automate-'));
