import { basename } from 'node:path';
import type { ChalkInstance } from 'chalk';
import { excerpt } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import { counted, creditsText, creditText, formatCount, goneNotes } from '../../core/text/number.ts';
import { listedNames } from '../../core/text/suggest.ts';
import { onOneLine } from '../../records/errors-file.ts';
import { givenNamesText } from '../../report/early-warnings.ts';
import { doneOf } from '../../report/reported-run.ts';
import { type FailureView, largestFirst, type PilotView, type RunView, type TokenFigures } from '../../report/run-view.ts';

type LinesOf = (view: RunView, colors: ChalkInstance) => string[];

/** Lines about the records, apart from the paths of maps. */
const findings: readonly LinesOf[] = [failureLines, lastingLines, lookupLines, responseTimeLines, concurrencyLines, paceLines];

const warnings: readonly LinesOf[] = [
  givenNameLines,
  inputNoteLines,
  replacedLines,
  ignoredErrorLines,
  notRenamedLines,
  brokenRuleLines,
  joinLines,
  searchLines,
  shortLines,
  unansweredLines,
  morePagesLines,
  neverFoundLines,
  cacheLines,
  keptAnswerLines,
  tokenLines,
];

export function summaryText(view: RunView, colors: ChalkInstance): string {
  const lines = [
    ...[headlines, resumedLines, unchangedLines, goneLines, reasonLines, workerLines, waitingLines, pauseLines],
    ...findings,
    mappingLines,
    ...warnings,
    ...[fileLines, reportLines, allowanceLines, nextLines, attributionLines],
  ];
  return lines.flatMap((linesOf) => linesOf(view, colors)).join('\n');
}

/** `table` shows rows of some of the records. */
export function pilotText(view: RunView & { readonly pilot: PilotView }, table: readonly string[], colors: ChalkInstance): string {
  const others = [...findings, pilotPathLines, ...warnings, restLines].flatMap((linesOf) => linesOf(view, colors));
  return [pilotHeadline(view), ...table.map((line) => `  ${line}`), ...others].join('\n');
}

/** For `quiet`: only the failures, and what the rest will take. */
export function quietPilotText(view: RunView & { readonly pilot: PilotView }, colors: ChalkInstance): string {
  return [pilotHeadline(view), ...failureLines(view, colors), ...restLines(view)].join('\n');
}

function pilotHeadline({ pilot, counts, ms }: RunView & { readonly pilot: PilotView }): string {
  const { written, failed, filtered } = counts;
  const parts = [
    `${formatCount(written)} succeeded`,
    `${formatCount(failed)} failed`,
    ...(filtered > 0 ? [`${formatCount(filtered)} filtered`] : []),
  ];
  return `pilot: ${formatCount(pilot.records)} of ${counted(pilot.records + pilot.rest.records, 'record')}: ${parts.join(', ')} in ${durationText(ms)}`;
}

