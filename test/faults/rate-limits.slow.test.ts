import { describe, expect, test } from 'vitest';
import { askingFlow, csvOf } from '../helpers/asking.ts';
import { type Finished, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const epoch = (inSeconds: number) => String(Math.ceil(Date.now() / 1000) + inSeconds);
const date = (inSeconds: number) => new Date(Date.now() + inSeconds * 1000).toUTCString();

/** Runs a flow whose server refuses one request. `waitedMs` is the time from the refusal to the next request. */
async function refusedOnce(status: number, headers: () => Record<string, string>, more = '') {
  let refusedMs = 0;
  let waitedMs = Number.NaN;
  let tooEarly = 0;
  const server = await httpServer(({ path }, response) => {
    if (server.requests.length === 1) {
      response.writeHead(status, headers()).end();
      refusedMs = performance.now();
      return;
    }
    const ms = performance.now() - refusedMs;
    if (Number.isNaN(waitedMs)) waitedMs = ms;
    if (ms < 400) tooEarly++;
    json(response, { name: path });
  });
  const place = await workplace({ 'flow.yaml': askingFlow(server.origin, more), 'rows.csv': csvOf(20) });
  const args = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv', '--concurrency', '1'];
  const finished: Finished = await place.automate(args);
  const errors = finished.code === 4 ? await place.read('out.errors.csv') : '';
  return { ...finished, errors, waitedMs, tooEarly };
}

describe('a response that requires a wait', () => {
  test.each<[string, number, () => Record<string, string>]>([
    ['Retry-After in seconds', 429, () => ({ 'retry-after': '1' })],
    ['Retry-After in seconds', 503, () => ({ 'retry-after': '1' })],
    ['Retry-After as a date', 429, () => ({ 'retry-after': date(2), date: date(0) })],
    [
      'Retry-After as a date by the clock of the server, which is a year off',
      429,
      () => ({ 'retry-after': date(-31_535_999), date: date(-31_536_000) }),
    ],
    ['RateLimit (draft 11)', 429, () => ({ ratelimit: '"default";r=0;t=1' })],
    ['RateLimit-Reset', 429, () => ({ 'ratelimit-remaining': '0', 'ratelimit-reset': '1' })],
    ['X-RateLimit-Reset in seconds', 429, () => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' })],
    ['X-RateLimit-Reset as an epoch', 429, () => ({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(1) })],
  ])('delays all other requests too: %s with status %i', async (_, status, headers) => {
    // Without the header, the call would wait only for the backoff of 1 ms.
    const { code, waitedMs, tooEarly } = await refusedOnce(status, headers, ', retry: { backoff: 1ms }');
    expect(code).toBe(0);
    expect(waitedMs).toBeGreaterThan(400);
    expect(tooEarly).toBe(0);
  });
});

describe('an invalid Retry-After header', () => {
  test.each([['-5'], ['soon'], ['1e3'], ['']])('is ignored in favour of the usual backoff: %j', async (value) => {
    const { code, waitedMs } = await refusedOnce(429, () => ({ 'retry-after': value }), ', retry: { backoff: 50ms }');
    expect(code).toBe(0);
    expect(waitedMs).toBeGreaterThan(45);
  });
});

describe('a Retry-After that is longer than retry.max_wait', () => {
  test.each([
    ['10 years in seconds', '315360000'],
    ['10 years as a date', date(315_360_000)],
  ])('fails the record at once, while other records continue: %s', async (_, value) => {
    const { code, errors, stderr } = await refusedOnce(429, () => ({ 'retry-after': value }));
    expect(code).toBe(4);
    expect(errors).toMatch(/^1,.*,http,429,.*it asks to wait 87\d{3} h.*longer than retry\.max_wait of 5 min/m);
    expect(stderr).toContain('20 read, 19 written, 1 failed');
  });
});
