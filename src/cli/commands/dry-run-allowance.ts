import { AutomateError } from '../../core/failure.ts';
import { statOf } from '../../io/stat.ts';
import { bookPath } from '../run-ledger.ts';
import type { Allowance } from '../show/plan.ts';

/** What is left of this month's allowance; absent without one. A ledger that cannot be read is told, and no reason to end. */
export async function allowanceNow(warn: (message: string) => void): Promise<Allowance | undefined> {
  const path = bookPath((await import('../../io/home.ts')).homeFolder(process.env));
  // Opening a book makes one.
  if (!statOf(path)?.size) return undefined;
  try {
    return await allowanceIn(path);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    warn(`what is left of the allowance is not known: ${error.message}`);
    return undefined;
  }
}

async function allowanceIn(path: string): Promise<Allowance | undefined> {
  const { openBook } = await import('../../io/ledger/book.ts');
  const { usageOf } = await import('../../io/ledger/run-ledger.ts');
  const { name: month } = (await import('../../io/ledger/month.ts')).monthOf(Date.now());
  const book = openBook(path);
  try {
    const usage = usageOf(book, month);
    const held = book.holds().reduce((sum, hold) => (hold.month === month ? sum + hold.credits : sum), 0);
    return usage && { ...usage, held };
  } finally {
    book.close();
  }
}
