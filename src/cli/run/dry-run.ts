import { type ActionRequest, isLocal } from '../../core/action.ts';
import { cleaned } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Step } from '../../core/node.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { requestKey } from '../../core/request-key.ts';
import { counted, creditsText, creditText, formatCount, goneNotes } from '../../core/text/number.ts';
import { bookPath } from '../../credits/book.ts';
import type { MonthlyUsage } from '../../credits/holds.ts';
import { createClock } from '../../files/clock.ts';
import { envOf } from '../../files/home.ts';
import { statOf } from '../../files/stat.ts';
import type { KeptCounter } from '../../http/answers/kept-answers.ts';
import { answersPath } from '../../output/output-plan.ts';
import type { GoneCounts, GoneRecords } from '../../output/update/gone-records.ts';
import { createLateLookups } from '../../places/late-lookups.ts';
import type { Range } from '../../preview/forecast/actions.ts';
import { type Forecast, Forecaster } from '../../preview/forecast/forecast.ts';
import type { Duration } from '../../preview/forecast/time.ts';
import type { EstimatedTokens } from '../../preview/forecast/tokens.ts';
import { inputLabel } from '../../records/inputs.ts';
import { writeSummary } from '../../report/report-file.ts';
import { messageWithAdvice } from '../advice.ts';
import { requestText } from '../show/request.ts';
import { indentedJson, type Terminal } from '../terminal.ts';
import type { GivenRun } from './run-options.ts';

interface DryRun {
  readonly flow: string;
  readonly plan: Plan;
  readonly options: GivenRun;
  readonly records: AsyncIterable<readonly Item[]>;
  readonly gone?: GoneRecords;
  /** The output with the kept answers that the run would use. */
  readonly out: string;
}

const maxRequests = 3;

/** Sends and spends nothing. */
export async function dryRun({ flow, plan, options, records, gone, out }: DryRun, terminal: Terminal): Promise<void> {
  const kept = await keptCounter(options, out);
  const forecaster = new Forecaster(plan, {
    clock: createClock(),
    maxRequests,
    maxErrors: options.maxErrors,
    lookups: createLateLookups(),
    isKept: kept && ((step, request) => isKept(kept, step, request)),
  });
  let unchanged = 0;
  for await (const items of records) {
    for (const item of items) {
      if (item.unchanged) unchanged++;
      else await forecaster.add(item);
    }
  }
  await kept?.close();
  const forecast = forecaster.forecast();
  const warn = (message: string) => options.quiet || terminal.warn(message);
  const facts: PlanFacts = {
    flow,
    input: inputLabel(options),
    allowance: allSteps(plan.steps).some(({ node }) => node.action) ? await currentAllowance(warn) : undefined,
    maxCredits: options.maxCredits,
    ...(options.update && { unchanged }),
    gone: await gone?.count(),
    serialBy: plan.serialOrder?.label,
  };
  if (options.summary !== '-') await terminal.print(planText(forecast, facts));
  if (options.summary !== undefined) await writeSummary(options.summary, planJson(forecast, facts), terminal.redactor);
}

async function keptCounter({ keepAnswers, replay, env }: GivenRun, out: string): Promise<KeptCounter | undefined> {
  if ((keepAnswers === undefined && !replay) || out === '-') return undefined;
  const path = answersPath(out);
  if (!statOf(path)?.size) return undefined;
  const { KeptCounter, openAnswersToRead } = await import('../../http/answers/kept-answers.ts');
  const minAt = typeof keepAnswers === 'number' ? Date.now() - keepAnswers : Number.NEGATIVE_INFINITY;
  return new KeptCounter(openAnswersToRead(path), envOf(env), minAt);
}

function isKept(kept: KeptCounter, { type, node: { action } }: Step, request: ActionRequest): boolean {
  if (isLocal(request) || action?.keepsAnswers === false) return false;
  return kept.has({ key: requestKey(request, type, action?.price.connection), use: action?.cache ? 'always' : 'once' });
}

/** Undefined if no allowance is set. If the ledger cannot be read, warns and returns undefined. */
async function currentAllowance(warn: (message: string) => void): Promise<Allowance | undefined> {
  const home = (await import('../../files/home.ts')).homeFolder(process.env);
  const path = bookPath(home);
  // The ledger is not opened if it does not exist, because opening would create it.
  if (!statOf(path)?.size) return undefined;
  try {
    return await readAllowance(home, path);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    warn(`the allowance is not known: ${error.message}`);
    return undefined;
  }
}

