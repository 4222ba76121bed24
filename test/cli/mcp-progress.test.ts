import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRedactor } from '../../src/credentials/redact.ts';
import { CallProgress } from '../../src/flow-tools/flow-tools.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function watched() {
  const told: string[] = [];
  const progress = new CallProgress((message) => told.push(message));
  const redactor = createRedactor();
  redactor.add('s3cret-value');
  return { told, progress, report: (event: Parameters<CallProgress['report']>[0]) => progress.report(event, redactor) };
}

const done = { type: 'call-done', record: 1, node: 'ask', attempts: 1, ms: 5 } as const;

test('an MCP call reports its progress at least every 5 s until it ends', () => {
  const { told, progress, report } = watched();
  vi.advanceTimersByTime(5000);
  expect(told).toEqual(['waiting for 5 s']);
  vi.advanceTimersByTime(2000);
  report(done);
  vi.advanceTimersByTime(3000);
  expect(told.slice(1)).toEqual(['ask: 1 answer']);
  vi.advanceTimersByTime(5000);
  expect(told.slice(2)).toEqual(['waiting for 15 s']);
  progress.end();
  vi.advanceTimersByTime(20_000);
  expect(told).toHaveLength(3);
});

test('an MCP call reports arriving responses at most four times a second', () => {
  const { told, progress, report } = watched();
  for (let count = 0; count < 100; count++) {
    report(done);
    vi.advanceTimersByTime(10);
  }
  expect(told).toEqual(['ask: 1 answer', 'ask: 26 answers', 'ask: 51 answers', 'ask: 76 answers']);
  progress.end();
});

test('an MCP call reports each wait with its reason, and masks secrets', () => {
  const { told, progress, report } = watched();
  const failure = { node: 'ask', class: 'http', status: 503, message: 'the server said s3cret-value', attempts: 1 } as const;
  report({ type: 'call-retried', record: 1, waitMs: 2000, ...failure });
  report({ type: 'gate-paused', gate: 'https://api.example.com', status: 429, waitMs: 60_000 });
  expect(told).toEqual(['ask: the server said ***; retries after 2 s', 'waits 1 min, because the server asked it to']);
  progress.end();
});
