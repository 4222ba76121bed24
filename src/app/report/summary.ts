import type { Ending } from '../../core/event.ts';
import type { Usage } from '../../io/ledger/holds.ts';
import { type ResponseTimes, typicalMs } from '../progress/response-times.ts';
import type { FailureGroup, Tally } from '../progress/tally.ts';
import type { Attribution } from './attributions.ts';

/** The facts of a summary that are not in the tally. */
export interface SummaryFacts {
  readonly flow: string;
  readonly input: string;
  readonly output: string;
  /** Absent for `--errors none`. */
  readonly errors: string | undefined;
  /** The reason why the files are as they were; absent if this run has written them. */
  readonly unchanged?: string | undefined;
  /** Number of the record after which the run was resumed; 0 for a run from the beginning. */
  readonly resumedAfter: number;
  /** Records that were finished before this part of the run. */
  readonly before: { readonly written: number; readonly failed: number };
  /** Records in the files, including those from before the run was resumed. */
  readonly outputRecords: number;
  readonly errorRecords: number;
  readonly credits: number;
  /** True if credits matter to the user: something limits them, or the flow states a price. */
  readonly showsCredits: boolean;
  /** Time for which gates stood still, and the answers that caused it. */
  readonly paused: { readonly ms: number; readonly reasons: readonly string[] };
  /** Absent without an allowance. */
  readonly usage: Usage | undefined;
  /** The sources that have answered, as they want to be named. */
  readonly attributions: readonly Attribution[];
  readonly exitCode: number;
  /** Absent if no report is wanted. */
  readonly report?: string | undefined;
  /** The error that ended the run; absent if it ended by itself. */
  readonly problem?: string;
  /** The next steps, each with a command line to copy. */
  readonly next: readonly { readonly why: string; readonly command: string }[];
}

/** Each ending in words. */
export const endings: Record<Ending, string> = {
  complete: 'done',
  interrupted: 'interrupted',
  'max-errors': 'stopped: too many records failed',
  'max-credits': 'stopped: a limit is reached',
  'on-error-stop': 'stopped at a failed record (on_error: stop)',
  unreachable: 'stopped: the server cannot be reached',
  'same-failure': 'stopped: every record fails in the same way',
  'refused-credential': 'stopped: a credential is refused',
};

/** The summary as JSON, for programs. */
export function summaryJson(tally: Tally, facts: SummaryFacts): string {
  const { read, written, failed, passedThrough, parked, retries, ms, stopReason } = tally;
  return `${JSON.stringify(
    {
      flow: facts.flow,
      ending: facts.problem === undefined ? (tally.ending ?? 'interrupted') : 'failed',
      exit_code: facts.exitCode,
      reason: facts.problem ?? stopReason,
      read,
      written,
      failed,
      whole: wholeCounts(tally, facts),
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
      ...tokensJson(tally),
      ...(facts.usage && { allowance: facts.usage }),
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
      mapped: [...tally.hits.values()].flat(),
      ...lookupsJson(tally),
      ...attributionsJson(facts.attributions),
      next: facts.next.map(({ command }) => command),
    },
    null,
    2,
  )}\n`;
}

/** The counts of the whole run, with its earlier parts. */
export function wholeCounts({ read, written, failed }: Tally, { before }: SummaryFacts) {
  return { read: before.written + before.failed + read, written: before.written + written, failed: before.failed + failed };
}

/** The groups of failures, the largest first. */
export function sortedGroups({ failures }: Tally): FailureGroup[] {
  return [...failures.values()].sort((a, b) => b.count - a.count);
}

const maxMessages = 3;

/** The most frequent messages of a group, with their counts. */
export function frequentMessages({ messages }: FailureGroup): [string, number][] {
  return [...messages].sort(([, a], [, b]) => b - a).slice(0, maxMessages);
}

/** The tokens of each node that asked a model. */
function tokensJson({ tokens }: Tally): object {
  if (tokens.size === 0) return {};
  const counts = [...tokens].map(([node, { input, output, cost }]) => ({
    node,
    input_tokens: input,
    output_tokens: output,
    cost: cost ?? null,
  }));
  return { tokens: counts };
}

/** Response times in ms. */
function responseTimesJson(times: ResponseTimes): object {
  if (times.count === 0) return {};
  const [p50, p95, max] = typicalMs(times);
  return { response_ms: { p50, p95, max } };
}

function lookupsJson({ lookups }: Tally): object {
  if (lookups.size === 0) return {};
  const all = [...lookups.values()].map(({ firstAmbiguous, lacking, cutOff, cutOffAt, nearestUnknown, ...counts }) => ({
    ...counts,
    first_ambiguous: firstAmbiguous ?? null,
    ...(cutOff > 0 && { cut_off: cutOff, cut_off_at: cutOffAt ?? null }),
    ...(nearestUnknown > 0 && { nearest_unknown: nearestUnknown }),
    ...(lacking.size > 0 && { without_value: Object.fromEntries(lacking) }),
  }));
  return { lookups: all };
}

function attributionsJson(attributions: readonly Attribution[]): object {
  return attributions.length === 0 ? {} : { attributions };
}
