import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settleDead, settleEarlier } from '../../src/credits/holds.ts';
import { bookIn, emptyHome, killRuns, ledgerIn, november, spend, spentIn } from '../helpers/ledger.ts';

const wallNow = () => november;
const logs = (home: string) => readdirSync(join(home, 'runs'));

describe('a run that was killed', () => {
  test('is charged for every call that might have been sent', () => {
    const home = emptyHome();
    const ledger = ledgerIn(home);
    spend(ledger, 'a', 300);
    expect(ledger.hold('b')).toBeUndefined();
    ledger.flush();
    const book = killRuns(home);
    expect(settleDead(book, { home, wallNow })).toBe(true);
    expect([spentIn(home), book.holds(), logs(home)]).toEqual([{ '2026-11 a': 300, '2026-11 b': 1 }, [], []]);
    expect(settleDead(book, { home, wallNow })).toBe(false);
  });

  test('is not charged for credits that it had reserved but not used', () => {
    const home = emptyHome();
    const ledger = ledgerIn(home);
    spend(ledger, 'a', 3);
    expect(ledger.hold('b')).toBeUndefined();
    settleDead(killRuns(home), { home, wallNow });
    expect(spentIn(home)).toEqual({ '2026-11 a': 3 });
  });

  test('is charged for all credits that it had reserved if its log is gone', () => {
    const home = emptyHome();
    spend(ledgerIn(home), 'a', 300);
    const book = killRuns(home);
    rmSync(join(home, 'runs/r.credits'));
    settleDead(book, { home, wallNow });
    expect(spentIn(home)).toEqual({ '2026-11 a': 512 });
  });

  test('loses its reservation when a different run needs the credits', () => {
    const home = emptyHome();
    const book = bookIn(home);
    book.setLimit(10);
    spend(ledgerIn(home, { run: 'dead' }), 'a', 4);
    killRuns(home).close();
    const ledger = ledgerIn(home, { run: 'alive' }, book);
    spend(ledger, 'b', 6);
    expect(ledger.hold('b')?.message).toMatch(/used up/);
    ledger.close();
    expect(spentIn(home)).toEqual({ '2026-11 a': 4, '2026-11 b': 6 });
  });
});

describe('a run in progress', () => {
  test('keeps its reserved credits', () => {
    const home = emptyHome();
    spend(ledgerIn(home), 'a', 3);
    const book = bookIn(home);
    expect(settleDead(book, { home, wallNow })).toBe(false);
    expect(book.holds()).toMatchObject([{ run: 'r', credits: 256 }]);
  });

  test('is treated as dead after a day without a sign of life if it is on a different machine', () => {
    const home = emptyHome();
    spend(ledgerIn(home, { wallNow: Date.now }), 'a', 3);
    const book = killRuns(home, '{"pid":1,"born":"1","where":"elsewhere"}');
    expect(settleDead(book, { home, wallNow: () => Date.now() + 86_000_000 })).toBe(false);
    expect(settleDead(book, { home, wallNow: () => Date.now() + 87_000_000 })).toBe(true);
  });

  test('is charged twice rather than not at all if a different process mistook it for dead', () => {
    const home = emptyHome();
    const ledger = ledgerIn(home);
    spend(ledger, 'a', 10);
    settleDead(killRuns(home), { home, wallNow });
    spend(ledger, 'a', 5);
    ledger.close();
    expect(spentIn(home)['2026-11 a']).toBeGreaterThanOrEqual(15);
  });

  test('keeps its reservation and log if it spent more while a different process mistook it for dead', () => {
    const home = emptyHome();
    const ledger = ledgerIn(home);
    spend(ledger, 'a', 10);
    const book = killRuns(home);
    const before = book.holds();
    spend(ledger, 'a', 290);
    expect(settleDead({ ...book, holds: () => before }, { home, wallNow })).toBe(false);
    expect([book.holds().length, logs(home)]).toEqual([1, ['r.credits']]);
    ledger.close();
    expect(spentIn(home)).toEqual({ '2026-11 a': 300 });
  });
});

describe('a resumed run', () => {
  test('is charged for all reserved credits of its earlier part if the log of that part is gone', () => {
    const home = emptyHome();
    spend(ledgerIn(home), 'a', 300);
    rmSync(join(home, 'runs/r.credits'));
    settleEarlier(killRuns(home), home, 'r', 290);
    expect(spentIn(home)).toEqual({ '2026-11 a': 512 });
    spend(ledgerIn(home, { before: 290 }), 'a', 10);
    settleEarlier(killRuns(home), home, 'r', 300);
    expect(spentIn(home)).toEqual({ '2026-11 a': 522 });
  });

  test('is charged at least as much as its journal says if the end of its log is lost', () => {
    const home = emptyHome();
    spend(ledgerIn(home), 'a', 10);
    truncateSync(join(home, 'runs/r.credits'), 45);
    settleEarlier(killRuns(home), home, 'r', 10);
    expect(spentIn(home)).toEqual({ '2026-11 a': 10 });
  });
});
