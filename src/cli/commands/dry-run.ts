import { Failure } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { NodeContext, Step } from '../../core/node.ts';
import type { Plan } from '../../core/plan.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { cleaned } from '../../core/response.ts';
import { exitCodes } from '../exit.ts';
import { count, counted } from '../show/number.ts';
import { requestText } from '../show/request.ts';
import type { Terminal } from '../terminal.ts';

/** What a dry run has found so far. */
interface Forecast {
  records: number;
  least: number;
  most: number;
  failing: number;
  firstFailure: string | undefined;
  firstRequest: HttpRequest | undefined;
}

/** Sends nothing: prints how many records, the least and most actions, and the first request. Answers the exit code. */
export async function dryRun(plan: Plan, batches: AsyncIterable<readonly Item[]>, terminal: Terminal): Promise<number> {
  const forecast: Forecast = { records: 0, least: 0, most: 0, failing: 0, firstFailure: undefined, firstRequest: undefined };
  for await (const items of batches) {
    for (const item of items) await addRecord(plan, item, forecast);
  }
  await terminal.print(forecastText(forecast));
  return exitCodes.success;
}

async function addRecord(plan: Plan, item: Item, forecast: Forecast): Promise<void> {
  forecast.records++;
  try {
    if (item.failure) throw item.failure;
    const reached = await upToFirstAction(plan, item.fields);
    if (!reached) return;
    const request = reached.step.node.action?.request(reached.fields);
    forecast.firstRequest ??= request;
    forecast.least++;
    forecast.most += mostActions(plan.steps.slice(plan.steps.indexOf(reached.step)));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    forecast.failing++;
    forecast.firstFailure ??= `record ${item.number}: ${cleaned(error.message)}`;
  }
}

const noContext = {} as NodeContext;

/** The first node that will act on a record; nodes before it need no answers, so they are run for real. */
async function upToFirstAction(plan: Plan, fields: Fields): Promise<{ step: Step; fields: Fields } | undefined> {
  let current = fields;
  for (const step of plan.steps) {
    if (step.when && !step.when.evaluate(current)) continue;
    if (step.node.action) return { step, fields: current };
    current = (await step.node.run(current, noContext))[0] ?? current;
  }
  return undefined;
}

/** One for each node that acts; without limit behind a node that turns one record into several. */
function mostActions(steps: readonly Step[]): number {
  let most = 0;
  let records = 1;
  for (const { node } of steps) {
    if (!node.action) continue;
    most += records;
    if (node.action.expands) records = Number.POSITIVE_INFINITY;
  }
  return most;
}

function forecastText({ records, least, most, failing, firstFailure, firstRequest }: Forecast): string {
  const range = least === most ? count(least) : `${count(least)} to ${most === Number.POSITIVE_INFINITY ? 'any number of' : count(most)}`;
  return [
    `records: ${count(records)}`,
    `actions: ${range}`,
    `credits: ${range}`,
    ...(failing > 0 ? [`${counted(failing, 'record')} would fail before anything is sent; the first: ${firstFailure}`] : []),
    '',
    ...(firstRequest ? ['first request:', ...requestText(firstRequest).map((line) => `  ${cleaned(line)}`)] : ['no request would be sent']),
  ].join('\n');
}
