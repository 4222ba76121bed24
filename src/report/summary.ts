import type { CodedMessage } from '../core/error-code.ts';
import type { Ending } from '../core/event.ts';
import type { ReplacedColumn } from '../core/plan.ts';
import { rounded } from '../core/spending.ts';
import type { MonthlyUsage } from '../credits/holds.ts';
import { givenUpOf } from '../output/failed-records.ts';
import type { Checkpoint } from '../output/journal/journal.ts';
import { dataFolder } from '../places/late-lookups.ts';
import { type DataSource, type SourceName, sources } from '../places/sources.ts';
import { inputLabel } from '../records/inputs.ts';
import { type DoneCounts, doneOf, type ReportedRun, showsCredits } from './reported-run.ts';
import { type ResponseTimes, typicalMs } from './response-times.ts';
import type { WorkerFigures } from './run-progress.ts';
import type { FailureGroup, Tally, TokenCounts } from './tally.ts';

/** The figures of a run's summary that are not counted in the tally. */
export interface SummaryFacts {
  readonly flow: string;
  readonly input: string;
  readonly output: string;
  /** Undefined for `--errors none`. */
  readonly errors: string | undefined;
  readonly unchanged?: string;
  /** Set for `update`, which takes over rows from an earlier output. `from` is when that was completed; undefined if there was none. */
  readonly takenOver?: { readonly from: string | undefined };
  /** The last record finished before the run was resumed; 0 for a new run. */
  readonly resumedAfter: number;
  readonly before: DoneCounts;
  readonly spentBefore: { readonly credits: number; readonly tokens: ReadonlyMap<string, TokenCounts> };
  /** Includes records written before the run was resumed. */
  readonly outputRecords: number;
  readonly errorRecords: number;
  readonly credits: number;
  readonly showsCredits: boolean;
  /** Time in ms in which requests were paused, and reasons such as 429s. */
  readonly paused: { readonly ms: number; readonly reasons: readonly string[] };
  /** The monthly credit allowance, and how much of it is used; undefined if there is no allowance. */
  readonly usage: MonthlyUsage | undefined;
  readonly replaced: readonly Pick<ReplacedColumn, 'node' | 'field'>[];
  readonly attributions: readonly Attribution[];
  readonly exitCode: number;
  readonly report?: string;
  /** Undefined if the main process ran all nodes. */
  readonly workers?: WorkerFigures;
  readonly reason?: string;
  readonly problem?: string;
  readonly next: readonly { readonly why: string; readonly command: string }[];
}

/** Description of each ending, as the summary shows it. */
export const endings: Record<Ending, string> = {
  complete: 'done',
  interrupted: 'interrupted',
  'max-errors': 'stopped: too many records failed',
  'max-credits': 'stopped: a limit is reached',
  'disk-full': 'stopped: the disk space is used up',
  'on-error-stop': 'stopped at a failed record (on_error: stop)',
  unreachable: 'stopped: the server cannot be reached',
  'same-failure': 'stopped: every record fails in the same way',
  'workers-lost': 'stopped: workers crash on the same records',
  'no-workers': 'stopped: no worker can process the run',
  'refused-credential': 'stopped: a credential is missing or refused',
};

/** Returns the summary of a run as JSON for programs. */
export function summaryJson(tally: Tally, facts: SummaryFacts): string {
  const { read, written, failed, filtered, passedThrough, parked, retries, ms } = tally;
  return `${JSON.stringify(
    {
      flow: facts.flow,
      ending: facts.problem === undefined ? (tally.ending ?? 'interrupted') : 'failed',
      exit_code: facts.exitCode,
      reason: facts.problem ?? facts.reason,
      read,
      written,
      failed,
      filtered,
      ...(facts.takenOver && { unchanged: tally.unchanged }),
      whole: { ...wholeCounts(tally, facts), ...wholeSpent(tally, facts) },
      kept: passedThrough,
      waiting: parked,
      output_records: facts.outputRecords,
      error_records: facts.errorRecords,
      resumed_behind: facts.resumedAfter,
      retries,
      cached: tally.cacheHits.cached + tally.cacheHits['in-flight'],
      cached_in_flight: tally.cacheHits['in-flight'],
      credits_saved: tally.creditsSaved,
      credits: facts.credits,
      ...tokensJson(tally.tokens),
      allowance: facts.usage,
      ...workersJson(facts),
      ...concurrencyJson(tally),
      ms: Math.round(ms),
      ...responseTimesJson(tally.responseTimes),
      paused_ms: Math.round(facts.paused.ms),
      records_per_second: ms > 0 ? Math.round((read / ms) * 1000) : 0,
      input: facts.input,
      output: facts.output,
      errors: (facts.errorRecords > 0 ? facts.errors : undefined) ?? null,
      failures: [...tally.failures.values()].map((group) => ({
        node: group.node ?? null,
        class: group.class,
        status: group.status ?? null,
        count: group.count,
        first_records: group.firstRecords,
        message: group.message,
        messages: frequentMessages(group).map(([message, times]) => ({ message, count: times })),
      })),
      ...unansweredJson(tally),
      mapped: [...tally.hits.values()].flat(),
      ...morePagesJson(tally),
      ...(facts.replaced.length > 0 && { replaced: facts.replaced.map(({ node, field }) => ({ node, field })) }),
      ...lookupsJson(tally),
      ...attributionsJson(facts.attributions),
      next: facts.next.map(({ command }) => command),
    },
    null,
    2,
  )}\n`;
}

