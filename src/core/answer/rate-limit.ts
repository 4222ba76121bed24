/** The name is in lower case. */
type HeaderOf = (name: string) => string | undefined;

/** A limit that a server describes: the requests that it still accepts, and the wait until the whole limit is available again. */
interface Limit {
  readonly remaining: string | undefined;
  readonly waitMs: number | undefined;
}

/**
 * Returns the wait in ms that a response asks for; undefined for none or an unknown form. A stated wait takes precedence over every reset:
 * a reset is the time at which the whole limit is available again, but the server might accept a request long before. A date in Retry-After
 * (RFC 9110, 10.2.3) is compared with the response's Date header, so that a wrong clock here does not matter; `nowMs` replaces a missing
 * Date header. RateLimit is read as draft-ietf-httpapi-ratelimit-headers (`"default";r=0;t=30`), its draft 7 (`limit=10, remaining=0,
 * reset=30`) and the older RateLimit-Reset. Many servers always send resets, so they count only with a 429, or if no requests remain; the
 * headers of language model APIs count with a 429 or a 5xx. If some limits are used up, only their resets count. The longest reset counts.
 */
export function retryAfterMs(status: number, header: HeaderOf, nowMs: number): number | undefined {
  const serverNow = () => dateMs(header('date')) ?? nowMs;
  const waitMs = statedWait(status, header, serverNow);
  if (waitMs !== undefined) return waitMs;
  // Most answers describe no limit.
  if (!isModelRefusal(status) && headersOfLimits.every((name) => header(name) === undefined)) return undefined;
  const standard = standardLimits(status, header, serverNow);
  const model = isModelRefusal(status) ? modelLimits(header, serverNow) : [];
  const spent = [...standard, ...model].filter(isSpent);
  if (spent.length > 0) return longest(spent);
  // Several names of one limit are common, and the first one is the most exact.
  const likely = status === 429 ? standard.slice(0, 1) : [];
  return longest([...likely, ...model.filter(({ remaining }) => status === 429 || remaining === undefined)]);
}

/** Returns the wait in ms that text in a response body states, as in Retry-After. */
export function statedWaitMs(text: string, header: HeaderOf, nowMs: number): number | undefined {
  return waitIn(text, () => dateMs(header('date')) ?? nowMs);
}

/** `retry-after-ms` takes precedence, because Retry-After is rounded to seconds. */
function statedWait(status: number, header: HeaderOf, serverNow: () => number): number | undefined {
  const ms = isModelRefusal(status) ? /^\s*\d+(?:\.\d+)?\s*$/.exec(header('retry-after-ms') ?? '')?.[0] : undefined;
  return (ms === undefined ? undefined : positive(Number(ms))) ?? waitIn(header('retry-after'), serverNow);
}

function isModelRefusal(status: number): boolean {
  return status === 429 || status >= 500;
}

function isSpent({ remaining }: Pick<Limit, 'remaining'>): boolean {
  return remaining !== undefined && /^\s*-?\d/.test(remaining) && Number(remaining) <= 0;
}

function longest(limits: readonly Limit[]): number | undefined {
  const waits = limits.flatMap(({ waitMs }) => waitMs ?? []);
  return waits.length > 0 ? Math.max(...waits) : undefined;
}

/**
 * Returns the wait in ms: seconds, a Unix time in seconds or ms, an HTTP date (RFC 9110, 5.6.7), an ISO 8601 time, or a duration as in Go.
 * A number above 10⁹ is a time: as a number of seconds it would be 31 years.
 */
