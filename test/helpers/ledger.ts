import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type Book, openBook } from '../../src/credits/book.ts';
import type { Price } from '../../src/credits/run-ledger.ts';
import { RunLedger, type RunPrices } from '../../src/credits/run-ledger.ts';

/** A time in the last minute of a month, and the start of the next month. */
export const november = Date.UTC(2026, 10, 30, 23, 59);
export const december = Date.UTC(2026, 11, 1);

/** Creates an empty home folder that is deleted after the test. */
export function emptyHome(): string {
  const folder = mkdtempSync(join(tmpdir(), 'automate-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens the ledger book in a home folder. */
export function bookIn(home: string): Book {
  return openBook(join(home, 'credits.db'));
}

/** Returns prices, keyed by node id. */
export function pricesOf(credits: Readonly<Record<string, number>>): Map<string, Price> {
  const account = { flow: 'f', connection: '', env: 'default' };
  return new Map(Object.entries(credits).map(([node, price]) => [node, { credits: price, account: { ...account, node } }]));
}

/** Creates a ledger for the nodes `a` and `b` in November, which reserves 256 credits at a time. */
export function ledgerIn(home: string, more: Partial<RunPrices> = {}, book: Book | undefined = bookIn(home)): RunLedger {
  const prices = pricesOf({ a: 1, b: 1 });
  return new RunLedger({ run: 'r', home, prices, max: undefined, before: 0, block: 256, wallNow: () => november, ...more }, book);
}

/** Reserves and spends credits for actions of a node. */
export function spend(ledger: RunLedger, node: string, times: number): void {
  for (let i = 0; i < times; i++) {
    expect(ledger.hold(node)).toBeUndefined();
    ledger.flush();
    ledger.settle(node);
  }
}

/** Returns the credits spent, from the book of a home, such as `{ '2026-11 a': 3 }`. */
export function spentIn(home: string): Record<string, number> {
  const book = bookIn(home);
  const entries = book.spent().map(({ month, node, credits }) => [`${month} ${node}`, credits]);
  book.close();
  return Object.fromEntries(entries);
}

/** Reassigns all reserved credits to a process that no longer exists. Returns the book. */
export function killRuns(home: string, owner = '{"pid":999999999,"born":""}'): Book {
  const book = bookIn(home);
  for (const hold of book.holds()) {
    const nothing = hold.accounts.map(() => 0);
    book.renew({ ...hold, owner }, nothing, { credits: hold.credits, min: hold.credits });
  }
  return book;
}
