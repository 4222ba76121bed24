import type { Item } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import { createForecaster, type Forecast, type Forecaster } from '../../engine/forecast/forecast.ts';
import type { Position, Source } from '../../io/records/readers/source.ts';
import { exitCodes } from '../exit.ts';
import { openInput } from '../input-options.ts';
import type { RunOptions } from '../run/run-options.ts';
import { writeSummary } from '../run/summary-file.ts';
import { type PlanFacts, planJson, planText } from '../show/plan.ts';
import type { Terminal } from '../terminal.ts';
import { allowanceNow } from './dry-run-allowance.ts';
import { type CountableFile, countableFile, countOn } from './dry-run-count.ts';

/** A run that sends nothing. */
export interface DryRun {
  readonly plan: Plan;
  readonly options: RunOptions;
  readonly source: Source;
  /** The records that the command line asks for. */
  chosen(source: Source): AsyncIterable<readonly Item[]>;
}

/** So many requests are shown. */
const shown = 3;

/** Sends nothing and spends nothing: prints what the run would do. Answers the exit code. */
export async function dryRun(run: DryRun, flow: string, terminal: Terminal): Promise<number> {
  const { plan, options } = run;
  const forecast = await forecastOf(run);
  const warn = (message: string) => options.quiet || terminal.tell(`${terminal.colors.yellow('warning:')} ${message}`);
  const facts: PlanFacts = {
    flow,
    input: options.in === '-' ? 'stdin' : options.in,
    allowance: allSteps(plan.steps).some(({ node }) => node.action) ? await allowanceNow(warn) : undefined,
    maxCredits: options.maxCredits,
  };
  if (options.summary !== '-') await terminal.print(planText(forecast, facts));
  if (options.summary !== undefined) await writeSummary(options.summary, planJson(forecast, facts), terminal);
  return exitCodes.success;
}

async function forecastOf(run: DryRun): Promise<Forecast> {
  const { plan, options, source } = run;
  const forecaster = createForecaster(plan, { shown, maxErrors: options.maxErrors });
  const counting = await readOn(run, source, forecaster, true);
  const rest =
    counting &&
    (await countOn(counting.file, counting.from, (options.skip ?? 0) + (options.limit ?? Number.POSITIVE_INFINITY), forecaster));
  if (rest) await readRest(run, rest, forecaster);
  return forecaster.forecast();
}

/** Below this the real reader is as quick. */
const worthCountingBytes = 1024 * 1024;

/** Where counting can go on. */
interface Counting {
  readonly file: CountableFile;
  readonly from: Position;
}

/** Adds the records of a source one by one; with `mayCount` only until the rest can be counted. */
async function readOn(run: DryRun, source: Source, forecaster: Forecaster, mayCount: boolean): Promise<Counting | undefined> {
  let isAsked = !mayCount;
  for await (const items of run.chosen(source)) {
    for (const item of items) await forecaster.add(item);
    const fields = isAsked ? undefined : forecaster.plainFields();
    if (!fields) continue;
    isAsked = true;
    const { end, number } = items.at(-1) as Item;
    if ((source.totalBytes ?? 0) - end.offset < worthCountingBytes) continue;
    const file = await countableFile(run.options, source, fields);
    if (file) return { file, from: { ...end, records: number } };
  }
  return undefined;
}

async function readRest(run: DryRun, from: Position, forecaster: Forecaster): Promise<void> {
  const source = await openInput(run.options, from);
  try {
    await readOn(run, source, forecaster, false);
  } finally {
    await source.close();
  }
}
