import { AutomateError } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { bookPath } from '../credits/prices.ts';
import { statOf } from '../files/stat.ts';
import { createLateLookups } from '../places/late-lookups.ts';
import { Forecaster } from '../preview/forecast/forecast.ts';
import { inputLabel } from '../records/inputs.ts';
import { writeSummary } from '../report/report-file.ts';
import { exitCodes } from '../run/exit-codes.ts';
import type { GivenRun } from './run/run-options.ts';
import { type Allowance, type PlanFacts, planJson, planText } from './show/plan.ts';
import type { Terminal } from './terminal.ts';

/** A run with --dry-run, which shows what the run would do. */
interface DryRun {
  /** The path of the flow file. */
  readonly flow: string;
  readonly plan: Plan;
  readonly options: GivenRun;
  /** The records that the run would process. */
  readonly records: AsyncIterable<readonly Item[]>;
}

/** Maximum number of requests that are printed. */
const maxRequests = 3;

/** Prints what a run would do, without sending or spending anything. Returns the exit code. */
export async function dryRun({ flow, plan, options, records }: DryRun, terminal: Terminal): Promise<number> {
  const forecaster = new Forecaster(plan, { maxRequests, maxErrors: options.maxErrors, lookups: createLateLookups() });
  let unchanged = 0;
  for await (const items of records) {
    for (const item of items) {
      if (item.unchanged) unchanged++;
      else await forecaster.add(item);
    }
  }
  const forecast = forecaster.forecast();
  const warn = (message: string) => options.quiet || terminal.warn(message);
  const facts: PlanFacts = {
    flow,
    input: inputLabel(options),
    allowance: allSteps(plan.steps).some(({ node }) => node.action) ? await currentAllowance(warn) : undefined,
    maxCredits: options.maxCredits,
    ...(options.update && { unchanged }),
    serialBy: plan.serialOrder?.label,
  };
  if (options.summary !== '-') await terminal.print(planText(forecast, facts));
  if (options.summary !== undefined) await writeSummary(options.summary, planJson(forecast, facts), terminal.redactor);
  return exitCodes.success;
}

/** Returns this month's allowance of credits; undefined if none is set. If the ledger cannot be read, warns and returns undefined. */
async function currentAllowance(warn: (message: string) => void): Promise<Allowance | undefined> {
  const home = (await import('../files/home.ts')).homeFolder(process.env);
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
  const { monthOf, openBook } = await import('../credits/book.ts');
  const { usageWithHolds } = await import('../credits/holds.ts');
  const book = openBook(path);
  try {
    return usageWithHolds(book, monthOf(Date.now()).name, { home, wallNow: Date.now });
  } finally {
    book.close();
  }
}
