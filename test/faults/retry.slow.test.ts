import { describe, expect, test } from 'vitest';
import { idsTo } from '../helpers/asking.ts';
import { windowSize } from '../helpers/resuming.ts';
import { failingServer, twoPlaces } from '../helpers/retrying.ts';

const records = 900;
const failed = idsTo(records).filter((id) => id % 3 !== 0);
const csv = `id\n${idsTo(records).join('\n')}\n`;
const ndjson = idsTo(records)
  .map((id) => `{"id":${id},"big":12345678901234567890}\n`)
  .join('');

/** The moments at which the retry is killed: after a number of calls, or some milliseconds after the last record's call. */
const kills: readonly Kill[] = [
  { calls: 1, waitMs: 0 },
  { calls: 250, waitMs: 0 },
  { last: true, waitMs: 0 },
  { last: true, waitMs: 25 },
];
/** The kills of formats whose retry differs only in how it writes. */
const fewKills: readonly Kill[] = [
  { calls: 250, waitMs: 0 },
  { last: true, waitMs: 10 },
];

interface Kill {
  readonly calls?: number;
  readonly last?: true;
  readonly waitMs: number;
}

describe('an "automate retry" that is killed with SIGKILL and resumed', () => {
  test.each([
    ['csv', 'name: name', kills],
    ['ndjson', 'name: name', fewKills],
    ['json.gz', 'name: name', fewKills],
    ['ndjson', 'name: name, v: "rows[].v"', fewKills],
  ])('writes the same output as a run without failures (%s, map %s)', async (ending, map, moments) => {
    const server = await failingServer();
    const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", retry: { max: 0 }, map: { ${map} } }]\n`;
    const { whole, place } = await twoPlaces({ 'flow.yaml': flow, 'rows.csv': csv, 'rows.ndjson': ndjson });
    const out = `out.${ending}`;
    const args = ['run', 'flow.yaml', '--in', ending === 'csv' ? 'rows.csv' : 'rows.ndjson', '--out', out];
    await whole.automate(args);
    for (const id of failed) server.failing.add(String(id));
    expect((await place.automate(args)).code).toBe(4);
    server.failing.clear();
    server.calls.length = 0;
    const killed = await killAt(moments, place, server, out);
    expect(killed).toBeGreaterThanOrEqual(moments.length / 2);
    const { code, stderr } = await place.automate(['retry', out, '--resume']);
    // The retry may already have been complete when it was killed for the last time.
    if (code !== 0) expect(stderr).toContain(`${out} has no failed records to retry`);
    expect(await place.read(out)).toBe(await whole.read(out));
    const files = (await place.files()).filter((name) => !name.endsWith('.automate-lock'));
    expect(files).toEqual(await whole.files());
    expect(new Set(server.calls)).toEqual(new Set(failed.map(String)));
    expect(server.calls.length - failed.length).toBeLessThanOrEqual(windowSize * killed);
  });
});

/** Starts the retry repeatedly, and kills it each time at a different moment. Returns how often it was killed. */
async function killAt(
  moments: readonly Kill[],
  place: Awaited<ReturnType<typeof twoPlaces>>['place'],
  server: Awaited<ReturnType<typeof failingServer>>,
  out: string,
): Promise<number> {
  let count = 0;
  const lastId = String(failed.at(-1));
  for (const { calls, last, waitMs } of moments) {
    const { child, finished } = place.start(['retry', out, ...(count > 0 ? ['--resume'] : [])]);
    const begun = server.calls.length;
    const kill = () => setTimeout(() => child.kill('SIGKILL'), waitMs);
    server.onCall = (id) => {
      if (last ? id === lastId : server.calls.length === begun + (calls ?? 0)) kill();
    };
    await finished;
    server.onCall = undefined;
    if (child.signalCode !== 'SIGKILL') break;
    count++;
  }
  return count;
}
