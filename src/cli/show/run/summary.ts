import type { ChalkInstance } from 'chalk';
import { excerpt } from '../../../core/answer/response.ts';
import { durationText } from '../../../core/duration.ts';
import type { Ending } from '../../../core/event.ts';
import type { Usage } from '../../../io/ledger/holds.ts';
import { onOneLine } from '../../../io/records/errors.ts';
import type { Attribution } from '../../notices/attributions.ts';
import { counted, creditsText, creditText, formatCount } from '../number.ts';
import { attributionLines, attributionsJson, lookupLines, lookupsJson } from './lookups.ts';
import { responseTimeLines, responseTimesJson } from './response-times.ts';
import type { FailureGroup, PathHits, Tally } from './tally.ts';
import { tokenLines, tokensJson } from './tokens.ts';

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

/** The summary for people, printed at the end of a run. */
export function summaryText(tally: Tally, facts: SummaryFacts, colors: ChalkInstance): string {
  return [
    headline(tally, facts, colors),
    ...(facts.resumedAfter > 0 ? [`  resumed after record ${formatCount(facts.resumedAfter)}`] : []),
    ...(tally.stopReason === undefined ? [] : [`  reason: ${tally.stopReason}`]),
    ...parkedLines(tally),
    ...pauseLines(tally, facts),
    ...failureLines(tally, facts, colors),
    ...lastingLines(tally),
    ...lookupLines(tally),
    ...responseTimeLines(tally.responseTimes),
    ...hitLines(tally, facts),
    ...ignoredErrorLines(tally, colors),
    ...notRenamedLines(tally, colors),
    ...shortLines(tally, colors),
    ...cacheLines(tally, facts),
    ...tokenLines(tally),
    ...fileLines(tally, facts),
    ...reportLines(facts),
    ...usageLines(facts.usage, colors),
    ...facts.next.map((step) => stepText(step, colors)),
    ...attributionLines(facts.attributions),
  ].join('\n');
}

function fileLines(tally: Tally, { output, outputRecords, errors, errorRecords, unchanged, before }: SummaryFacts): string[] {
  if (unchanged !== undefined) return [`  output: ${output} is unchanged: ${unchanged}`];
  const failed = counted(errorRecords, 'record');
  const written = before.written + tally.written;
  const of = outputRecords === written ? '' : ` of ${counted(written, 'record')}`;
  return [
    `  output: ${output} (${counted(outputRecords, of === '' ? 'record' : 'row')}${of})`,
    ...(errorRecords > 0 ? [`  errors: ${errors ?? 'not written'} (${failed})`] : []),
  ];
}

function reportLines({ report }: SummaryFacts): string[] {
  return report === undefined ? [] : [`  report: ${report}`];
}

function pauseLines({ ms }: Tally, { paused }: SummaryFacts): string[] {
  if (paused.ms <= 0) return [];
  return [`  paused ${durationText(paused.ms)} of ${durationText(ms)} for ${paused.reasons.join(' and ')}`];
}

function parkedLines({ parked }: Tally): string[] {
  if (parked === 0) return [];
  return [`  waiting: ${formatCount(parked)} finished before an earlier record; --resume writes ${parked === 1 ? 'it' : 'them'} in turn`];
}

type NextStep = SummaryFacts['next'][number];

function stepText({ why, command }: NextStep, colors: ChalkInstance): string {
  return `  ${why}:\n    ${colors.cyan(command)}`;
}

/** The output of a quiet run: empty if all went well, else the counts, the first failure of each group and the next steps. */
export function quietText(tally: Tally, facts: SummaryFacts, colors: ChalkInstance): string {
  if (facts.exitCode === 0) return '';
  return [
    headline(tally, facts, colors),
    ...(tally.stopReason === undefined ? [] : [`  reason: ${tally.stopReason}`]),
    ...sortedGroups(tally).flatMap((group) => messageLines(`  ${groupName(group)}  record ${group.firstRecords[0]}  `, group.message)),
    ...(facts.unchanged === undefined ? [] : fileLines(tally, facts)),
    ...facts.next.map((step) => stepText(step, colors)),
  ].join('\n');
}

