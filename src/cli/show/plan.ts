import { cleaned } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import type { Forecast } from '../../engine/forecast/forecast.ts';
import type { Range } from '../../engine/forecast/range.ts';
import type { Duration } from '../../engine/forecast/time.ts';
import type { Usage } from '../../io/ledger/run-ledger.ts';
import { count, creditsText, creditText } from './number.ts';
import { requestText } from './request.ts';

/** A month's allowance, and what runs under way have taken of it and not yet spent. */
export type Allowance = Usage & { readonly held: number };

/** What a plan tells besides the forecast. */
export interface PlanFacts {
  readonly flow: string;
  readonly input: string;
  /** Absent without one. */
  readonly allowance: Allowance | undefined;
  /** What --max-credits says; absent without it. */
  readonly maxCredits: number | undefined;
}

/** The plan that a person reads. */
export function planText(forecast: Forecast, { allowance, maxCredits }: PlanFacts): string {
  const { actions, credits, time, requests } = forecast;
  const lines: [string, string | undefined][] = [
    ['records', recordsText(forecast)],
    ['stops', stopText(forecast)],
    ['actions', rangeText(actions, count)],
    ['credits', rangeText(credits, creditText) + costNote(forecast)],
    ['expected', isOne(actions) && isOne(credits) ? undefined : assumed(forecast)],
    ['allowance', allowance && actions.most > 0 ? allowanceText(allowance, forecast) : undefined],
    ['budget', maxCredits !== undefined && actions.most > 0 ? budgetText(maxCredits, forecast) : undefined],
    ['time', time && timeText(time)],
    ['requests', requests.length === 0 ? 'none would be sent' : firstText(forecast)],
  ];
  return [
    ...lines.flatMap(([name, text]) => (text === undefined ? [] : [`${`${name}:`.padEnd(11)}${text}`])),
    ...requests.flatMap((request, index) => [...(index === 0 ? [] : ['']), ...requestText(request).map((line) => `  ${cleaned(line)}`)]),
  ].join('\n');
}

function assumed({ hasPasses, hasPages, hasBatches }: Forecast): string {
  return [
    'every answer a success that leads to one record',
    'every condition behind the first request true',
    ...(hasPasses ? ['one pass of each loop and poll'] : []),
    ...(hasPages ? ['one page for each record'] : []),
    ...(hasBatches ? ['full batches'] : []),
    'nothing from the cache',
  ].join(', ');
}

function recordsText({ records, failing, firstFailure, kept }: Forecast): string {
  const notes = [
    ...(firstFailure
      ? [`${count(failing)} would fail before anything is sent; the first: record ${firstFailure.record}: ${cleaned(firstFailure.message)}`]
      : []),
    ...(kept > 0 ? [`${count(kept)} would be kept with _error before anything is sent`] : []),
  ];
  return count(records) + (notes.length > 0 ? ` (${notes.join('; ')})` : '');
}

function firstText({ requests, hasBatches }: Forecast): string {
  return `the first ${requests.length === 1 ? 'one' : requests.length}${hasBatches ? ' (of a batch, as it would be for one record)' : ''}`;
}

const stopReasons = { 'on-error-stop': 'on_error: stop', 'max-errors': '--max-errors' };

function stopText({ stopsAt }: Forecast): string | undefined {
  return (
    stopsAt && `at record ${count(stopsAt.record)}, which would fail (${stopReasons[stopsAt.why]}); the figures are those of all records`
  );
}

function isOne({ least, expected, most }: Range): boolean {
  return least === expected && expected === most;
}

function rangeText(range: Range, text: (number: number) => string): string {
  const { least, expected, most } = range;
  if (isOne(range)) return text(least);
  return `${text(least)} at least, ${text(expected)} expected, ${most === Number.POSITIVE_INFINITY ? 'any number' : text(most)} at most`;
}

function costNote({ costTold }: Forecast): string {
  return costTold.length === 0 ? '' : ` (by price; the answers of ${costTold.join(', ')} say what they really cost)`;
}

function allowanceText({ month, limit, spent, held }: Allowance, forecast: Forecast): string {
  const left = Math.max(0, limit - spent - held);
  const text = `${creditText(left)} of ${creditsText(limit)} ${left === 1 ? 'is' : 'are'} left in ${month}`;
  const others = held > 0 ? ` (runs under way may spend ${creditText(held)} more)` : '';
  const { expected } = forecast.credits;
  if (expected > left) return `${text}${others}: ${shortText(left, forecast)}`;
  return `${text}${others}; ${creditText(left - expected)} afterwards${mostNote(left, forecast)}`;
}

function budgetText(most: number, forecast: Forecast): string {
  const named = `--max-credits ${creditText(most)}`;
  if (forecast.credits.expected > most) return `${named}: ${shortText(most, forecast)}`;
  return `${named} is enough${mostNote(most, forecast)}`;
}

function shortText(left: number, forecast: Forecast): string {
  return `not enough: the run stops after about ${count(recordsFor(left, forecast))} records`;
}

function recordsFor(left: number, { records, credits }: Forecast): number {
  return Math.floor((records * left) / credits.expected);
}

function mostNote(left: number, { credits }: Forecast): string {
  return credits.most > left ? ', if no more than expected is needed' : '';
}

function timeText(time: Duration): string {
  const about = `about ${durationText(time.ms)}`;
  if (time.by === 'rate') return `${about} at ${rateText(time.intervalMs)} to ${cleaned(time.origin)}`;
  return `${about} at ${count(time.atOnce)} at once and ${time.latencyMs} ms a request`;
}

/** As a flow writes it. */
function rateText(intervalMs: number): string {
  const unitMs = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };
  const [unit, ms] = Object.entries(unitMs).find(([, unitMs]) => intervalMs <= unitMs) ?? ['d', unitMs.d];
  return `${(ms / intervalMs).toLocaleString('en-US', { maximumFractionDigits: 2 })}/${unit}`;
}

/** The plan that a program reads. `most` is null where there is no telling. */
export function planJson(forecast: Forecast, { flow, input, allowance, maxCredits }: PlanFacts): string {
  const { records, failing, kept, firstFailure, stopsAt, time, requests } = forecast;
  const left = allowance && Math.max(0, allowance.limit - allowance.spent - allowance.held);
  return `${JSON.stringify(
    {
      flow,
      input,
      dry_run: true,
      records,
      failing,
      kept,
      first_failure: firstFailure ?? null,
      stops_at: stopsAt ?? null,
      actions: rangeJson(forecast.actions),
      credits: rangeJson(forecast.credits),
      ...(allowance && { allowance: { ...allowance, left, afterwards: (left as number) - forecast.credits.expected } }),
      ...(maxCredits === undefined ? {} : { max_credits: maxCredits }),
      ms: time ? Math.round(time.ms) : 0,
      requests: requests.map((request) => requestText(request).join('\n')),
    },
    null,
    2,
  )}\n`;
}

function rangeJson({ least, expected, most }: Range) {
  return { least, expected, most: most === Number.POSITIVE_INFINITY ? null : most };
}