/** Returns the record counts of the whole run, including the parts before it was resumed. */
export function wholeCounts(
  { read, written, failed, filtered, unchanged }: Tally,
  { before, takenOver }: Pick<SummaryFacts, 'before' | 'takenOver'>,
) {
  const { givenUp = 0 } = before;
  return {
    read: doneOf(before) + read,
    written: before.written + written,
    failed: before.failed + failed,
    filtered: (before.filtered ?? 0) + filtered,
    ...(takenOver && { unchanged: (before.unchanged ?? 0) + unchanged }),
    ...(givenUp > 0 && { given_up: givenUp }),
  };
}

function wholeSpent({ tokens }: Tally, { credits, spentBefore }: SummaryFacts): object {
  return { credits: rounded(spentBefore.credits + credits), ...tokensJson(wholeTokens(tokens, spentBefore.tokens)) };
}

/** Returns the tokens that each node has used in the whole run, including the parts before it was resumed. */
export function wholeTokens(tokens: Tally['tokens'], before: ReadonlyMap<string, TokenCounts>): ReadonlyMap<string, TokenCounts> {
  const sums = [...tokens].map(([node, { input, output, cost }]) => {
    const earlier = before.get(node);
    if (!earlier) return [node, { input, output, cost }] as const;
    const costs = [earlier.cost, cost].filter((one) => one !== undefined);
    const all = costs.length === 0 ? undefined : rounded(costs.reduce((sum, one) => sum + one, 0));
    return [node, { input: earlier.input + input, output: earlier.output + output, cost: all }] as const;
  });
  return new Map([...before, ...sums]);
}

function tokensBefore({ tokens = {}, costs = {} }: Checkpoint): ReadonlyMap<string, TokenCounts> {
  return new Map(Object.entries(tokens).map(([node, counts]) => [node, { ...counts, cost: costs[node] }]));
}

/** Returns the groups of failures, the largest first. */
export function sortedGroups({ failures }: Tally): FailureGroup[] {
  return [...failures.values()].sort((a, b) => b.count - a.count);
}

const maxMessages = 3;

/** Returns the three most frequent messages in a group of failures, with their counts. */
export function frequentMessages({ messages }: FailureGroup): [string, number][] {
  return [...messages].sort(([, a], [, b]) => b - a).slice(0, maxMessages);
}

/** Returns a message of a group together with its error code, if it has one. */
export function codedIn({ coded }: FailureGroup, message: string): CodedMessage {
  return coded.get(message) ?? { message };
}

function concurrencyJson({ concurrency }: Tally): object {
  if (concurrency.size === 0) return {};
  return { concurrency: [...concurrency.values()].map(({ gate, worker, now, least, most }) => ({ gate, worker, end: now, least, most })) };
}

/** Servers that were never reached, although records continued without them. */
function unansweredJson({ unanswered }: Tally): object {
  if (unanswered.size === 0) return {};
  return { unanswered: [...unanswered].map(([origin, { attempts, failure }]) => ({ origin, attempts, message: failure.message })) };
}

function tokensJson(tokens: ReadonlyMap<string, TokenCounts>): object {
  if (tokens.size === 0) return {};
  const counts = [...tokens].map(([node, { input, output, cost }]) => ({
    node,
    input_tokens: input,
    output_tokens: output,
    cost: cost ?? null,
  }));
  return { tokens: counts };
}

