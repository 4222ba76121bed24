import { cleaned } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import { counted, creditsText, creditText, formatCount } from '../../core/text/number.ts';
import type { MonthlyUsage } from '../../credits/holds.ts';
import type { Range } from '../../preview/forecast/actions.ts';
import type { Forecast } from '../../preview/forecast/forecast.ts';
import type { Duration } from '../../preview/forecast/time.ts';
import type { EstimatedTokens } from '../../preview/forecast/tokens.ts';
import { messageWithAdvice } from '../advice.ts';
import { requestText } from './request.ts';

/** The monthly allowance of credits, and the credits that active runs have reserved but not spent. */
export type Allowance = MonthlyUsage & { readonly held: number };

/** The facts that the plan of a dry run shows in addition to its forecast. */
export interface PlanFacts {
  readonly flow: string;
  readonly input: string;
  /** The monthly allowance of credits; undefined if none is set. */
  readonly allowance: Allowance | undefined;
  /** The value of --max-credits; undefined without this option. */
  readonly maxCredits: number | undefined;
  /** Number of records whose rows --update reuses. They are not in the forecast. Undefined without --update. */
  readonly unchanged?: number;
  /** The `serial_by` of the flow; undefined if it has none. */
  readonly serialBy?: string;
}

/** Returns the plan of a dry run as text. */
export function planText(forecast: Forecast, { allowance, maxCredits, unchanged, serialBy }: PlanFacts): string {
  const { actions, credits, tokens, time, requests } = forecast;
  const lines: [string, string | undefined][] = [
    ['unchanged', unchanged === undefined ? undefined : `${formatCount(unchanged)}, taken over without a request`],
    ['records', recordsText(forecast) + (unchanged === undefined ? '' : ' to run')],
    ['stops', stopText(forecast)],
    ['actions', rangeText(actions, formatCount)],
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

function assumptions({ hasPasses, hasPages, hasBatches }: Forecast): string {
  return [
    'if every answer is a success with one record',
    'every condition after the first request is true',
    ...(hasPasses ? ['each loop and poll has one pass'] : []),
    ...(hasPages ? ['each record has one page'] : []),
    ...(hasBatches ? ['batches are full'] : []),
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

const stopReasons = { 'on-error-stop': 'on_error: stop', 'max-errors': '--max-errors' };

function stopText({ stopsAt }: Forecast): string | undefined {
  return (
    stopsAt &&
    `at record ${formatCount(stopsAt.record)}, which would fail (${stopReasons[stopsAt.why]}); the figures are those of all records`
  );
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

/** Returns a rate in the syntax of a flow, such as 10/s. */
function rateText(intervalMs: number): string {
  const unitMs = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };
  const [unit, ms] = Object.entries(unitMs).find(([, unitMs]) => intervalMs <= unitMs) ?? ['d', unitMs.d];
  return `${(ms / intervalMs).toLocaleString('en-US', { maximumFractionDigits: 2 })}/${unit}`;
}

/** Returns the plan of a dry run as JSON. `most` is null if there is no upper bound. */
export function planJson(forecast: Forecast, { flow, input, allowance, maxCredits, unchanged }: PlanFacts): string {
  const { records, failing, passedThrough: kept, firstFailure, stopsAt, tokens, time, requests } = forecast;
  const left = allowance && Math.max(0, allowance.limit - allowance.spent - allowance.held);
  const plan = {
    flow,
    input,
    dry_run: true,
    records,
    unchanged,
    failing,
    kept,
    first_failure: firstFailure ?? null,
    stops_at: stopsAt ?? null,
    actions: rangeJson(forecast.actions),
    credits: rangeJson(forecast.credits),
    ...(allowance && { allowance: { ...allowance, left, afterwards: (left as number) - forecast.credits.expected } }),
    max_credits: maxCredits,
    ...(tokens && { tokens: { input: tokens.input, max_output: tokens.maxOutput, max_cost: tokens.maxCost ?? null } }),
    ms: time ? Math.round(time.ms) : 0,
    requests: requests.map((request) => requestText(request).join('\n')),
  };
  return `${JSON.stringify(plan, null, 2)}\n`;
}

function rangeJson({ least, expected, most }: Range) {
  return { least, expected, most: most === Number.POSITIVE_INFINITY ? null : most };
}
