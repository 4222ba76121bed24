import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Book } from '../../io/ledger/book.ts';
import type { PayingKey } from '../../io/ledger/rest.ts';
import type { Price, RunLedger } from '../../io/ledger/run-ledger.ts';
import { envOf } from '../env.ts';

/** The run whose credits are counted. */
export interface RunLedgerOptions {
  /** The run's UUID. */
  readonly run: string;
  readonly env: string | undefined;
  /** Maximum of the credits that the run may spend; absent for no maximum. */
  readonly maxCredits?: number | undefined;
  /** True if its credits are not counted, as in the demo. */
  readonly isFree?: boolean | undefined;
  /** Credits that the run spent before it was resumed, by its journal. */
  readonly before?: number;
  /** The API key that pays; absent for a command. */
  readonly key?: PayingKey | undefined;
  warn(message: string): void;
}

/** The price of each node of a flow. */
export function pricesOf(plan: Plan, env: string | undefined): Map<string, Price> {
  return new Map(
    allSteps(plan.steps).flatMap(({ id, node }) => {
      if (!node.action) return [];
      const { credits, connection = '' } = node.action.price;
      return [[id, { credits, account: { flow: plan.name, node: id, connection, env: envOf(env) } }] as const];
    }),
  );
}

/** True if the flow or one of its connections says what an action costs. */
export function statesPrice(plan: Plan): boolean {
  return allSteps(plan.steps).some(({ node: { action } }) => action && (action.price.isStated || action.cost));
}

/** Opens the ledger of a run. If the credits of this machine cannot be opened, warns and runs without counting. */
export async function openRunLedger(prices: ReadonlyMap<string, Price>, options: RunLedgerOptions): Promise<RunLedger> {
  const { run, maxCredits, key, before = 0 } = options;
  const { RunLedger } = await import('../../io/ledger/run-ledger.ts');
  const home = (await import('../../io/files/home.ts')).homeFolder(process.env);
  const book = prices.size === 0 || options.isFree ? undefined : await bookIn(home, options);
  if (book) (await import('../../io/ledger/holds.ts')).settleEarlier(book, home, run, before);
  return new RunLedger({ run, home, prices, max: maxCredits, before, key, wallNow: Date.now }, book);
}

/** The database of the credits in a home folder. */
export function bookPath(home: string): string {
  return join(home, 'credits.db');
}

async function bookIn(home: string, { warn }: RunLedgerOptions): Promise<Book | undefined> {
  const path = bookPath(home);
  const { isLimited, openBook } = await import('../../io/ledger/book.ts');
  const { isLibraryMissing } = await import('../../io/files/database.ts');
  try {
    return openBook(path);
  } catch (error) {
    // An existing book may hold an allowance, which must not be ignored.
    const mayBeLimited = isLibraryMissing(error) ? isLimited(path) : existsSync(path);
    if (!(error instanceof AutomateError) || mayBeLimited) throw error;
    warn(`credits are not counted: ${error.message} (AUTOMATE_HOME moves it)`);
    return undefined;
  }
}