/** Shares of the allowance from which on the summary warns. */
const warningShares = [0.95, 0.8];

function usageLines(usage: Usage | undefined, colors: ChalkInstance): string[] {
  if (!usage) return [];
  const { month, spent, limit } = usage;
  const share = limit === 0 ? 1 : spent / limit;
  const text = `${creditText(spent)} of ${creditText(limit)} credits used in ${month} (${Math.floor(share * 100)} %)`;
  const warned = warningShares.find((least) => share >= least);
  return [
    warned === undefined
      ? `  allowance: ${text}`
      : `  ${colors.yellow('warning:')} ${share >= 1 ? 'all' : `${warned * 100} % or more`} of the allowance is used: ${text}`,
  ];
}

function headline(tally: Tally, facts: SummaryFacts, colors: ChalkInstance): string {
  const { credits, exitCode, showsCredits, before } = facts;
  const color = exitCode === 0 ? colors.green : tally.ending === 'complete' ? colors.yellow : colors.red;
  const rate = tally.ms > 0 ? ` (${formatCount(Math.round(tally.read / (tally.ms / 1000)))}/s)` : '';
  const whole = wholeCounts(tally, facts);
  const part = [tally.read, tally.written, tally.failed].map(formatCount).join(', ');
  const parts = [
    `${formatCount(whole.read)} read`,
    `${formatCount(whole.written)} written`,
    `${formatCount(whole.failed)} failed${before.written + before.failed > 0 ? ` (this part: ${part})` : ''}`,
    ...(tally.passedThrough > 0 ? [`${formatCount(tally.passedThrough)} kept with _error`] : []),
    ...(tally.retries > 0 ? [counted(tally.retries, 'retry')] : []),
    ...(showsCredits ? [creditsText(credits)] : []),
  ];
  return `${color(endings[tally.ending ?? 'interrupted'])}: ${parts.join(', ')} in ${durationText(tally.ms)}${rate}`;
}

/** The counts of the whole run, with its earlier parts. */
export function wholeCounts({ read, written, failed }: Tally, { before }: SummaryFacts) {
  return { read: before.written + before.failed + read, written: before.written + written, failed: before.failed + failed };
}

/** Marks counts that leave out earlier parts of the run. */
function partText({ before }: SummaryFacts): string {
  return before.written + before.failed > 0 ? ' (this part)' : '';
}

/** The groups of failures, the largest first. */
export function sortedGroups({ failures }: Tally): FailureGroup[] {
  return [...failures.values()].sort((a, b) => b.count - a.count);
}

/** Statuses of 4xx that pass by themselves. */
const passing = new Set([408, 425, 429]);

/** Says how many failures a retry alone does not cure. */
function lastingLines(tally: Tally): string[] {
  const lasting = sortedGroups(tally).filter(({ status = 0 }) => status >= 400 && status <= 499 && !passing.has(status));
  const failed = lasting.reduce((sum, group) => sum + group.count, 0);
  if (failed === 0 || tally.failed === 0) return [];
  return [
    `  ${formatCount(failed)} of ${formatCount(tally.failed + tally.passedThrough)} are 4xx: they will fail again unless the flow or the data change`,
  ];
}

function failureLines(tally: Tally, facts: SummaryFacts, colors: ChalkInstance): string[] {
  const groups = sortedGroups(tally);
  if (groups.length === 0) return [];
  const width = Math.max(...groups.map((group) => groupName(group).length));
  return [`  failed${partText(facts)}:`, ...groups.flatMap((group) => failureText(group, width, colors))];
}

function groupName({ node, class: kind, status }: FailureGroup): string {
  return `${node ?? 'input'}  ${kind}${status === undefined ? '' : ` ${status}`}`;
}

const maxMessages = 3;

