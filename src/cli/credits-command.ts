import { existsSync } from 'node:fs';
import { usageError } from '../core/failure.ts';
import { rounded, sumOfCredits } from '../core/spending.ts';
import { creditsText } from '../core/text/number.ts';
import type { Value } from '../core/value/value.ts';
import { type Book, bookPath, monthOf, requireLibrary } from '../credits/book.ts';
import { heldCredits, withBook } from '../credits/holds.ts';
import { keySums, sums } from '../credits/rest.ts';
import { homeFolder } from '../files/home.ts';
import { createCsvWriter } from '../records/csv-writer.ts';
import { noteInAudit } from './keys/stored-keys.ts';
import { historyText, usageText } from './show/credits.ts';
import { indentedJson, type Terminal } from './terminal.ts';

interface JsonOption {
  readonly json?: boolean;
}

export async function creditsCommand({ json }: JsonOption, terminal: Terminal): Promise<undefined> {
  const month = monthOf(Date.now()).name;
  const { limit, spent, held } = readBook((book) => ({
    limit: book.limit(),
    spent: book.spent(month),
    held: heldCredits(book, month),
  })) ?? { limit: undefined, spent: [], held: 0 };
  const used = sumOfCredits(spent);
  const usage = { month, spent: used, held, limit };
  const keys = spent.some(({ key }) => key !== '') ? keySums(spent, await keyNames()) : [];
  if (!json) await terminal.print(usageText(usage, spent, keys));
  else {
    const remaining = limit === undefined ? null : Math.max(0, rounded(limit - used - held));
    const by = {
      flows: sums(spent, 'flow'),
      nodes: sums(spent, 'node'),
      connections: sums(spent, 'connection'),
      environments: sums(spent, 'env'),
      ...(keys.length > 0 && { keys }),
    };
    await terminal.print(indentedJson({ month, spent: used, held, limit: limit ?? null, remaining, ...by }));
  }
}

export async function limitCommand(written: string, terminal: Terminal): Promise<undefined> {
  const limit = limitOf(written);
  withBook({ home: homeFolder(process.env), wallNow: Date.now }, (book) => book.setLimit(limit));
  noteInAudit('allowance.set', limit === undefined ? 'unlimited' : String(limit), terminal);
  terminal.say(limit === undefined ? 'the monthly allowance is unlimited' : `the monthly allowance is ${creditsText(limit)}`);
}

function limitOf(written: string): number | undefined {
  if (written === 'unlimited') return undefined;
  const plain = /^\d{1,3}(?:[,_]\d{3})+$/.test(written) ? written.replaceAll(/[,_]/g, '') : written;
  if (/^\d{1,15}$/.test(plain)) return Number(plain);
  throw usageError(`expected a whole number of credits, or unlimited, found "${written}"`);
}

export async function historyCommand({ json }: JsonOption, terminal: Terminal): Promise<undefined> {
  const months = sums(readBook((book) => book.spent()) ?? [], 'month').sort((a, b) => (a.month < b.month ? -1 : 1));
  if (json) await terminal.print(indentedJson(months));
  else if (months.length > 0) await terminal.print(historyText(months));
  else terminal.say('no credits were spent yet');
}

/** Keyed by id. Empty if the names cannot be read; the ids are shown instead. */
async function keyNames(): Promise<Map<string, string>> {
  const { readKeyNames } = await import('../serve/store/keys.ts');
  return readKeyNames(homeFolder(process.env));
}

const accountColumns = ['month', 'flow', 'node', 'connection', 'env', 'credits'] as const;

/** One row for each month, flow, node, connection and environment. Includes the ids of API keys if any key has spent credits. */
export async function exportCommand({ json }: JsonOption, terminal: Terminal): Promise<undefined> {
  const all = readBook((book) => book.spent()) ?? [];
  const columns = all.some(({ key }) => key !== '') ? ([...accountColumns, 'key'] as const) : accountColumns;
  const rows = all.map((spent) => columns.map((column) => [column, spent[column]] as const));
  const writer = createCsvWriter(columns, { delimiter: ',', csvSafe: false });
  const csv = () =>
    writer.begin() +
    writer.write(
      rows.map((row) => new Map<string, Value>(row)),
      true,
    );
  await terminal.print(json ? indentedJson(rows.map((row) => Object.fromEntries(row))) : csv().trimEnd());
}

/** Undefined if there is no credit book. Throws if this machine cannot open one: runs might then have spent credits without counting them. */
export function readBook<Result>(read: (book: Book) => Result): Result | undefined {
  const home = homeFolder(process.env);
  if (existsSync(bookPath(home))) return withBook({ home, wallNow: Date.now }, read);
  requireLibrary(bookPath(home));
  return undefined;
}
