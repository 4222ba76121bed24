import { existsSync } from 'node:fs';
import { AutomateError } from '../core/failure.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { envOf } from '../files/home.ts';
import type { Book } from './book.ts';
import type { PayingKey } from './rest.ts';
import type { Price, RunLedger } from './run-ledger.ts';

interface RunLedgerOptions {
  readonly run: string;
  readonly env: string | undefined;
  readonly maxCredits?: number;
  /** True if the run's credits are not counted, as in the demo. */
  readonly isFree?: boolean;
  /** Credits that the run had spent before it was resumed, according to its journal. */
  readonly before?: number;
  /** The API key that pays for the run; undefined for a command. */
  readonly key?: PayingKey;
  warn(message: string): void;
}

export function pricesOf(plan: Plan, env: string | undefined): Map<string, Price> {
  return new Map(
    allSteps(plan.steps).flatMap(({ id, node }) => {
      if (!node.action) return [];
      const { credits, connection = '' } = node.action.price;
      return [[id, { credits, account: { flow: plan.name, node: id, connection, env: envOf(env) } }] as const];
    }),
  );
}

/** True if the flow or one of its connections states a price. */
export function statesPrice(plan: Plan): boolean {
  return allSteps(plan.steps).some(({ node: { action } }) => action && (action.price.isStated || action.cost));
}

/** If the credit book cannot be opened, throws if it might contain a limit; otherwise warns and counts nothing. */
export async function openRunLedger(prices: ReadonlyMap<string, Price>, options: RunLedgerOptions): Promise<RunLedger> {
  const { run, maxCredits, key, before = 0 } = options;
  const { RunLedger } = await import('./run-ledger.ts');
  const home = (await import('../files/home.ts')).homeIfAny(process.env);
  const isCounted = prices.size > 0 && !options.isFree;
  if (home === undefined && isCounted)
    options.warn('credits are not counted: the user of this process has no home folder\nto count them, set AUTOMATE_HOME to a folder');
  // Without a home folder there is no book, and so no limit on credits either.
  const book = home === undefined || !isCounted ? undefined : await bookIn(home, options);
  if (book && home !== undefined) (await import('./holds.ts')).settleEarlier(book, home, run, before);
  return new RunLedger({ run, home: home ?? '', prices, max: maxCredits, before, key, wallNow: Date.now }, book);
}

async function bookIn(home: string, { warn }: RunLedgerOptions): Promise<Book | undefined> {
  const { bookPath, isLimited, openBook } = await import('./book.ts');
  const path = bookPath(home);
  const { isLibraryMissing } = await import('../files/database.ts');
  try {
    return openBook(path);
  } catch (error) {
    // An existing database can contain a limit on credits, which must not be ignored.
    const mayBeLimited = isLibraryMissing(error) ? isLimited(path) : existsSync(path);
    if (!(error instanceof AutomateError) || mayBeLimited) throw error;
    warn(`credits are not counted: ${error.message} (to use a different folder, set AUTOMATE_HOME)`);
    return undefined;
  }
}
