import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Book } from '../../io/ledger/book.ts';
import type { Price, RunLedger } from '../../io/ledger/run-ledger.ts';
import { envOf } from '../env.ts';

/** Whose credits are counted. */
export interface RunLedgerOptions {
  /** The run's UUID. */
  readonly run: string;
  readonly env: string | undefined;
  /** How many credits the run may spend; absent for any number. */
  readonly most?: number | undefined;
  /** Whether what is spent is nobody's, as in a demonstration. */
  readonly isFree?: boolean | undefined;
  /** What an earlier part of the run has spent, as its journal says. */
  readonly before?: number;
  warn(message: string): void;
}

/** What each node of a flow costs. */
export function pricesOf(plan: Plan, env: string | undefined): Map<string, Price> {
  return new Map(
    allSteps(plan.steps).flatMap(({ id, node }) => {
      if (!node.action) return [];
      const { credits, connection = '' } = node.action.price;
      return [[id, { credits, account: { flow: plan.name, node: id, connection, env: envOf(env) } }] as const];
    }),
  );
}

/** Opens the ledger of a run. Where nothing can be kept, the run goes on uncounted, and that is told. */
export async function openRunLedger(prices: ReadonlyMap<string, Price>, options: RunLedgerOptions): Promise<RunLedger> {
  const { run, most, before = 0 } = options;
  const { RunLedger } = await import('../../io/ledger/run-ledger.ts');
  const home = (await import('../../io/files/home.ts')).homeFolder(process.env);
  const book = prices.size === 0 || options.isFree ? undefined : await bookIn(home, options);
  if (book) (await import('../../io/ledger/holds.ts')).settleEarlier(book, home, run, before);
  return new RunLedger({ run, home, prices, max: most, before, wallNow: Date.now }, book);
}

/** The book of a home. */
export function bookPath(home: string): string {
  return join(home, 'credits.db');
}

async function bookIn(home: string, { warn }: RunLedgerOptions): Promise<Book | undefined> {
  const path = bookPath(home);
  try {
    return (await import('../../io/ledger/book.ts')).openBook(path);
  } catch (error) {
    // Where there is a book there may be an allowance.
    if (!(error instanceof AutomateError) || existsSync(path)) throw error;
    warn(`credits are not counted: ${error.message} (AUTOMATE_HOME moves it)`);
    return undefined;
  }
}
