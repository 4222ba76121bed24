import { basename } from 'node:path';
import type { ChalkInstance } from 'chalk';
import { excerpt } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import type { CodedMessage } from '../../core/error-code.ts';
import { counted, creditsText, creditText, formatCount } from '../../core/text/number.ts';
import { listedNames } from '../../core/text/suggest.ts';
import type { MonthlyUsage } from '../../credits/holds.ts';
import { onOneLine } from '../../records/errors.ts';
import { doneOf } from '../../report/reported-run.ts';
import { type ResponseTimes, typicalMs } from '../../report/response-times.ts';
import {
  type Attribution,
  codedIn,
  endings,
  frequentMessages,
  type SummaryFacts,
  sortedGroups,
  wholeCounts,
  wholeTokens,
} from '../../report/summary.ts';
import { type FailureGroup, type LookupCounts, noTokens, type PathHits, type Tally, type TokenCounts } from '../../report/tally.ts';
import { messageWithAdvice } from '../advice.ts';

export function summaryText(tally: Tally, facts: SummaryFacts, colors: ChalkInstance): string {
  return [
    headline(tally, facts, colors),
    ...(facts.resumedAfter > 0 ? [`  resumed after record ${formatCount(facts.resumedAfter)}`] : []),
    ...unchangedLines(tally, facts),
    ...(facts.reason === undefined ? [] : [`  reason: ${facts.reason}`]),
    ...workerLines(facts),
    ...parkedLines(tally),
    ...pauseLines(tally, facts),
    ...failureLines(tally, facts, colors),
    ...lastingLines(tally),
    ...lookupLines(tally),
    ...responseTimeLines(tally.responseTimes),
    ...concurrencyLines(tally),
    ...hitLines(tally, facts),
    ...replacedLines(facts, colors),
    ...ignoredErrorLines(tally, colors),
    ...notRenamedLines(tally, colors),
    ...shortLines(tally, colors),
    ...unansweredLines(tally, colors),
    ...morePagesLines(tally, colors),
    ...cacheLines(tally, facts),
    ...tokenLines(tally, facts),
    ...fileLines(tally, facts),
    ...reportLines(facts),
    ...usageLines(facts.usage, colors),
    ...facts.next.map((step) => stepText(step, colors)),
    ...attributionLines(facts.attributions),
  ].join('\n');
}