async function readAllowance(home: string, path: string): Promise<Allowance | undefined> {
  const { monthOf, openBook } = await import('../../credits/book.ts');
  const { usageWithHolds } = await import('../../credits/holds.ts');
  const book = openBook(path);
  try {
    return usageWithHolds(book, monthOf(Date.now()).name, { home, wallNow: Date.now });
  } finally {
    book.close();
  }
}

type Allowance = MonthlyUsage & { readonly held: number };

interface PlanFacts {
  readonly flow: string;
  readonly input: string;
  readonly allowance: Allowance | undefined;
  readonly maxCredits: number | undefined;
  /** Number of records whose rows --update reuses. They are not in the forecast. Undefined without --update. */
  readonly unchanged?: number;
  /** Undefined without --gone. */
  readonly gone?: GoneCounts;
  readonly serialBy?: string;
}

function planText(forecast: Forecast, { allowance, maxCredits, unchanged, gone, serialBy }: PlanFacts): string {
  const { actions, credits, tokens, time, requests } = forecast;
  const lines: [string, string | undefined][] = [
    ['unchanged', unchanged === undefined ? undefined : `${formatCount(unchanged)}, taken over without a request`],
    ['gone', gone && goneText(gone)],
    ['records', recordsText(forecast) + (unchanged === undefined ? '' : ' to run')],
    ['stops', stopText(forecast)],
    ['actions', rangeText(actions, formatCount)],
    ['kept', forecast.kept === undefined ? undefined : `${formatCount(forecast.kept)} actions have a kept answer, and send nothing`],
    ['credits', rangeText(credits, creditText) + costNote(forecast)],
    ['expected', isExact(actions) && isExact(credits) ? undefined : assumptions(forecast)],
    ['allowance', allowance && actions.most > 0 ? allowanceText(allowance, forecast) : undefined],
    ['budget', maxCredits !== undefined && actions.most > 0 ? budgetText(maxCredits, forecast) : undefined],
    ['tokens', tokens && tokensText(tokens)],
    ['time', time && forecastTime(time) + serialNote(serialBy)],
    ['requests', requests.length === 0 ? 'none would be sent' : firstRequests(forecast)],
  ];
  return [
    ...lines.flatMap(([name, text]) => (text === undefined ? [] : [`${`${name}:`.padEnd(11)}${text}`])),
    ...requests.flatMap((request, index) => [...(index === 0 ? [] : ['']), ...requestText(request).map((line) => `  ${cleaned(line)}`)]),
  ].join('\n');
}

function goneText(counts: GoneCounts): string {
  const { gone, of } = counts;
  return [`${formatCount(gone)} of ${counted(of, 'record')} of the old output`, ...goneNotes(counts)].join('; ');
}

function assumptions({ hasPasses, hasAlternatives, hasPages, hasBatches, kept }: Forecast): string {
  return [
    'if every answer is a success with one record',
    'every condition after the first request is true',
    ...(hasPasses ? ['each loop and poll has one pass'] : []),
    ...(hasAlternatives ? ['the first step of each first finds everything'] : []),
    ...(hasPages ? ['each record has one page'] : []),
    ...(hasBatches ? ['batches are full'] : []),
    ...(kept ? ['only the first requests of records have kept answers'] : []),
    'nothing comes from the cache',
  ].join(', ');
}

function recordsText({ records, failing, firstFailure, passedThrough }: Forecast): string {
  const notes = [
    ...(firstFailure
      ? [
          `${formatCount(failing)} would fail before anything is sent; the first: record ${firstFailure.record}: ${cleaned(messageWithAdvice(firstFailure))}`,
        ]
      : []),
    ...(passedThrough > 0 ? [`${formatCount(passedThrough)} would pass through with _error before anything is sent`] : []),
  ];
  return formatCount(records) + (notes.length > 0 ? ` (${notes.join('; ')})` : '');
}

function firstRequests({ requests, hasBatches }: Forecast): string {
  return `the first ${requests.length === 1 ? 'one' : requests.length}${hasBatches ? ' (of a batch, shown with only one record)' : ''}`;
}

function stopText({ stopsAt }: Forecast): string | undefined {
  if (!stopsAt) return undefined;
  const setting = stopsAt.why === 'on-error-stop' ? 'on_error: stop' : '--max-errors';
  return `at record ${formatCount(stopsAt.record)}, which would fail (${setting}); the figures are those of all records`;
}

function isExact({ least, expected, most }: Range): boolean {
  return least === expected && expected === most;
}

function rangeText(range: Range, text: (number: number) => string): string {
  const { least, expected, most } = range;
  if (isExact(range)) return text(least);
  return `${text(least)} at least, ${text(expected)} expected, ${most === Number.POSITIVE_INFINITY ? 'any number' : text(most)} at most`;
}

