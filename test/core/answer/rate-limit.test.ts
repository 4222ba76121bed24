import { afterEach, describe, expect, test } from 'vitest';
import { retryAfterMs } from '../../../src/core/answer/rate-limit.ts';

const now = Date.UTC(2030, 0, 1);
const asked = (headers: Record<string, string>, status = 429) => retryAfterMs(status, (name) => headers[name], now);

describe('the Retry-After header', () => {
  test.each([
    ['5', 5000],
    ['0', undefined],
    ['0.0', undefined],
    [String(now / 1000 + 30), 30_000],
    [String(now + 30_000), 30_000],
    [String(now / 1000 - 30), undefined],
    ['2030-01-01T00:00:30Z', 30_000],
    [' 2 ', 2000],
    ['1.5', 1500],
    ['120 seconds', 120_000],
    ['1 sec', 1000],
    ['5, 30', 30_000],
    ['0, 0', undefined],
    ['315360000', 315_360_000_000],
    ['Tue, 01 Jan 2030 00:00:30 GMT', 30_000],
    ['Tuesday, 01-Jan-30 00:00:30 GMT', 30_000],
    ['Tue Jan  1 00:00:30 2030', 30_000],
    ['Mon, 31 Dec 2029 23:59:00 GMT', undefined],
    ['Sun, 30 Dec 2039 00:00:00 GMT', Date.UTC(2039, 11, 30) - now],
  ])('with the value %s requires a wait of %s ms', (value, ms) => {
    expect(asked({ 'retry-after': value })).toBe(ms);
    expect(asked({ 'retry-after': value }, 503)).toBe(ms);
  });

  test.each(['', 'soon', '-5', '5 minutes', 'seconds', '5, soon', 'NaN', 'Infinity', '1e9', '2030-01-01', 'Foo, 99 Bar 2030 00:00:00 GMT'])(
    'is ignored if its value is %j',
    (value) => {
      expect(asked({ 'retry-after': value })).toBeUndefined();
    },
  );

  test('is compared with the Date header of the response, so a wrong local clock does not matter', () => {
    expect(asked({ 'retry-after': 'Sat, 01 Jan 2000 00:01:00 GMT', date: 'Sat, 01 Jan 2000 00:00:00 GMT' })).toBe(60_000);
    expect(asked({ 'retry-after': 'Tue, 01 Jan 2030 00:00:30 GMT', date: 'garbage' })).toBe(30_000);
  });

  describe('on a machine whose time zone is not GMT', () => {
    const zone = process.env.TZ;
    afterEach(() => {
      process.env.TZ = zone;
    });
    test('is interpreted as GMT if its date has no zone (RFC 9110, 5.6.7)', () => {
      process.env.TZ = 'America/New_York';
      expect(asked({ 'retry-after': 'Tue Jan  1 00:00:30 2030' })).toBe(30_000);
    });
  });

  test('takes precedence over the rate limit headers', () => {
    expect(asked({ 'retry-after': '5', ratelimit: '"a";r=0;t=30', 'x-ratelimit-reset': '60' })).toBe(5000);
    expect(asked({ 'retry-after': 'garbage', ratelimit: '"a";r=0;t=30' })).toBe(30_000);
    expect(asked({ 'retry-after': '0', 'x-ratelimit-reset': '60' })).toBe(60_000);
    expect(asked({ 'retry-after': '2', 'x-ratelimit-reset-tokens': '6m0s', 'x-ratelimit-remaining-tokens': '0' })).toBe(2000);
  });

  test('is overridden by the retry-after-ms header if the status is 429 or 5xx', () => {
    expect(asked({ 'retry-after-ms': '300', 'retry-after': '1' })).toBe(300);
    expect(asked({ 'retry-after-ms': '300', 'retry-after': '1' }, 503)).toBe(300);
    expect(asked({ 'retry-after-ms': '300', 'retry-after': '1' }, 200)).toBe(1000);
  });
});

describe('the RateLimit header', () => {
  test.each([
    ['"default";r=0;t=30', 30_000],
    ['"default"; r=0; t=30', 30_000],
    ['"burst";r=5;t=1, "day";r=0;t=3600', 3_600_000],
    ['"a";r=0;t=10, "b";r=0;t=20', 20_000],
    ['"default";t=30', 30_000],
    ['"default";r=5;t=30', undefined],
    ['limit=100, remaining=0, reset=30', 30_000],
    ['limit=100, remaining=7, reset=30', undefined],
    ['garbage', undefined],
  ])('with the value %s requires a wait of %j ms', (ratelimit, ms) => {
    expect(asked({ ratelimit })).toBe(ms);
  });

  test('applies to a status other than 429 only if no requests remain', () => {
    expect(asked({ ratelimit: '"a";r=0;t=30' }, 503)).toBe(30_000);
    expect(asked({ ratelimit: 'limit=100, remaining=0, reset=30' }, 503)).toBe(30_000);
    expect(asked({ ratelimit: '"a";r=1;t=30' }, 503)).toBeUndefined();
    expect(asked({ ratelimit: '"a";t=30' }, 503)).toBeUndefined();
  });
});

