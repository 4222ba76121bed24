/** The name is in lower case. */
type HeaderOf = (name: string) => string | undefined;

/**
 * Returns the wait in ms that a response asks for; undefined for none or an unknown form. A stated wait takes precedence over every reset:
 * a reset is the time at which the whole limit is available again, but the server might accept a request long before. A date in Retry-After
 * (RFC 9110, 10.2.3) is compared with the response's Date header, so that a wrong clock here does not matter; `nowMs` replaces a missing
 * Date header. RateLimit is read as draft-ietf-httpapi-ratelimit-headers (`"default";r=0;t=30`), its draft 7 (`limit=10, remaining=0,
 * reset=30`) and the older RateLimit-Reset; X-RateLimit-Reset as seconds, or an epoch in seconds or ms. Many servers always send resets, so
 * they count only with a 429, or if no requests remain; the headers of language model APIs count with a 429 or a 5xx. The longest reset
 * counts.
 */
export function retryAfterMs(status: number, header: HeaderOf, nowMs: number): number | undefined {
  const serverNow = () => dateMs(header('date')) ?? nowMs;
  const waitMs = statedWait(status, header, serverNow);
  if (waitMs !== undefined) return waitMs;
  const resets = [standardReset(status, header, serverNow), ...(isModelRefusal(status) ? modelResets(status, header, serverNow) : [])];
  return resets.reduce((longest, wait) => (wait === undefined || (longest !== undefined && longest >= wait) ? longest : wait), undefined);
}

/** `retry-after-ms` takes precedence, because Retry-After is rounded to seconds. */
function statedWait(status: number, header: HeaderOf, serverNow: () => number): number | undefined {
  const ms = isModelRefusal(status) ? /^\s*\d+(?:\.\d+)?\s*$/.exec(header('retry-after-ms') ?? '')?.[0] : undefined;
  return ms === undefined ? retryAfterOf(header('retry-after'), serverNow) : Number(ms);
}

function isModelRefusal(status: number): boolean {
  return status === 429 || status >= 500;
}

function standardReset(status: number, header: HeaderOf, serverNow: () => number): number | undefined {
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

/** A wait of 0 or less is ignored, because servers round, and an immediate retry would be refused again. */
function positive(ms: number): number | undefined {
  return ms > 0 ? ms : undefined;
}

/** Returns an HTTP date (RFC 9110, 5.6.7) as ms since 1970. The form is checked first, because Date.parse would read "-5" as a year. */
function dateMs(value: string | undefined): number | undefined {
  if (value === undefined || !/^\s*[A-Z][a-z]{2,8},? /.test(value)) return undefined;
  // A date in asctime form has no time zone. Without GMT, Date.parse would read it as local time.
  const ms = Date.parse(/[A-Z]{3}\s*$/.test(value) ? value : `${value} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

const openAiLimits = ['requests', 'tokens'];
const anthropicLimits = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

/**
 * Returns the waits that the headers of language model APIs state: OpenAI's `x-ratelimit-reset-*` (`1s`, `6m0s`, `120ms`), and Anthropic's
 * `anthropic-ratelimit-*-reset` (RFC 3339). If some limits are used up, only their resets count. Otherwise, all resets count with a 429.
 * With a 5xx, a reset counts only if no header says how much of its limit remains.
 */
function modelResets(status: number, header: HeaderOf, serverNow: () => number): (number | undefined)[] {
  const limits = [
    ...openAiLimits.map((limit) => ({
      remaining: header(`x-ratelimit-remaining-${limit}`),
      waitMs: goDurationMs(header(`x-ratelimit-reset-${limit}`)),
    })),
    ...anthropicLimits.map((limit) => ({
      remaining: header(`anthropic-ratelimit-${limit}-remaining`),
      waitMs: timeWait(header(`anthropic-ratelimit-${limit}-reset`), serverNow),
    })),
  ];
  const usedUp = limits.filter(({ remaining }) => remaining?.trim() === '0');
  const counting = usedUp.length > 0 ? usedUp : limits.filter(({ remaining }) => status === 429 || remaining === undefined);
  return counting.map(({ waitMs }) => waitMs);
}

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a duration as Go formats it, such as `6m0s`. */
export function goDurationMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (unitsMs[unit as string] ?? 0),
    0,
  );
}

function timeWait(text: string | undefined, serverNow: () => number): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : positive(ms - serverNow());
}

function rateLimitWait(header: HeaderOf, status: number): number | undefined {
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

function resetWait(header: HeaderOf, serverNow: () => number): number | undefined {
  const value = header('ratelimit-reset') ?? header('x-ratelimit-reset') ?? header('x-rate-limit-reset');
  if (value === undefined || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined;
  const number = Number(value);
  if (number < 1e9) return positive(number * 1000);
  return positive((number < 1e11 ? number * 1000 : number) - serverNow());
}
