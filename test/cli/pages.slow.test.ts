import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';
import { pagesFlow, pagesServer } from '../helpers/pages-server.ts';
import { remembered } from '../helpers/remembered.ts';

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

const peakMemory = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync('peak', String(process.resourceUsage().maxRSS)));`;

test('memory use does not grow with the number of pages in a response', async () => {
  const peakOf = async (pages: number) => {
    const server = await pagesServer({ pages, rows: 100, text: (id, n) => `the text of ${id} ${n} is neither long nor short` });
    const place = await workplace({ 'flow.yaml': pagesFlow(server.origin), 'rows.csv': 'id\na\n', 'peak.mjs': peakMemory });
    const { code } = await place.automate(run, { node: ['--import', place.path('peak.mjs')] });
    expect([code, server.requests.length]).toEqual([0, pages]);
    expect((await place.read('out.csv')).split('\n')).toHaveLength(pages * 100 + 2);
    return Number(await place.read('peak'));
  };
  const [few, many] = [await peakOf(100), await peakOf(800)];
  expect(many / few).toBeLessThan(1.5);
});

describe('a run that ends between two pages of a record', () => {
  const pages = 10;
  const size = { pages, rows: 20, text: (id: string, n: number) => `${id} ${n} ${'text '.repeat(20)}` };
  const ids = Array.from({ length: 12 }, (_, index) => `r${index}`);
  const input = `id\n${ids.join('\n')}\n`;

  const undisturbed = remembered(async (more: string, out: string) => {
    const server = await pagesServer(size);
    const place = await workplace({ 'flow.yaml': pagesFlow(server.origin, more), 'rows.csv': input });
    expect((await place.automate([...run.slice(0, -1), out])).code).toBe(0);
    return place.read(out);
  });

  test.each(['', ', concurrency: 2'])('leaves no incomplete record when its credits are used up, and can be resumed%s', async (more) => {
    const expected = await undisturbed(more, 'out.csv');
    const server = await pagesServer({ ...size, ms: 2 });
    const place = await workplace({ 'flow.yaml': pagesFlow(server.origin, more), 'rows.csv': input });
    const stopped = await place.automate([...run, '--max-credits', '105']);
    expect([stopped.code, server.requests.length]).toEqual([5, 105]);
    expect(stopped.stderr).toContain('--resume');
    const before = await place.read('out.csv');
    expect(expected.startsWith(before)).toBe(true);
    expect((before.split('\n').length - 1) % 200).toBeLessThanOrEqual(1);
    const done = await place.automate([...run, '--resume']);
    expect(done.code).toBe(0);
    expect((await place.read('out.csv')) === expected).toBe(true);
    expect(await place.files()).toEqual(['flow.yaml', 'out.csv', 'out.csv.automate', 'rows.csv']);
    const written = Math.floor(before.split('\n').length / 200);
    expect(server.requests.length).toBe(105 + (ids.length - written) * pages);
  });

  test.each(['csv', 'json', 'ndjson'])('leaves only the files that --resume needs if it is killed with SIGKILL: %s', async (format) => {
    const out = `out.${format}`;
    const expected = await undisturbed('', out);
    const server = await pagesServer({ ...size, ms: 3 });
    const place = await workplace({ 'flow.yaml': pagesFlow(server.origin, ', concurrency: 3'), 'rows.csv': input });
    const args = [...run.slice(0, -1), out, '--resume'];
    for (const calls of [4, 25, 70]) {
      const { child, finished } = place.start(args);
      server.after(calls, () => child.kill('SIGKILL'));
      await finished;
      expect(child.signalCode).toBe('SIGKILL');
      expect((await place.files()).filter((name) => name.includes('.part'))).toEqual([]);
    }
    server.after(0, () => {});
    expect((await place.automate(args)).code).toBe(0);
    expect((await place.read(out)) === expected).toBe(true);
    expect(await place.files()).toEqual(['flow.yaml', out, `${out}.automate`, 'rows.csv']);
  });

  test('can be resumed after Ctrl-C', async () => {
    const expected = await undisturbed('', 'out.csv');
    const server = await pagesServer({ ...size, ms: 3 });
    const place = await workplace({ 'flow.yaml': pagesFlow(server.origin, ', concurrency: 3'), 'rows.csv': input });
    const { child, finished } = place.start(run);
    server.after(50, () => child.kill('SIGINT'));
    expect((await finished).code).toBe(130);
    expect((await place.automate([...run, '--resume'])).code).toBe(0);
    expect((await place.read('out.csv')) === expected).toBe(true);
    expect(await place.files()).toEqual(['flow.yaml', 'out.csv', 'out.csv.automate', 'rows.csv']);
  });
});
