import { describe, expect, test } from 'vitest';
import { detailsOf } from '../../../src/core/error-code.ts';
import { AutomateError } from '../../../src/core/failure.ts';
import { formatQueueUrl, parseQueueName, parseQueueUrl, queuePrefix } from '../../../src/workers/queue/queue-url.ts';

function refusal(act: () => unknown): AutomateError {
  try {
    act();
  } catch (error) {
    if (error instanceof AutomateError) return error;
  }
  throw new Error('expected an AutomateError');
}

test.each([
  ['redis://redis', 'redis://redis:6379'],
  ['REDIS://Redis:6380/0', 'redis://Redis:6380'],
  ['redis://team@redis.example.com/', 'redis://team@redis.example.com:6379'],
  ['rediss://redis:6380/15', 'rediss://redis:6380/15'],
  ['redis://[::1]:7000/2', 'redis://[::1]:7000/2'],
  ['redis://a%40b@127.0.0.1', 'redis://a%40b@127.0.0.1:6379'],
])('the queue URL %s is shown as the address %s', (text, printed) => {
  expect(formatQueueUrl(parseQueueUrl(text))).toBe(printed);
});

test("a queue's address has all parts of its URL", () => {
  const address = { host: '::1', port: 7000, db: 2, user: 'team', isTls: true };
  expect(parseQueueUrl('rediss://team@[::1]:7000/2')).toEqual(address);
});

test.each([
  'redis://:geheim@redis',
  'redis://team:geheim@redis:6379/1',
  'redis://team:gehe/im#?@geheim@redis',
  'rediss://team:@redis',
  'redis://team%3Ageheim@redis',
  'http://team:geheim@redis',
])('a queue URL with a password is refused without showing the password: %s', (text) => {
  const error = refusal(() => parseQueueUrl(text));
  expect(error.kind).toBe('usage');
  expect(detailsOf(error, 'invalid-option')).toEqual({ option: 'queue' });
  expect(error.message).toContain('expected a URL without a password');
  expect(error.message).toContain('AUTOMATE_QUEUE_PASSWORD');
  expect(error.message).not.toContain('geheim');
});

test.each([
  ['http://redis:6379', 'found http://'],
  ['redis:6379', 'found one without redis://'],
  ['', 'found one without redis://'],
  ['redis-sentinel://a:26379', 'found the URL of a Sentinel or a Cluster'],
  ['redis+cluster://a', 'found the URL of a Sentinel or a Cluster'],
  ['redis://a:1,b:2/0', 'found the URL of a Sentinel or a Cluster'],
  ['redis://redis/abc', 'found "/abc"'],
  ['redis://redis/-1', 'found "/-1"'],
  ['redis://redis/1/2', 'found "/1/2"'],
  ['redis://', 'found the host ""'],
  ['redis://redis:99999', 'found the host "redis:99999"'],
  ['redis://redis:0', 'found the host "redis:0"'],
  ['redis://redis?password=geheim', 'found one with ? or #'],
  ['redis://50%@redis', 'found % in the name of the user'],
])('the queue URL %j is refused: %s', (text, reason) => {
  const error = refusal(() => parseQueueUrl(text));
  expect(error.kind).toBe('usage');
  expect(error.message).toContain(reason);
  expect(error.message).not.toContain('geheim');
});

describe('the name of a queue', () => {
  test('is the prefix of all its keys in Redis', () => {
    expect(queuePrefix(parseQueueName('team_1-a'))).toBe('{automate:team_1-a}');
    expect(parseQueueName('x'.repeat(64))).toHaveLength(64);
    expect(queuePrefix(parseQueueName())).toBe('{automate:default}');
  });

  test.each(['', 'x'.repeat(65), 'a b', 'a:b', 'a}', 'ä', 'a\n'])('is refused if it is %j', (name) => {
    const error = refusal(() => parseQueueName(name));
    expect(error.kind).toBe('usage');
    expect(detailsOf(error, 'invalid-option')).toEqual({ option: 'queueName' });
  });
});