function waitIn(text: string | undefined, serverNow: () => number): number | undefined {
  if (text === undefined) return undefined;
  const timeMs = dateMs(text) ?? isoMs(text);
  if (timeMs !== undefined) return positive(timeMs - serverNow());
  const bare = text.trim().replace(/\s*sec(?:ond)?s?$/i, '');
  if (!/^\d+(?:\.\d+)?(?:\s*,\s*\d+(?:\.\d+)?)*$/.test(bare)) return positive(goDurationMs(bare) ?? 0);
  // A gateway can add a second header to the one of its server.
  const number = Math.max(...bare.split(',').map(Number));
  if (number <= 1e9) return positive(number * 1000);
  return positive((number < 1e11 ? number * 1000 : number) - serverNow());
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

/** Returns an ISO 8601 time as ms since 1970. A time without a zone is UTC. */
function isoMs(text: string): number | undefined {
  const [, day, time, zone = 'Z'] =
    /^\s*(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?: ?(Z|UTC|GMT|[+-]\d\d:?\d\d))?\s*$/i.exec(text) ?? [];
  if (day === undefined) return undefined;
  const ms = Date.parse(`${day}T${time}${/^[a-z]/i.test(zone) ? 'Z' : zone.replace(/(\d\d):?(\d\d)$/, '$1:$2')}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Prefixes of the headers that describe a limit, from the standard to the older ones. */
const prefixes = ['ratelimit', 'x-ratelimit', 'x-rate-limit'];

/** One of these shows that a limit is used up. Without them, an answer that is no refusal asks for no wait. */
const headersOfLimits = ['ratelimit', ...prefixes.map((prefix) => `${prefix}-remaining`)];

/** The header RateLimit takes precedence over separate headers, and `-reset-after` over the less exact `-reset`. */
function standardLimits(status: number, header: HeaderOf, serverNow: () => number): Limit[] {
  const policies = rateLimitPolicies(header('ratelimit'));
  const remainders = prefixes.map((prefix) => header(`${prefix}-remaining`));
  const anyRemainder = remainders.find((remaining) => remaining !== undefined);
  const separate = prefixes.flatMap((prefix, index) => {
    const remaining = remainders[index] ?? anyRemainder;
    if (status !== 429 && !isSpent({ remaining })) return [];
    const waitMs = waitIn(header(`${prefix}-reset-after`), serverNow) ?? waitIn(header(`${prefix}-reset`), serverNow);
    return waitMs === undefined ? [] : [{ remaining, waitMs }];
  });
  return [...policies, ...separate];
}

/** Of policies without a spent limit, only one that does not state its remaining requests can be the reason for a refusal. */
function rateLimitPolicies(value: string | undefined): Limit[] {
  if (value === undefined) return [];
  const policies = /\breset=/.test(value) ? [value] : value.split(',');
  return policies.flatMap((policy) => {
    const remaining = /[;,\s](?:r|remaining)=(\d+)/.exec(` ${policy}`)?.[1];
    const reset = /[;,\s](?:t|reset)=(\d+)/.exec(` ${policy}`)?.[1];
    return reset === undefined || (remaining !== undefined && Number(remaining) > 0) ? [] : [{ remaining, waitMs: Number(reset) * 1000 }];
  });
}

/** Suffixes of limits with several windows or units: of OpenAI (`requests`, `tokens`), and of gateways such as Kong. */
const windows = ['requests', 'tokens', 'second', 'minute', 'hour', 'day', 'month'];
const anthropicLimits = ['requests', 'tokens', 'input-tokens', 'output-tokens'];

/** OpenAI states its resets as durations (`1s`, `6m0s`, `120ms`), Anthropic as times (RFC 3339). */
function modelLimits(header: HeaderOf, serverNow: () => number): Limit[] {
  return [
    ...windows.map((limit) => ({
      remaining: header(`x-ratelimit-remaining-${limit}`),
      waitMs: waitIn(header(`x-ratelimit-reset-${limit}`), serverNow),
    })),
    ...anthropicLimits.map((limit) => ({
      remaining: header(`anthropic-ratelimit-${limit}-remaining`),
      waitMs: waitIn(header(`anthropic-ratelimit-${limit}-reset`), serverNow),
    })),
  ];
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