describe('the X-RateLimit-Reset and RateLimit-Reset headers', () => {
  test.each([
    ['seconds', '30', 30_000],
    ['an epoch in seconds', String(now / 1000 + 30), 30_000],
    ['an epoch in ms', String(now + 30_000), 30_000],
    ['an epoch with a fraction', `${now / 1000 + 30}.5`, 30_500],
    ['an ISO time', '2030-01-01T00:00:30Z', 30_000],
    ['an ISO time with a fraction and an offset', '2030-01-01T01:00:30.250+01:00', 30_250],
    ['an ISO time without a zone, which is UTC', '2030-01-01 00:00:30', 30_000],
    ['an HTTP date', 'Tue, 01 Jan 2030 00:00:30 GMT', 30_000],
    ['a duration', '1m30s', 90_000],
    ['an epoch that has passed', String(now / 1000 - 30), undefined],
    ['an epoch that is now', String(now / 1000), undefined],
    ['something that is not a time', '0', undefined],
    ['garbage', 'soon', undefined],
    ['a negative number', '-30', undefined],
  ])('can contain %s', (_what, value, ms) => {
    for (const name of ['x-ratelimit-reset', 'ratelimit-reset', 'x-rate-limit-reset']) expect(asked({ [name]: value })).toBe(ms);
  });

  test('are read in order: the standard name before the older names', () => {
    expect(asked({ 'x-ratelimit-reset': '60', 'ratelimit-reset': '30' })).toBe(30_000);
  });

  test('have a form that states the seconds, which is more exact', () => {
    for (const prefix of ['x-ratelimit', 'ratelimit', 'x-rate-limit']) {
      expect(asked({ [`${prefix}-reset-after`]: '1.337' })).toBe(1337);
      expect(asked({ [`${prefix}-reset-after`]: '1.337', [`${prefix}-reset`]: String(now / 1000 + 2) })).toBe(1337);
    }
    expect(asked({ 'x-ratelimit-reset-after': '2', 'x-ratelimit-remaining': '1' }, 200)).toBeUndefined();
    expect(asked({ 'x-ratelimit-reset-after': '2', 'x-ratelimit-remaining': '0' }, 200)).toBe(2000);
  });

  test('count only if their limit is used up, if several limits are stated; then the longest counts', () => {
    const hourly = { 'x-ratelimit-remaining': '900', 'x-ratelimit-reset': '3600' };
    expect(asked({ ...hourly, 'ratelimit-remaining': '0', 'ratelimit-reset': '5' })).toBe(5000);
    expect(asked({ ...hourly, 'x-ratelimit-remaining': '0', 'ratelimit-remaining': '0', 'ratelimit-reset': '5' })).toBe(3_600_000);
    expect(asked({ ...hourly, 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '2s' })).toBe(2000);
    const kong = { 'x-ratelimit-remaining-second': '0', 'x-ratelimit-reset-second': '1' };
    expect(asked({ ...kong, 'x-ratelimit-remaining-hour': '70', 'x-ratelimit-reset-hour': '2400' })).toBe(1000);
    expect(asked({ 'x-ratelimit-reset-minute': '20' })).toBe(20_000);
  });

  test('apply only if the status is 429 or no requests remain', () => {
    expect(asked({ 'x-ratelimit-reset': '30' }, 500)).toBeUndefined();
    expect(asked({ 'x-ratelimit-reset': '30', 'x-ratelimit-remaining': '4' }, 500)).toBeUndefined();
    expect(asked({ 'x-ratelimit-reset': '30', 'x-ratelimit-remaining': '0' }, 500)).toBe(30_000);
    expect(asked({ 'ratelimit-reset': '30', 'ratelimit-remaining': '0' }, 503)).toBe(30_000);
  });

  test('are compared with the Date header of the response if they contain an epoch time', () => {
    expect(asked({ 'x-ratelimit-reset': '1861920060', date: 'Mon, 01 Jan 2029 00:00:00 GMT' })).toBe(60_000);
  });
});

test('a response without rate limit headers requires no wait', () => {
  expect(asked({})).toBeUndefined();
});
