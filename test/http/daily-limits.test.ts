import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LimitReached } from '../../src/core/failure.ts';
import type { HttpRequest } from '../../src/core/ports.ts';
import { withDailyLimits } from '../../src/http/daily-limits.ts';
import { toResponse } from '../helpers/fake-answer.ts';

const noon = Date.UTC(2026, 10, 24, 12);

function limited(answer: Parameters<typeof toResponse>[0] = {}) {
  const home = mkdtempSync(join(tmpdir(), 'automate-days-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const sent: HttpRequest[] = [];
  const time = { wallMs: noon };
  const send = async (request: HttpRequest) => {
    sent.push(request);
    return toResponse(answer);
  };
  const http = { abort: () => undefined, send };
  const create = () => withDailyLimits(http, { home: () => home, userAgent: 'automate/1 (page)', wallNow: () => time.wallMs });
  return { create, sent, time };
}

const request = { headers: { Accept: '*/*' }, perDay: { server: 'Overpass', max: 3 } } as unknown as HttpRequest;

test('the requests of all processes count towards one daily limit, which starts over at midnight UTC', async () => {
  const { create, sent, time } = limited();
  await create().send(request);
  await Promise.all([create().send(request), create().send(request)]);
  await expect(create().send(request)).rejects.toThrow(LimitReached);
  await expect(create().send(request)).rejects.toThrow(
    'the public Overpass server accepts 3 requests a day, which are used up until midnight UTC',
  );
  expect(sent).toHaveLength(3);
  time.wallMs += 12 * 3_600_000;
  await create().send(request);
  expect(sent).toHaveLength(4);
});

test('a public server gets a User-Agent that identifies automate, but other servers do not', async () => {
  const { create, sent } = limited();
  await create().send(request);
  const { perDay: _, ...other } = request;
  await create().send(other);
  expect(sent.map(({ headers }) => headers)).toEqual([{ Accept: '*/*', 'User-Agent': 'automate/1 (page)' }, { Accept: '*/*' }]);
});

test('the wait after a 429 from a public server is at least 30 s, even if Retry-After is shorter', async () => {
  const { create } = limited({ status: 429, headers: { 'Retry-After': '2' } });
  expect((await create().send(request)).retryAfterMs).toBe(30_000);
});
