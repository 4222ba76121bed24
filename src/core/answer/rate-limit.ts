/** Reads an answer's header by its lower-case name. */
type Header = (name: string) => string | undefined;

/**
 * The wait in ms that an answer asks for. Absent if it asks for none, or in an unknown form.
 * Retry-After: RFC 9110, 10.2.3. A date is compared with the answer's own Date, so a wrong clock does no harm.
 * RateLimit: draft-ietf-httpapi-ratelimit-headers (`"default";r=0;t=30`), its draft 7 (`limit=10, remaining=0, reset=30`), and the older RateLimit-Reset.
 * X-RateLimit-Reset: seconds, or an epoch in seconds or ms.
 * Many servers send these reset headers with every answer: they count only with a 429, or if no request remains.
 * `nowMs`: the wall clock, for an answer without a Date.
 */
export function retryAfterMs(status: number, header: Header, nowMs: number): number | undefined {
  const serverNow = () => dateMs(header('date')) ?? nowMs;
  const waitMs = retryAfterOf(header('retry-after'), serverNow);
  if (waitMs !== undefined) return waitMs;
  const remaining = header('ratelimit-remaining') ?? header('x-ratelimit-remaining') ?? header('x-rate-limit-remaining');
  const isSpent = status === 429 || remaining?.trim() === '0';
  return rateLimitWait(header, status) ?? (isSpent ? resetWait(header, serverNow) : undefined);
}

function retryAfterOf(value: string | undefined, serverNow: () => number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return Number(value) * 1000;
  const date = dateMs(value);
  return date === undefined ? undefined : positive(date - serverNow());
}

/** A wait above 0. A time that is now or past asks for none: servers round, and an immediate retry would be refused again. */
function positive(ms: number): number | undefined {
  return ms > 0 ? ms : undefined;
}

/** Only an HTTP date (RFC 9110, 5.6.7): Date.parse alone would take "-5" for a year. */
function dateMs(value: string | undefined): number | undefined {
  if (value === undefined || !/^\s*[A-Z][a-z]{2,8},? /.test(value)) return undefined;
  // The asctime form names no zone, and Date.parse would take it for local time.
  const ms = Date.parse(/[A-Z]{3}\s*$/.test(value) ? value : `${value} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

function rateLimitWait(header: Header, status: number): number | undefined {
  const value = header('ratelimit');
  if (value === undefined) return undefined;
  const policies = /\breset=/.test(value) ? [value] : value.split(',');
  const waits = policies.flatMap((policy) => {
    const remaining = /[;,\s](?:r|remaining)=(\d+)/.exec(` ${policy}`)?.[1];
    const reset = /[;,\s](?:t|reset)=(\d+)/.exec(` ${policy}`)?.[1];
    return reset === undefined || (remaining === undefined ? status !== 429 : Number(remaining) > 0) ? [] : [Number(reset) * 1000];
  });
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

function resetWait(header: Header, serverNow: () => number): number | undefined {
  const value = header('ratelimit-reset') ?? header('x-ratelimit-reset') ?? header('x-rate-limit-reset');
  if (value === undefined || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  const number = Number(value);
  if (number < 1e9) return positive(number * 1000);
  return positive((number < 1e11 ? number * 1000 : number) - serverNow());
}