function pilotPathLines({ pilot, mapping }: RunView): string[] {
  const { paths = [] } = pilot ?? {};
  if (paths.length === 0) return mappingLines({ mapping } as RunView);
  return paths.flatMap(({ node, path, found, of, expected }, index) => [
    ...(paths[index - 1]?.node === node ? [] : [`  mapped by ${node}:`]),
    `    ${path}: found in ${formatCount(found)} of ${formatCount(of)} chosen at random: expect ${expected.map(percent).join(' to ')}`,
  ]);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function restLines({ pilot, showsCredits, credits: { limit, allowance } }: RunView): string[] {
  if (!pilot) return [];
  const { records, requests, credits, cost, ms } = pilot.rest;
  // A resumed run can spend the limit of a command again.
  const left = Math.min(limit ?? Infinity, allowance ? Math.max(0, allowance.limit - allowance.spent) : Infinity);
  const last = Math.floor((records * left) / credits);
  const parts = [
    `about ${counted(requests, 'request')}`,
    ...(showsCredits ? [creditsText(credits)] : []),
    ...(cost === undefined ? [] : [`a cost of ${cost.toLocaleString('en-US', { maximumSignificantDigits: 3 })}`]),
    ...(ms === undefined ? [] : [durationText(ms)]),
  ];
  return [
    `  the other ${counted(records, 'record')} will take ${parts.join(', ')}`,
    ...(credits > left ? [`  only ${creditsText(left)} can be spent: the run will stop after about ${counted(last, 'more record')}`] : []),
  ];
}

function headlines(view: RunView, colors: ChalkInstance): string[] {
  const { counts, part = counts, credits, ms } = view;
  const color = view.exitCode === 0 ? colors.green : view.endingCode === 'complete' ? colors.yellow : colors.red;
  const rate = ms > 0 ? ` (${formatCount(Math.round(doneOf(part) / (ms / 1000)))}/s)` : '';
  const ofPart = [
    `${formatCount(doneOf(part))} read`,
    `${formatCount(part.written)} written`,
    `${formatCount(part.failed)} failed`,
    ...(counts.filtered > 0 ? [`${formatCount(part.filtered)} filtered`] : []),
  ].join(', ');
  const parts = [
    `${formatCount(doneOf(counts))} read`,
    `${formatCount(counts.written)} written`,
    `${formatCount(counts.failed)} failed${view.part ? ` (this part: ${ofPart})` : ''}`,
    ...(counts.filtered > 0 ? [`${formatCount(counts.filtered)} filtered`] : []),
    ...(counts.givenUp ? [`${formatCount(counts.givenUp)} given up`] : []),
    ...(counts.passedThrough > 0 ? [`${formatCount(counts.passedThrough)} kept with _error`] : []),
    ...(counts.retries > 0 ? [counted(counts.retries, 'retry')] : []),
    ...(view.showsCredits ? [spentCredits(credits)] : []),
  ];
  return [`${color(view.ending)}: ${parts.join(', ')} in ${durationText(ms)}${rate}`];
}

function spentCredits({ spent, part }: RunView['credits']): string {
  return `${creditsText(spent)}${part === undefined ? '' : ` (this part: ${creditText(part)})`}`;
}

/** Says that the counts exclude earlier parts of a resumed run; otherwise empty. */
function partText({ part }: RunView): string {
  return part ? ' (this part)' : '';
}

function resumedLines({ resumedAfter, finishedBefore }: RunView): string[] {
  return [
    ...(resumedAfter === undefined ? [] : [`  resumed after record ${formatCount(resumedAfter)}`]),
    ...(finishedBefore === undefined
      ? []
      : [`  ${counted(finishedBefore, 'record')} had been finished before: nothing was sent for them again`]),
  ];
}

/** The line about reused rows. Its date has no year, because reused rows are rarely older than a year. */
function unchangedLines({ takenOverFrom, output, counts: { unchanged }, part }: RunView): string[] {
  if (takenOverFrom === undefined || unchanged === undefined) return [];
  const day = new Date(takenOverFrom).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  const ofPart = part ? ` (this part: ${formatCount(part.unchanged ?? 0)})` : '';
  return [`  ${formatCount(unchanged)} unchanged: taken over from ${basename(output)} of ${day}, without a request${ofPart}`];
}

function goneLines({ gone }: RunView): string[] {
  if (!gone) return [];
  const { records, of, file } = gone;
  const found =
    records === 0
      ? `no record is gone from the input: ${file} has no rows`
      : `${formatCount(records)} of ${counted(of, 'record')} ${records === 1 ? 'is' : 'are'} gone from the input: see ${file}`;
  return [`  ${[found, ...goneNotes(gone)].join('; ')}`];
}

function reasonLines({ reason }: RunView): string[] {
  return reason === undefined ? [] : [`  reason: ${reason.replaceAll('\n', '\n  ')}`];
}

function workerLines({ endedWorkers }: RunView): string[] {
  if (!endedWorkers || endedWorkers.lost === 0) return [];
  const { lost, maybeSpent } = endedWorkers;
  const credits = maybeSpent === 0 ? '' : `; ${creditsText(maybeSpent)} reserved by lost workers count as spent`;
  return [`  ${counted(lost, 'worker')} ${lost === 1 ? 'was' : 'were'} lost, and others continued${credits}`];
}

function waitingLines({ counts: { waiting } }: RunView): string[] {
  if (waiting === 0) return [];
  return [
    `  waiting: ${formatCount(waiting)} finished, but waiting for an earlier record; --resume writes ${waiting === 1 ? 'it' : 'them'} in order`,
  ];
}

function pauseLines({ ms, pauses: { totalMs }, pausedFor = [] }: RunView): string[] {
  if (totalMs <= 0) return [];
  return [`  paused ${durationText(totalMs)} of ${durationText(ms)} for ${pausedFor.join(' and ')}`];
}

function fileLines({ output, outputRecords = 0, errors, errorRecords = 0, keptBecause, counts: { written } }: RunView): string[] {
  if (keptBecause !== undefined) return [`  output: ${output} is unchanged: ${keptBecause}`];
  const of = outputRecords === written ? '' : ` of ${counted(written, 'record')}`;
  return [
    `  output: ${output} (${counted(outputRecords, of === '' ? 'record' : 'row')}${of})`,
    ...(errorRecords > 0 ? [`  errors: ${errors ?? 'not written'} (${counted(errorRecords, 'record')})`] : []),
  ];
}

function reportLines({ report }: RunView): string[] {
  return report === undefined ? [] : [`  report: ${report}`];
}

function nextLines({ next }: RunView, colors: ChalkInstance): string[] {
  return next.map(({ why, command }) => `  ${why}:\n    ${colors.cyan(command)}`);
}

/**
 * Names servers that were never reached, and paths to the next page that were never found. If records failed, also has the counts, the
 * first failure of each group, and the next steps.
 */
export function quietText(view: RunView, colors: ChalkInstance): string {
  const warnings = [...unansweredLines(view, colors), ...neverFoundLines(view, colors)];
  if (view.exitCode === 0) return warnings.map((line) => line.slice(2)).join('\n');
  return [
    ...headlines(view, colors),
    ...reasonLines(view),
    ...largestFirst(view.failures).flatMap((group) =>
      messageLines(`  ${groupName(group)}  record ${group.firstRecords[0]}  `, group.first?.text),
    ),
    ...warnings,
    ...(view.keptBecause === undefined ? [] : fileLines(view)),
    ...nextLines(view, colors),
  ].join('\n');
}

/** Used shares of the credit allowance at which the summary warns. */
const warningShares = [0.95, 0.8];

function allowanceLines({ credits: { allowance } }: RunView, colors: ChalkInstance): string[] {
  if (!allowance) return [];
  const { month, spent, limit } = allowance;
  const share = limit === 0 ? 1 : spent / limit;
  const text = `${creditText(spent)} of ${creditText(limit)} credits used in ${month} (${Math.floor(share * 100)} %)`;
  const warned = warningShares.find((least) => share >= least);
  return [
    warned === undefined
      ? `  allowance: ${text}`
      : `  ${colors.yellow('warning:')} ${share >= 1 ? 'all' : `${warned * 100} % or more`} of the allowance is used: ${text}`,
  ];
}

/** 4xx statuses that are temporary, so a retry might succeed. */
const passing = new Set([408, 425, 429]);

/** Counts failures that a retry alone will not fix, such as 404. */
function lastingLines({ failures, counts, part = counts }: RunView): string[] {
  const lasting = failures.filter(({ status = 0 }) => status >= 400 && status <= 499 && !passing.has(status));
  const failed = lasting.reduce((sum, group) => sum + group.count, 0);
  if (failed === 0 || part.failed === 0) return [];
  const [statuses, cause] = lasting.every(({ status }) => status === 401) ? ['401', 'credential'] : ['4xx', 'flow or the data'];
  return [
    `  ${formatCount(failed)} of ${formatCount(part.failed + counts.passedThrough)} are ${statuses}: they will fail again unless the ${cause} changes`,
  ];
}

function failureLines(view: RunView, colors: ChalkInstance): string[] {
  const { failures } = view;
  if (failures.length === 0) return [];
  const width = Math.max(...failures.map((group) => groupName(group).length));
  return [`  failed${partText(view)}:`, ...largestFirst(failures).flatMap((group) => failureText(group, width, colors))];
}

function groupName({ node, class: kind, status }: FailureView): string {
  return `${node ?? 'input'}  ${kind}${status === undefined ? '' : ` ${status}`}`;
}

/** If all failures have the same message, it is on the first line. Otherwise the most frequent messages follow below. */
function failureText(group: FailureView, width: number, colors: ChalkInstance): string[] {
  const { count, firstRecords, first, messages } = group;
  const more = count > firstRecords.length ? ', ...' : '';
  const records = `${count === 1 ? 'record' : 'records'} ${firstRecords.join(', ')}${more}`;
  const line = `    ${groupName(group).padEnd(width)}  ${formatCount(count)} x  ${colors.dim(records)}`;
  if (messages.length === 1) return messageLines(`${line}  `, first?.text);
  const others = count - messages.reduce((sum, { count: times }) => sum + times, 0);
  return [
    line,
    ...messages.flatMap(({ text, count: times }) => messageLines(`      ${formatCount(times)} x  `, text)),
    ...(others > 0 ? [`      ${formatCount(others)} x  other messages`] : []),
  ];
}

/** The first line is `beginning` and the reason, shortened if necessary. Advice is on a second line. */
function messageLines(beginning: string, message = ''): string[] {
  const [reason = '', ...advice] = message.split('\n');
  const text = excerpt(onOneLine(advice.join('\n')), 160);
  return [beginning + excerpt(reason, 160), ...(text === '' ? [] : [`        ${text}`])];
}

function mappingLines(view: RunView): string[] {
  const { mapping } = view;
  return mapping.flatMap(({ node, path, found, of, isPaged }, index) => {
    const pages = isPaged ? ` from ${counted(of, 'page')}` : '';
    return [
      ...(mapping[index - 1]?.node === node
        ? []
        : [`  mapped by ${node}${pages}${view.finishedBefore ? ' (this part)' : partText(view)}:`]),
      `    ${path}: found in ${formatCount(found)} of ${formatCount(of)}`,
    ];
  });
}

function givenNameLines({ givenNames }: RunView, colors: ChalkInstance): string[] {
  const text = givenNamesText(givenNames);
  return text === undefined ? [] : [`  ${colors.yellow('warning:')} ${text}`];
}

function inputNoteLines({ inputNotes = [] }: RunView, colors: ChalkInstance): string[] {
  return inputNotes.map((text) => `  ${colors.yellow('warning:')} ${text.replaceAll('\n', '\n    ')}`);
}

function replacedLines({ replaced }: RunView, colors: ChalkInstance): string[] {
  if (!replaced) return [];
  const names = listedNames(replaced.map(({ field, node }) => `${field} (${node})`));
  return [`  ${colors.yellow('warning:')} columns of the input were replaced: ${names}`];
}

/** Warns about pages with fewer items than requested. The usual cause is a server with a smaller maximum page size. */
function shortLines({ shortPages = [] }: RunView, colors: ChalkInstance): string[] {
  return shortPages.flatMap(({ node, records, first: { record, page, items, size } }) => [
    `  ${colors.yellow('warning:')} page ${page} of record ${record} has ${counted(items, 'item')}, fewer than the size of ${size}, and is not the last (${node}, ${counted(records, 'record')})`,
    `    if the server sends at most ${items} at once, items were skipped: set size: ${items}, or request ${size} per page`,
  ]);
}

function morePagesLines({ morePages = [] }: RunView, colors: ChalkInstance): string[] {
  return morePages.flatMap(({ node, record, sign, paginate }) => [
    `  ${colors.yellow('warning:')} ${node} read only the first page, and more follow (record ${record}, see ${sign}); to read them all, add to ${node}:`,
    `    ${paginate}`,
  ]);
}

/** Warns about a path that might be misspelt: each list was taken for a list of one page. */
function neverFoundLines({ neverFound = [] }: RunView, colors: ChalkInstance): string[] {
  return neverFound.map(
    ({ node, path }) =>
      `  ${colors.yellow('warning:')} ${node}: no answer has ${path}: only first pages were read; is paginate.path right?`,
  );
}

/** Warns about responses that have a success status but errors in the body, as in GraphQL. */
function ignoredErrorLines({ ignoredErrors = [] }: RunView, colors: ChalkInstance): string[] {
  return ignoredErrors.flatMap(({ node, answers }) => [
    `  ${colors.yellow('warning:')} ${counted(answers, 'answer')} of ${node} ${answers === 1 ? 'has errors next to data, but counts as a success' : 'have errors next to data, but count as successes'}; to fail such records, add to ${node}:`,
    '    fail_when: has(body.errors) && body.errors.size() > 0',
  ]);
}

function notRenamedLines({ notRenamed = [] }: RunView, colors: ChalkInstance): string[] {
  return notRenamed.map(
    ({ node, field, records }) =>
      `  ${colors.yellow('warning:')} ${counted(records, 'record')} had no field ${JSON.stringify(field)} that ${node} could rename`,
  );
}

const maxRule = 100;

function brokenRuleLines(view: RunView): string[] {
  const { brokenRules = [] } = view;
  return brokenRules.map(({ node, rules }) => {
    const counts = rules.map(({ rule, records }) => `${excerpt(rule, maxRule)} ${formatCount(records)}`);
    return `  ${node}${partText(view)}: ${counts.join(', ')}`;
  });
}

function joinLines(view: RunView): string[] {
  const { joins = [] } = view;
  return joins.map(
    ({ node, file, found, of }) => `  ${node}${partText(view)}: ${formatCount(found)} of ${formatCount(of)} found in ${file}`,
  );
}

/** Lines such as `first-1: apollo found 5,120 of 10,000, hunter 3,300 of 4,880 (12 failed); 1,580 not found`. */
function searchLines(view: RunView): string[] {
  const { searches = [] } = view;
  return searches.map(({ node, known, notFound, steps }) => {
    const parts = steps.map(({ step, asked, found, failed }, index) => {
      const failures = failed === 0 ? '' : ` (${formatCount(failed)} failed)`;
      return `${step}${index === 0 ? ' found' : ''} ${formatCount(found)} of ${formatCount(asked)}${failures}`;
    });
    const knownText = known === 0 ? '' : `; ${formatCount(known)} needed none`;
    return `  ${node}${partText(view)}: ${parts.join(', ')}; ${formatCount(notFound)} not found${knownText}`;
  });
}

const shownOrigins = 3;

/** Warns about servers that were never reached, although their records count as successes (`on_error: keep`). */
function unansweredLines({ unanswered = [] }: RunView, colors: ChalkInstance): string[] {
  const others = unanswered.length - shownOrigins;
  const lines = unanswered.slice(0, shownOrigins).flatMap(({ origin, attempts, text }) => {
    const none = attempts === 1 ? 'the only attempt was not answered' : `none of ${formatCount(attempts)} attempts was answered`;
    return [`  ${colors.yellow('warning:')} ${origin} was never reached: ${none}`, ...messageLines('    ', text)];
  });
  return [...lines, ...(others > 0 ? [`  ${colors.yellow('warning:')} ${counted(others, 'other server')} were never reached`] : [])];
}

function cacheLines({ counts: { cached }, cachedInFlight = 0, credits, showsCredits }: RunView): string[] {
  if (cached === 0) return [];
  const shared = cachedInFlight === 0 ? '' : `, ${formatCount(cachedInFlight)} of them from requests in flight`;
  const saved = showsCredits ? ` (${creditsText(credits.saved)} saved)` : '';
  return [`  from the cache: ${counted(cached, 'answer')}${shared}${saved}`];
}

function keptAnswerLines({ answers, credits: { spent, part = spent } }: RunView): string[] {
  if (!answers) return [];
  const { used, kept, secret, full, requests } = answers;
  const were = (count: number) => (count === 1 ? 'was' : 'were');
  return [
    ...(used > 0 ? [`  ${counted(used, 'answer')} ${were(used)} kept: ${counted(requests, 'request')}, ${creditsText(part)}`] : []),
    ...(kept > 0 ? [`  kept for later runs: ${counted(kept, 'answer')}`] : []),
    ...(secret > 0 ? [`  not kept: ${counted(secret, 'answer')} with a secret`] : []),
    ...(full > 0 ? [`  not kept: ${counted(full, 'answer')}, because the file of answers is full or cannot be written`] : []),
  ];
}

/** Lines such as `llm-1: 1,204,331 tokens in, 88,120 out, cost 0.48`. In a resumed run, the totals of the whole run come first. */
function tokenLines({ tokens }: RunView): string[] {
  return tokens.map(({ node, part, ...whole }) => `  ${node}: ${spentText(whole)}${part ? ` (this part: ${spentText(part)})` : ''}`);
}

function spentText({ input, output, cost, askedAgain }: TokenFigures): string {
  const price = cost === undefined ? '' : `, cost ${Number(cost.toPrecision(4))}`;
  const again = askedAgain === undefined ? '' : `, ${counted(askedAgain, 'answer')} did not fit the schema and had to be paid again`;
  return `${formatCount(input)} tokens in, ${formatCount(output)} out${price}${again}`;
}

/** Returns the line about response times; empty if there was no response. @internal */
export function responseTimeLines({ responseTimes }: Pick<RunView, 'responseTimes'>): string[] {
  if (!responseTimes) return [];
  const [p50, p95, max] = [responseTimes.p50Ms, responseTimes.p95Ms, responseTimes.maxMs].map(durationText);
  return [`  response times: p50 ${p50}, p95 ${p95}, max ${max}`];
}

/** Says at which rate a server accepted calls, and what to write so that it refuses none. */
function paceLines({ paces = [] }: RunView): string[] {
  return paces.map(({ gate, rate, refusals, statuses }) => {
    const avoided = `would have avoided ${counted(refusals, 'answer')} of ${statuses.join(' and ')}`;
    return `  learned ${rate} for ${gate.replace(/^https?:\/\//, '')} (rate: ${rate} ${avoided})`;
  });
}

/** The limits that automate has found by itself, such as `concurrency: 42 at the end (4 to 57)`. */
function concurrencyLines({ concurrency = [] }: RunView): string[] {
  const isAlone = concurrency.length === 1;
  return concurrency.map(({ gate, worker, now, least, most }) => {
    const name = worker === undefined ? gate : `${gate} in worker ${worker}`;
    return `  concurrency: ${now} at the end (${least} to ${most})${isAlone ? '' : `, ${name}`}`;
  });
}

function lookupLines({ lookups }: RunView): string[] {
  return lookups.flatMap((counts) => {
    const isAlone = lookups.filter(({ lookup }) => lookup === counts.lookup).length === 1;
    const name = `${counts.lookup}${isAlone ? '' : ` (${counts.node})`}`;
    return [`  ${name}: ${countsText(counts)}`, ...cutOffLines(name, counts)];
  });
}

function cutOffLines(name: string, { cutOff = 0, cutOffAt = 0, nearestUnknown }: RunView['lookups'][number]): string[] {
  if (cutOff === 0) return [];
  const line = `  ${name} cut off at ${formatCount(cutOffAt)}: ${counted(cutOff, 'record')}`;
  if (nearestUnknown === 0) return [line];
  return [line, '    for some of them, the nearest point is not known; raise limit, or search a smaller radius'];
}

function countsText({ matched, of, lacking = {}, ...counts }: RunView['lookups'][number]): string {
  const { ambiguous, firstAmbiguous, doubtful = 0, firstDoubtful, unknownCountries = 0, firstUnknownCountry } = counts;
  const parts = [
    `matched ${formatCount(matched)} of ${formatCount(of)}`,
    ...exampleText('ambiguous', ambiguous, firstAmbiguous),
    ...exampleText('other doubts', doubtful, firstDoubtful),
    ...exampleText('country not known', unknownCountries, firstUnknownCountry),
    ...Object.entries(lacking).map(([field, times]) => `${excerpt(field, 60)}: ${formatCount(times)} without a value`),
  ];
  return parts.join(', ');
}

function exampleText(name: string, count: number, first = ''): string[] {
  return count === 0 ? [] : [`${name}: ${formatCount(count)}, such as ${JSON.stringify(excerpt(first, 60))}`];
}

/** The licenses of the data sources require them. They are the last lines of the summary. */
function attributionLines({ attributions = [] }: RunView): string[] {
  return attributions.map(({ text, date }) => `  data: ${text}${date === undefined ? '' : ` (${date})`}`);
}
