import { describe, expect, test } from 'vitest';
import type { ConcurrencyEvent } from '../../src/core/event.ts';
import { mostAuto } from '../../src/core/options/amounts.ts';
import { windowSize } from '../../src/engine/window.ts';
import { compile } from '../../src/flow/compile.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { httpFlow, numberedRecords } from '../helpers/flows.ts';
import { nodeTypes } from '../helpers/node-types.ts';
import { type FlowResult, runFlow } from '../helpers/run-flow.ts';

const changesOf = ({ events }: FlowResult) => events.filter((event): event is ConcurrencyEvent => event.type === 'concurrency');

/**
 * Creates a server that processes `served` requests at once, in 50 ms each, and queues the others.
 * `most` is the highest number of requests that were in the server at the same time.
 */
function serverOf(served: number) {
  const clock = createFakeClock();
  const free = Array.from({ length: served }, () => 0);
  const seen = { here: 0, most: 0 };
  const http = () => {
    seen.here++;
    seen.most = Math.max(seen.most, seen.here);
    const place = free.indexOf(Math.min(...free));
    const endMs = Math.max(clock.now(), free[place] as number) + 50;
    free[place] = endMs;
    void clock.sleepUntil(endMs).then(() => seen.here--);
    return { afterMs: endMs - clock.now() };
  };
  return { clock, http, seen };
}

describe('automatic concurrency (concurrency: auto)', () => {
  test('finds a number of concurrent calls that suits the server, and reports each change', async () => {
    const { clock, http } = serverOf(20);
    const result = await runFlow(httpFlow('concurrency: auto'), numberedRecords(3000), { http, clock });
    const changes = changesOf(result);
    expect(changes.slice(0, 3)).toEqual([
      { type: 'concurrency', gate: 'http-1', to: 4, reason: 'start' },
      { type: 'concurrency', gate: 'http-1', from: 4, to: 8, reason: 'fast' },
      { type: 'concurrency', gate: 'http-1', from: 8, to: 16, reason: 'fast' },
    ]);
    const end = changes.at(-1)?.to ?? 0;
    expect(end).toBeGreaterThanOrEqual(18);
    expect(end).toBeLessThanOrEqual(30);
    expect(result.rows).toHaveLength(3000);
    // With the best fixed concurrency, the run would take 7.5 s.
    expect(result.waitedMs).toBeLessThan(9000);
  });

  test.each([
    ['the limit in --concurrency', 'connections: {}', 'concurrency: auto', 3],
    [
      'the limit of the connection',
      'connections: { a: { type: http, base_url: "https://a.com", concurrency: 3 } }',
      'connection: a, concurrency: auto',
      undefined,
    ],
    [
      'the limit of the node',
      'connections: { a: { type: http, base_url: "https://a.com", concurrency: auto } }',
      'connection: a, concurrency: 3',
      undefined,
    ],
  ])('never exceeds %s', async (_, connections, options, concurrency) => {
    const { clock, http, seen } = serverOf(50);
    const flow = `${connections === 'connections: {}' ? '' : `${connections}\n`}nodes: [{ type: http, url: "https://a.com/{{id}}", ${options} }]`;
    await runFlow(flow, numberedRecords(300), { http, clock, concurrency });
    expect(seen.most).toBe(3);
  });

  test("applies to all of a connection's nodes together if the connection sets it", async () => {
    const node = (path: string) => `{ type: http, connection: crm, url: "/${path}/{{id}}" }`;
    const flow = `connections: { crm: { type: http, base_url: "https://a.com", concurrency: auto } }\nnodes: [${node('a')}, ${node('b')}]`;
    const { clock, http } = serverOf(8);
    const result = await runFlow(flow, numberedRecords(500), { http, clock });
    expect(new Set(changesOf(result).map(({ gate }) => gate))).toEqual(new Set(['crm']));
    expect(changesOf(result).filter(({ reason }) => reason === 'start')).toHaveLength(1);
  });

  test("overrides a node's concurrency if it is set on the command line", async () => {
    const { clock, http, seen } = serverOf(50);
    await runFlow(httpFlow('concurrency: 2'), numberedRecords(500), { http, clock, concurrency: 'auto' });
    expect(seen.most).toBeGreaterThan(16);
  });

  test('does not exceed a rate limit, and does not rise while the rate limits the calls', async () => {
    const { clock, http } = serverOf(50);
    const result = await runFlow(httpFlow('concurrency: auto, rate: 20/s'), numberedRecords(100), { http, clock });
    expect(result.waitedMs).toBeGreaterThanOrEqual(99 * 50);
    expect(changesOf(result).map(({ to }) => to)).toEqual([4]);
  });

  test.each([
    ['429', { status: 429, headers: { 'retry-after': '7' } }],
    ['429 without Retry-After', { status: 429 }],
    ['503 with Retry-After', { status: 503, headers: { 'retry-after': '7' } }],
  ])('does not fall after a %s, because the pace of the calls reacts', async (_, refusal) => {
    const http = (_request: unknown, index: number) => (index === 100 ? { ...refusal, afterMs: 5 } : { afterMs: 50 });
    const result = await runFlow(httpFlow('concurrency: auto'), numberedRecords(200), { http });
    expect(changesOf(result).filter(({ reason }) => reason === 'refused')).toEqual([]);
    expect(result.waitedMs).toBeGreaterThan('headers' in refusal ? 7000 : 0);
    expect(result.rows).toHaveLength(200);
  });

  test('falls by a third after a 503 without Retry-After', async () => {
    const http = (_request: unknown, index: number) => (index === 100 ? { status: 503, afterMs: 5 } : { afterMs: 50 });
    const result = await runFlow(httpFlow('concurrency: auto'), numberedRecords(200), { http });
    const refused = changesOf(result).filter(({ reason }) => reason === 'refused');
    expect(refused).toHaveLength(1);
    expect(refused[0]?.to).toBe(Math.floor(((refused[0]?.from ?? 0) * 2) / 3));
  });

  test('reports its changes; a fixed concurrency reports none', async () => {
    const result = await runFlow(httpFlow('concurrency: 4'), numberedRecords(50), { http: () => ({ afterMs: 50 }) });
    expect(changesOf(result)).toEqual([]);
  });

  test('makes the window of records large enough for the highest concurrency', () => {
    const compiled = compile(httpFlow('concurrency: auto'), { file: 'flow.yaml', nodeTypes, savedConnections: () => ({}) } as never);
    expect(windowSize(compiled)).toBeGreaterThanOrEqual(mostAuto * 4);
  });

  test.each([
    ['0', 'expected at least 1, found 0'],
    ['10001', 'expected at most 10000, found 10001'],
    ['often', 'expected a whole number from 1 to 10000, or auto, found "often"'],
  ])('refuses the value %s', async (written, message) => {
    await expect(runFlow(httpFlow(`concurrency: ${written}`), [{ id: 1 }])).rejects.toThrow(message);
  });
});