/** The line about reused rows. Its date has no year, because reused rows are rarely older than a year. */
function unchangedLines(tally: Tally, facts: SummaryFacts): string[] {
  const { takenOver, output, before } = facts;
  const { unchanged } = wholeCounts(tally, facts);
  if (takenOver?.from === undefined || unchanged === undefined) return [];
  const day = new Date(takenOver.from).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  const part = doneOf(before) > 0 ? ` (this part: ${formatCount(tally.unchanged)})` : '';
  return [`  ${formatCount(unchanged)} unchanged: taken over from ${basename(output)} of ${day}, without a request${part}`];
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

function workerLines({ workers }: SummaryFacts): string[] {
  if (!workers || workers.lost === 0) return [];
  const { lost, maybeSpent } = workers;
  const credits = maybeSpent === 0 ? '' : `; ${creditsText(maybeSpent)} reserved by lost workers count as spent`;
  return [`  ${counted(lost, 'worker')} ${lost === 1 ? 'was' : 'were'} lost, and others continued${credits}`];
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
  return [
    `  waiting: ${formatCount(parked)} finished, but waiting for an earlier record; --resume writes ${parked === 1 ? 'it' : 'them'} in order`,
  ];
}

type ShownStep = SummaryFacts['next'][number];

function stepText({ why, command }: ShownStep, colors: ChalkInstance): string {
  return `  ${why}:\n    ${colors.cyan(command)}`;
}

/** Names servers that were never reached. If records failed, also has the counts, the first failure of each group, and the next steps. */
export function quietText(tally: Tally, facts: SummaryFacts, colors: ChalkInstance): string {
  const unanswered = unansweredLines(tally, colors);
  if (facts.exitCode === 0) return unanswered.map((line) => line.slice(2)).join('\n');
  return [
    headline(tally, facts, colors),
    ...(facts.reason === undefined ? [] : [`  reason: ${facts.reason}`]),
    ...sortedGroups(tally).flatMap((group) =>
      messageLines(`  ${groupName(group)}  record ${group.firstRecords[0]}  `, codedIn(group, group.message)),
    ),
    ...unanswered,
    ...(facts.unchanged === undefined ? [] : fileLines(tally, facts)),
    ...facts.next.map((step) => stepText(step, colors)),
  ].join('\n');
}

/** Used shares of the credit allowance at which the summary warns. */
const warningShares = [0.95, 0.8];

function usageLines(usage: MonthlyUsage | undefined, colors: ChalkInstance): string[] {
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
  const { credits, exitCode, showsCredits, before, spentBefore } = facts;
  const color = exitCode === 0 ? colors.green : tally.ending === 'complete' ? colors.yellow : colors.red;
  const rate = tally.ms > 0 ? ` (${formatCount(Math.round(tally.read / (tally.ms / 1000)))}/s)` : '';
  const whole = wholeCounts(tally, facts);
  const filtered = whole.filtered > 0 ? [`${formatCount(tally.filtered)} filtered`] : [];
  const part = [
    `${formatCount(tally.read)} read`,
    `${formatCount(tally.written)} written`,
    `${formatCount(tally.failed)} failed`,
    ...filtered,
  ].join(', ');
  const parts = [
    `${formatCount(whole.read)} read`,
    `${formatCount(whole.written)} written`,
    `${formatCount(whole.failed)} failed${doneOf(before) > 0 ? ` (this part: ${part})` : ''}`,
    ...(whole.filtered > 0 ? [`${formatCount(whole.filtered)} filtered`] : []),
    ...(before.givenUp ? [`${formatCount(before.givenUp)} given up`] : []),
    ...(tally.passedThrough > 0 ? [`${formatCount(tally.passedThrough)} kept with _error`] : []),
    ...(tally.retries > 0 ? [counted(tally.retries, 'retry')] : []),
    ...(showsCredits ? [wholeCredits(credits, spentBefore.credits)] : []),
  ];
  return `${color(endings[tally.ending ?? 'interrupted'])}: ${parts.join(', ')} in ${durationText(tally.ms)}${rate}`;
}

function wholeCredits(credits: number, before: number): string {
  return before > 0 ? `${creditsText(before + credits)} (this part: ${creditText(credits)})` : creditsText(credits);
}

/** Says that the counts exclude earlier parts of a resumed run; otherwise empty. */
function partText({ before }: SummaryFacts): string {
  return doneOf(before) > 0 ? ' (this part)' : '';
}

/** 4xx statuses that are temporary, so a retry might succeed. */
const passing = new Set([408, 425, 429]);

/** Counts failures that a retry alone will not fix, such as 404. */
function lastingLines(tally: Tally): string[] {
  const lasting = sortedGroups(tally).filter(({ status = 0 }) => status >= 400 && status <= 499 && !passing.has(status));
  const failed = lasting.reduce((sum, group) => sum + group.count, 0);
  if (failed === 0 || tally.failed === 0) return [];
  const [statuses, cause] = lasting.every(({ status }) => status === 401) ? ['401', 'credential'] : ['4xx', 'flow or the data'];
  return [
    `  ${formatCount(failed)} of ${formatCount(tally.failed + tally.passedThrough)} are ${statuses}: they will fail again unless the ${cause} changes`,
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

/** If all failures have the same message, it is on the first line. Otherwise the most frequent messages follow below. */
function failureText(group: FailureGroup, width: number, colors: ChalkInstance): string[] {
  const more = group.count > group.firstRecords.length ? ', ...' : '';
  const records = `${group.count === 1 ? 'record' : 'records'} ${group.firstRecords.join(', ')}${more}`;
  const line = `    ${groupName(group).padEnd(width)}  ${formatCount(group.count)} x  ${colors.dim(records)}`;
  const shown = frequentMessages(group);
  if (group.messages.size === 1) return messageLines(`${line}  `, codedIn(group, group.message));
  const others = group.count - shown.reduce((sum, [, times]) => sum + times, 0);
  return [
    line,
    ...shown.flatMap(([message, times]) => messageLines(`      ${formatCount(times)} x  `, codedIn(group, message))),
    ...(others > 0 ? [`      ${formatCount(others)} x  other messages`] : []),
  ];
}

/** The first line is `beginning` and the reason, shortened if necessary. Advice is on a second line. */
function messageLines(beginning: string, message: CodedMessage): string[] {
  const [reason = '', ...advice] = messageWithAdvice(message).split('\n');
  const text = excerpt(onOneLine(advice.join('\n')), 160);
  return [beginning + excerpt(reason, 160), ...(text === '' ? [] : [`        ${text}`])];
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

function replacedLines({ replaced }: SummaryFacts, colors: ChalkInstance): string[] {
  if (replaced.length === 0) return [];
  const names = listedNames(replaced.map(({ field, node }) => `${field} (${node})`));
  return [`  ${colors.yellow('warning:')} columns of the input were replaced: ${names}`];
}

/** Warns about pages with fewer items than requested. The usual cause is a server with a smaller maximum page size. */
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

function morePagesLines({ morePages }: Tally, colors: ChalkInstance): string[] {
  return [...morePages.values()].flatMap(({ node, record, sign, paginate }) => [
    `  ${colors.yellow('warning:')} ${node} read only the first page, and more follow (record ${record}, see ${sign}); to read them all, add to ${node}:`,
    `    ${paginate}`,
  ]);
}

/** Warns about responses that have a success status but errors in the body, as in GraphQL. */
function ignoredErrorLines({ ignoredErrors }: Tally, colors: ChalkInstance): string[] {
  return [...ignoredErrors].flatMap(([node, answers]) => [
    `  ${colors.yellow('warning:')} ${counted(answers, 'answer')} of ${node} ${answers === 1 ? 'has errors next to data, but counts as a success' : 'have errors next to data, but count as successes'}; to fail such records, add to ${node}:`,
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

const shownOrigins = 3;

/** Warns about servers that were never reached, although their records count as successes (`on_error: keep`). */
function unansweredLines({ unanswered }: Tally, colors: ChalkInstance): string[] {
  const others = unanswered.size - shownOrigins;
  const lines = [...unanswered].slice(0, shownOrigins).flatMap(([origin, { attempts, failure }]) => {
    const none = attempts === 1 ? 'the only attempt was not answered' : `none of ${formatCount(attempts)} attempts was answered`;
    return [`  ${colors.yellow('warning:')} ${origin} was never reached: ${none}`, ...messageLines('    ', failure)];
  });
  return [...lines, ...(others > 0 ? [`  ${colors.yellow('warning:')} ${counted(others, 'other server')} were never reached`] : [])];
}

function cacheLines({ cacheHits, creditsSaved }: Tally, { showsCredits }: SummaryFacts): string[] {
  const inFlight = cacheHits['in-flight'];
  const answers = cacheHits.cached + inFlight;
  if (answers === 0) return [];
  const shared = inFlight === 0 ? '' : `, ${formatCount(inFlight)} of them from requests in flight`;
  const saved = showsCredits ? ` (${creditsText(creditsSaved)} saved)` : '';
  return [`  from the cache: ${counted(answers, 'answer')}${shared}${saved}`];
}

/** Lines such as `llm-1: 1,204,331 tokens in, 88,120 out, cost 0.48`. In a resumed run, the totals of the whole run come first. */
function tokenLines({ tokens }: Tally, { spentBefore }: SummaryFacts): string[] {
  return [...wholeTokens(tokens, spentBefore.tokens)].map(([node, whole]) => {
    const part = spentBefore.tokens.has(node) ? ` (this part: ${spentText(tokens.get(node) ?? noTokens)})` : '';
    return `  ${node}: ${spentText(whole)}${part}`;
  });
}

function spentText({ input, output, cost }: TokenCounts): string {
  const price = cost === undefined ? '' : `, cost ${Number(cost.toPrecision(4))}`;
  return `${formatCount(input)} tokens in, ${formatCount(output)} out${price}`;
}

/** Returns the line about response times; empty if there was no response. @internal */
export function responseTimeLines(times: ResponseTimes): string[] {
  if (times.count === 0) return [];
  const [p50, p95, max] = typicalMs(times).map(durationText);
  return [`  response times: p50 ${p50}, p95 ${p95}, max ${max}`];
}

/** The limits that automate has found by itself, such as `concurrency: 42 at the end (4 to 57)`. */
function concurrencyLines({ concurrency }: Tally): string[] {
  const isAlone = concurrency.size === 1;
  return [...concurrency.values()].map(({ gate, worker, now, least, most }) => {
    const name = worker === undefined ? gate : `${gate} in worker ${worker}`;
    return `  concurrency: ${now} at the end (${least} to ${most})${isAlone ? '' : `, ${name}`}`;
  });
}

function lookupLines({ lookups }: Tally): string[] {
  const all = [...lookups.values()];
  return all.flatMap((counts) => {
    const isAlone = all.filter(({ lookup }) => lookup === counts.lookup).length === 1;
    const name = `${counts.lookup}${isAlone ? '' : ` (${counts.node})`}`;
    return [`  ${name}: ${countsText(counts)}`, ...cutOffLines(name, counts)];
  });
}

function cutOffLines(name: string, { cutOff, cutOffAt = 0, nearestUnknown }: LookupCounts): string[] {
  if (cutOff === 0) return [];
  const line = `  ${name} cut off at ${formatCount(cutOffAt)}: ${counted(cutOff, 'record')}`;
  if (nearestUnknown === 0) return [line];
  return [line, '    for some of them, the nearest point is not known; raise limit, or search a smaller radius'];
}

function countsText({ matched, of, lacking, ...counts }: LookupCounts): string {
  const { ambiguous, firstAmbiguous, doubtful, firstDoubtful, unknownCountries, firstUnknownCountry } = counts;
  const parts = [
    `matched ${formatCount(matched)} of ${formatCount(of)}`,
    ...exampleText('ambiguous', ambiguous, firstAmbiguous),
    ...exampleText('other doubts', doubtful, firstDoubtful),
    ...exampleText('country not known', unknownCountries, firstUnknownCountry),
    ...[...lacking].map(([field, times]) => `${excerpt(field, 60)}: ${formatCount(times)} without a value`),
  ];
  return parts.join(', ');
}

function exampleText(name: string, count: number, first = ''): string[] {
  return count === 0 ? [] : [`${name}: ${formatCount(count)}, such as ${JSON.stringify(excerpt(first, 60))}`];
}

/** The licenses of the data sources require them. They are the last lines of the summary. */
function attributionLines(attributions: readonly Attribution[]): string[] {
  return attributions.map(({ text, date }) => `  data: ${text}${date === undefined ? '' : ` (${date})`}`);
}