/** A single message is on the line of its group; of several, the most frequent ones are below it. */
function failureText(group: FailureGroup, width: number, colors: ChalkInstance): string[] {
  const more = group.count > group.firstRecords.length ? ', ...' : '';
  const records = `${group.count === 1 ? 'record' : 'records'} ${group.firstRecords.join(', ')}${more}`;
  const line = `    ${groupName(group).padEnd(width)}  ${formatCount(group.count)} x  ${colors.dim(records)}`;
  const shown = frequentMessages(group);
  if (group.messages.size === 1) return messageLines(`${line}  `, group.message);
  const others = group.count - shown.reduce((sum, [, times]) => sum + times, 0);
  return [
    line,
    ...shown.flatMap(([message, times]) => messageLines(`      ${formatCount(times)} x  `, message)),
    ...(others > 0 ? [`      ${formatCount(others)} x  other messages`] : []),
  ];
}

/** A message after the beginning of its line. A long reason is cut; its advice is on a line of its own. */
function messageLines(beginning: string, message: string): string[] {
  const [reason = '', ...advice] = message.split('\n');
  const text = excerpt(onOneLine(advice.join('\n')), 160);
  return [beginning + excerpt(reason, 160), ...(text === '' ? [] : [`        ${text}`])];
}

/** The most frequent messages of a group, with their counts. */
export function frequentMessages({ messages }: FailureGroup): [string, number][] {
  return [...messages].sort(([, a], [, b]) => b - a).slice(0, maxMessages);
}

function hitLines(tally: Tally, facts: SummaryFacts): string[] {
  return [...tally.hits].flatMap(([node, hits]) => {
    const pages = tally.paged.has(node) ? ` from ${counted(hits[0]?.of ?? 0, 'page')}` : '';
    return [`  mapped by ${node}${pages}${partText(facts)}:`, ...hits.map((hit) => `    ${hitText(hit)}`)];
  });
}

function hitText({ path, found, of }: PathHits): string {
  return `${path}: found in ${formatCount(found)} of ${formatCount(of)}`;
}

/** The cause is usually a server whose maximum page is smaller than the requested size. */
function shortLines({ short }: Tally, colors: ChalkInstance): string[] {
  return [...short].flatMap(
    ([
      node,
      {
        records,
        first: { record, page, items, size },
      },
    ]) => [
      `  ${colors.yellow('warning:')} page ${page} of record ${record} has ${counted(items, 'item')}, fewer than the size of ${size}, and is not the last (${node}, ${counted(records, 'record')})`,
      `    if the server sends at most ${items} at once, items were skipped: set size: ${items}, or request ${size} per page`,
    ],
  );
}

/** A success that says it is none, as GraphQL does. */
function ignoredErrorLines({ ignoredErrors }: Tally, colors: ChalkInstance): string[] {
  return [...ignoredErrors].flatMap(([node, answers]) => [
    `  ${colors.yellow('warning:')} ${counted(answers, 'answer')} of ${node} ${answers === 1 ? 'holds' : 'hold'} errors beside data, and counted as a success; to fail such records, add to ${node}:`,
    '    fail_when: has(body.errors)',
  ]);
}

function notRenamedLines({ notRenamed }: Tally, colors: ChalkInstance): string[] {
  return [...notRenamed].flatMap(([node, counts]) =>
    [...counts].map(
      ([field, records]) =>
        `  ${colors.yellow('warning:')} ${counted(records, 'record')} had no field ${JSON.stringify(field)} that ${node} could rename`,
    ),
  );
}

function cacheLines({ cacheHits, creditsSaved }: Tally, { showsCredits }: SummaryFacts): string[] {
  const inFlight = cacheHits['in-flight'];
  const answers = cacheHits.cached + inFlight;
  if (answers === 0) return [];
  const shared = inFlight === 0 ? '' : `, ${formatCount(inFlight)} of them from requests in flight`;
  const saved = showsCredits ? ` (${creditsText(creditsSaved)} saved)` : '';
  return [`  from the cache: ${counted(answers, 'answer')}${shared}${saved}`];
}

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