function costNote({ nodesStatingCost }: Forecast): string {
  return nodesStatingCost.length === 0 ? '' : ` (by price; the answers of ${nodesStatingCost.join(', ')} state the real cost)`;
}

function allowanceText({ month, limit, spent, held }: Allowance, forecast: Forecast): string {
  const left = Math.max(0, limit - spent - held);
  const text = `${creditText(left)} of ${creditsText(limit)} ${left === 1 ? 'is' : 'are'} left in ${month}`;
  const others = held > 0 ? ` (active runs can spend ${creditText(held)} more)` : '';
  const { expected } = forecast.credits;
  if (expected > left) return `${text}${others}: ${shortageText(left, forecast)}`;
  return `${text}${others}; ${creditText(left - expected)} afterwards${overrunNote(left, forecast)}`;
}

function budgetText(maxCredits: number, forecast: Forecast): string {
  const option = `--max-credits ${creditText(maxCredits)}`;
  if (forecast.credits.expected > maxCredits) return `${option}: ${shortageText(maxCredits, forecast)}`;
  return `${option} is enough${overrunNote(maxCredits, forecast)}`;
}

function shortageText(left: number, { records, credits }: Forecast): string {
  return `not enough: the run stops after about ${formatCount(Math.floor((records * left) / credits.expected))} records`;
}

function overrunNote(left: number, { credits }: Forecast): string {
  return credits.most > left ? ', unless more than expected is needed' : '';
}

function tokensText({ input, maxOutput, maxCost, stops }: EstimatedTokens): string {
  const cost = maxCost === undefined ? '' : `, cost up to ${maxCost.toLocaleString('en-US', { maximumSignificantDigits: 3 })}`;
  return `about ${formatCount(input)} in, up to ${formatCount(maxOutput)} out${cost}${stops.map(costStopText).join('')}`;
}

function costStopText({ node, maxCost, questions }: EstimatedTokens['stops'][number]): string {
  const end = `; max_cost ${maxCost} of ${node} will end the run`;
  return questions === 0
    ? `${end} before its first question`
    : `${end} after about ${counted(questions, 'record')} if answers are that long`;
}

function forecastTime(time: Duration): string {
  const about = `about ${durationText(time.ms)}`;
  if (time.by === 'rate') return `${about} at ${rateText(time.intervalMs)} to ${cleaned(time.origin)}`;
  return `${about} with ${formatCount(time.atOnce)} at once and ${durationText(time.latencyMs)} per request`;
}

function serialNote(serialBy: string | undefined): string {
  return serialBy === undefined ? '' : `, or longer: records with the same ${serialBy} go one after another (serial_by)`;
}

/** Uses the syntax of a flow, such as 10/s. */
function rateText(intervalMs: number): string {
  const unitMs = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };
  const [unit, ms] = Object.entries(unitMs).find(([, unitMs]) => intervalMs <= unitMs) ?? ['d', unitMs.d];
  return `${(ms / intervalMs).toLocaleString('en-US', { maximumFractionDigits: 2 })}/${unit}`;
}

function planJson(forecast: Forecast, { flow, input, allowance, maxCredits, unchanged, gone }: PlanFacts): string {
  const { records, failing, passedThrough: kept, firstFailure, stopsAt, tokens, time, requests } = forecast;
  const left = allowance && Math.max(0, allowance.limit - allowance.spent - allowance.held);
  const plan = {
    flow,
    input,
    dry_run: true,
    records,
    ...(unchanged !== undefined && { unchanged }),
    ...(gone && { gone: { records: gone.gone, of: gone.of, repeated_keys: gone.repeated, unreadable: gone.unreadable } }),
    failing,
    kept,
    first_failure: firstFailure ?? null,
    stops_at: stopsAt ?? null,
    actions: rangeJson(forecast.actions),
    ...(forecast.kept !== undefined && { kept_answers: forecast.kept }),
    credits: rangeJson(forecast.credits),
    ...(allowance && { allowance: { ...allowance, left, afterwards: (left as number) - forecast.credits.expected } }),
    ...(maxCredits === undefined ? {} : { max_credits: maxCredits }),
    ...(tokens && { tokens: { input: tokens.input, max_output: tokens.maxOutput, max_cost: tokens.maxCost ?? null } }),
    ms: time ? Math.round(time.ms) : 0,
    requests: requests.map((request) => requestText(request).join('\n')),
  };
  return `${indentedJson(plan)}\n`;
}

function rangeJson({ least, expected, most }: Range) {
  return { least, expected, most: most === Number.POSITIVE_INFINITY ? null : most };
}
