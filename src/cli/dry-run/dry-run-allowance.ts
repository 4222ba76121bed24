import { AutomateError } from '../../core/failure.ts';
import { statOf } from '../../io/files/stat.ts';
import { bookPath } from '../run/run-ledger.ts';
import type { Allowance } from '../show/plan.ts';

/** What is left of this month's allowance; absent without one. A ledger that cannot be read is told, and no reason to end. */
export async function allowanceNow(warn: (message: string) => void): Promise<Allowance | undefined> {
  const home = (await import('../../io/files/home.ts')).homeFolder(process.env);
  const path = bookPath(home);
  // Opening a book makes one.
  if (!statOf(path)?.size) return undefined;
  try {
    return await allowanceIn(home, path);
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    warn(`what is left of the allowance is not known: ${error.message}`);
    return undefined;
  }
}

async function allowanceIn(home: string, path: string): Promise<Allowance | undefined> {
  const { openBook } = await import('../../io/ledger/book.ts');
  const { usageToBe } = await import('../../io/ledger/run-ledger.ts');
  const { name: month } = (await import('../../io/ledger/month.ts')).monthOf(Date.now());
  const book = openBook(path);
  try {
    return usageToBe(book, month, { home, wallNow: Date.now });
  } finally {
    book.close();
  }
}
