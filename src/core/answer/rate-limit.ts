/** Reads an answer's header by its lower-case name. */
type Header = (name: string) => string | undefined;

/**
 * How long an answer asks us to stay away, in ms; absent when it does not say, or says it in a way nobody understands.
 * Retry-After: RFC 9110, 10.2.3; a date is read against the answer's own Date, so a wrong clock does no harm.
 * RateLimit: draft-ietf-httpapi-ratelimit-headers (`"default";r=0;t=30`), its draft 7 (`limit=10, remaining=0, reset=30`), and the older RateLimit-Reset.
 * X-RateLimit-Reset: seconds, or an epoch in seconds or ms.
 * Many servers send the latter with every answer: they count only with a 429, or when nothing remains.
 * `nowMs` is the wall clock, for an answer without a Date.
 */
export function retryAfterMs(status: number, header: Header, nowMs: number): number | undefined {
  const serverNow = () => dateMs(header('date')) ?? nowMs;
  const asked = ofRetryAfter(header('retry-after'), serverNow);
  if (asked !== undefined) return asked;
  const remaining = header('ratelimit-remaining') ?? header('x-ratelimit-remaining') ?? header('x-rate-limit-remaining');
  const isSpent = status === 429 || remaining?.trim() === '0';
  return ofRateLimit(header, status) ?? (isSpent ? ofReset(header, serverNow) : undefined);
}

function ofRetryAfter(value: string | undefined, serverNow: () => number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return Number(value) * 1000;
  const date = dateMs(value);
  return date === undefined ? undefined : ahead(date - serverNow());
}

/** A time that is now or past asks for nothing: clocks are rounded, and coming back at once would be refused again. */
function ahead(ms: number): number | undefined {
  return ms > 0 ? ms : undefined;
}

/** Only an HTTP date (RFC 9110, 5.6.7): Date.parse alone would take "-5" for a year. */
function dateMs(value: string | undefined): number | undefined {
  if (value === undefined || !/^\s*[A-Z][a-z]{2,8},? /.test(value)) return undefined;
  // The asctime form names no zone, and Date.parse would take it for local time.
  const ms = Date.parse(/[A-Z]{3}\s*$/.test(value) ? value : `${value} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

function ofRateLimit(header: Header, status: number): number | undefined {
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

function ofReset(header: Header, serverNow: () => number): number | undefined {
  const value = header('ratelimit-reset') ?? header('x-ratelimit-reset') ?? header('x-rate-limit-reset');
  if (value === undefined || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  const number = Number(value);
  if (number < 1e9) return ahead(number * 1000);
  return ahead((number < 1e11 ? number * 1000 : number) - serverNow());
}