function responseTimesJson(times: ResponseTimes): object {
  if (times.count === 0) return {};
  const [p50, p95, max] = typicalMs(times);
  return { response_ms: { p50, p95, max } };
}

function workersJson({ workers }: SummaryFacts): object {
  if (!workers) return {};
  const { most, lost, maybeSpent } = workers;
  return { workers: { most, lost }, ...(maybeSpent > 0 && { maybe_spent: maybeSpent }) };
}

function morePagesJson({ morePages }: Tally): object {
  if (morePages.size === 0) return {};
  return { more_pages: [...morePages.values()].map(({ node, record, sign, paginate }) => ({ node, record, sign, paginate })) };
}

function lookupsJson({ lookups }: Tally): object {
  if (lookups.size === 0) return {};
  const all = [...lookups.values()].map(
    ({ lookup, node, of, matched, ambiguous, lacking, cutOff, cutOffAt, nearestUnknown, ...counts }) => ({
      ...{ lookup, node, of, matched, ambiguous },
      first_ambiguous: counts.firstAmbiguous ?? null,
      ...(counts.doubtful > 0 && { other_doubts: counts.doubtful, first_other_doubt: counts.firstDoubtful ?? null }),
      ...(counts.unknownCountries > 0 && {
        unknown_countries: counts.unknownCountries,
        first_unknown_country: counts.firstUnknownCountry ?? null,
      }),
      ...(cutOff > 0 && { cut_off: cutOff, cut_off_at: cutOffAt ?? null }),
      ...(nearestUnknown > 0 && { nearest_unknown: nearestUnknown }),
      ...(lacking.size > 0 && { without_value: Object.fromEntries(lacking) }),
    }),
  );
  return { lookups: all };
}

function attributionsJson(attributions: readonly Attribution[]): object {
  return attributions.length === 0 ? {} : { attributions };
}

/** Returns those figures of a run's summary that can be computed before the run ends. */
export function factsOf(run: ReportedRun): Omit<SummaryFacts, 'exitCode' | 'next' | 'usage' | 'attributions'> {
  const { request, claim, source, output, session, progress } = run;
  const { flow, options, files, retried } = request;
  const { written = 0, rows = 0, filtered = 0 } = retried?.counts ?? {};
  const { stop, ending } = progress.tally;
  return {
    flow,
    input: inputLabel(options),
    report: options.report,
    takenOver: claim.memory && { from: claim.memory.old?.memory.at },
    output: files.out === '-' ? 'stdout' : files.out,
    errors: files.errors === '-' ? 'stdout' : files.errors,
    // A retry reads the errors file, where records have different numbers from those in the run that is retried.
    resumedAfter: retried ? 0 : claim.from.records,
    outputRecords: rows + output.saved().rows,
    errorRecords: output.saved().failed,
    credits: session.ports.credits(),
    showsCredits: showsCredits(run),
    replaced: request.plan.replacedColumns([...(source.firstFields ?? []), ...progress.lateFields]),
    before: {
      written: written + claim.from.written,
      failed: claim.from.failed,
      filtered: filtered + (claim.from.filtered ?? 0),
      unchanged: claim.from.unchanged,
      givenUp: retried && givenUpOf(retried, ending === 'complete' ? output.saved().records : retried.counts.failed),
    },
    spentBefore: { credits: claim.from.credits, tokens: tokensBefore(claim.from) },
    workers: progress.workers,
    reason: stop && (request.words?.message(stop) ?? stop.message),
    paused: { ms: progress.pauses.totalMs(), reasons: progress.pauses.reasons() },
  };
}

/** A data source, with the attribution that its license requires. */
export interface Attribution extends DataSource {
  readonly source: SourceName;
  /** A date such as 2026-09-18; undefined if the data comes from a server. */
  readonly date?: string;
}

/** Returns the attributions that the data sources require. Reads the dates of the embedded data only if at least one source was used. */
export async function attributionsOf(names: ReadonlySet<SourceName>): Promise<readonly Attribution[]> {
  if (names.size === 0) return [];
  const { readNotices } = await import('../places/data/data.ts');
  const dates = new Map((await readNotices(dataFolder)).map(({ source, date }) => [source, date]));
  return [...names].map((source) => ({ source, ...sources[source], ...(dates.has(source) && { date: dates.get(source) }) }));
}
