import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const input = `id\n${Array.from({ length: 60 }, (_, index) => `${index + 1}\n`).join('')}`;
const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

const placeFor = async (concurrency: string) => {
  const server = await answeringServer(async ({ path }) => {
    await sleep(5);
    return { body: { name: `Name ${path.slice(1)}` } };
  });
  const flow = `nodes: [{ type: http, url: "${server.origin}/{{id}}", map: [name], concurrency: ${concurrency} }]\n`;
  return { server, place: await workplace({ 'flow.yaml': flow, 'rows.csv': input }) };
};

describe('concurrency: auto', () => {
  test('is reported in the summary, the JSON summary, the events and the --verbose lines', async () => {
    const { place } = await placeFor('auto');
    const { code, stderr } = await place.automate([...run, '--verbose', '--events', 'events.ndjson', '--summary', 's.json']);
    expect(code).toBe(0);
    const [, end, least, most] = /^ {2}concurrency: (\d+) at the end \((\d+) to (\d+)\)$/m.exec(stderr) ?? [];
    expect(least).toBe('4');
    expect(stderr).toContain('concurrency of http-1: 4, at first\n');
    const { concurrency } = JSON.parse(await place.read('s.json'));
    expect(concurrency).toEqual([{ gate: 'http-1', end: Number(end), least: 4, most: Number(most) }]);
    const events = (await place.read('events.ndjson'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.find(({ type }) => type === 'concurrency')).toMatchObject({ gate: 'http-1', to: 4, reason: 'start' });
  });

  test('is overridden by --concurrency, and is then not reported', async () => {
    const { server, place } = await placeFor('auto');
    const { stderr } = await place.automate([...run, '--concurrency', '2', '--summary', 's.json']);
    expect(server.mostAtOnce()).toBe(2);
    expect(stderr).not.toContain('concurrency');
    expect(JSON.parse(await place.read('s.json'))).not.toHaveProperty('concurrency');
  });

  test('is reported with one line for each worker', async () => {
    const { place } = await placeFor('1');
    const { code, stderr } = await place.automate([...run, '--concurrency', 'auto', '--workers', '2']);
    expect(code).toBe(0);
    for (const worker of [1, 2])
      expect(stderr).toMatch(new RegExp(`^  concurrency: \\d+ at the end \\(4 to \\d+\\), http-1 in worker ${worker}$`, 'm'));
  });

  test('is assumed to be 16 in a dry run', async () => {
    const { place } = await placeFor('auto');
    const { stdout, stderr } = await place.automate([...run, '--dry-run']);
    expect(stdout + stderr).toContain('with 16 at once');
  });

  test('is the only word that --concurrency accepts', async () => {
    const { server, place } = await placeFor('auto');
    const { code, stderr } = await place.automate([...run, '--concurrency', 'often']);
    expect(code).toBe(2);
    expect(stderr).toContain('expected a whole number of at least 1, or auto, found "often"');
    expect(server.requests).toEqual([]);
  });
});
