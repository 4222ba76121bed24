import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { settleDead } from '../../src/credits/holds.ts';
import { RunLedger } from '../../src/credits/run-ledger.ts';
import { bookIn, december, emptyHome, killRuns, ledgerIn, november, pricesOf, spend, spentIn } from '../helpers/ledger.ts';

describe('the credits of a run without a ledger file', () => {
  function ledgerOf(max: number | undefined, credits = 1) {
    return new RunLedger({ run: 'r', home: '/nowhere', prices: pricesOf({ n: credits }), max, before: 0, wallNow: () => 0 }, undefined);
  }

  test('are unlimited without --max-credits', () => {
    const ledger = ledgerOf(undefined);
    for (let i = 0; i < 1000; i++) expect(ledger.hold('n')).toBeUndefined();
    for (let i = 0; i < 600; i++) ledger.settle('n');
    for (let i = 0; i < 400; i++) ledger.release('n');
    expect(ledger.spent()).toBe(600);
  });

  test('are held while a call is in flight, and become available if the call is released', () => {
    const ledger = ledgerOf(3);
    const usedUp = { message: 'the 3 credits of this run are used up', code: 'max-credits', details: { credits: 3 } };
    expect([1, 2, 3, 4].map(() => ledger.hold('n'))).toEqual([undefined, undefined, undefined, usedUp]);
    ledger.settle('n');
    expect(ledger.hold('n')).toEqual(usedUp);
    ledger.release('n');
    expect(ledger.hold('n')).toBeUndefined();
    expect(ledger.hold('n')).toEqual(usedUp);
    expect(ledger.spent()).toBe(1);
  });

  test('can be spent up to the maximum', () => {
    const ledger = ledgerOf(3);
    expect(ledger.hold('n')).toBeUndefined();
    expect([2, 3].map((count) => ledger.affords([['n', count]]))).toEqual([true, false]);
  });

  test('allow no call that has a price if the maximum is 0', () => {
    expect(ledgerOf(0).hold('n')?.message).toBe('the 0 credits of this run are used up');
    expect(ledgerOf(0, 0).hold('n')).toBeUndefined();
  });

  test('have thousands separators in the message that says they are used up', () => {
    expect(ledgerOf(1500, 1501).hold('n')?.message).toBe('the 1,500 credits of this run are used up');
  });

  test('are corrected from the price to the real cost if the response states it', () => {
    const ledger = ledgerOf(10, 4);
    expect([1, 2, 3].map(() => ledger.hold('n') === undefined)).toEqual([true, true, false]);
    ledger.settle('n', 0.5);
    ledger.settle('n');
    expect(ledger.spent()).toBe(4.5);
    expect(ledger.hold('n')).toBeUndefined();
  });
});

describe('the credits of a run with a ledger file', () => {
  test('are counted for the month in which they were spent, which ends at midnight UTC', () => {
    const home = emptyHome();
    let nowMs = november;
    const ledger = ledgerIn(home, { wallNow: () => nowMs });
    spend(ledger, 'a', 300);
    nowMs = december;
    spend(ledger, 'a', 20);
    ledger.close();
    expect(spentIn(home)).toEqual({ '2026-11 a': 300, '2026-12 a': 20 });
  });

  test('are no longer reserved after the end of the run', () => {
    const home = emptyHome();
    const ledger = ledgerIn(home);
    spend(ledger, 'a', 300);
    ledger.close();
    expect([bookIn(home).holds(), spentIn(home)]).toEqual([[], { '2026-11 a': 300 }]);
  });

  test('count as enough for up to half of the remaining allowance, not only for one block', () => {
    const home = emptyHome();
    const book = bookIn(home);
    book.setLimit(1000);
    const ledger = ledgerIn(home, {}, book);
    const affords = [1, 400, 500, 700, 1001].map((count) => ledger.affords([['a', count]]));
    expect(affords).toEqual([true, true, true, false, false]);
    spend(ledger, 'a', 960);
    expect([20, 41].map((count) => ledger.affords([['a', count]]))).toEqual([true, false]);
    const other = ledgerIn(home, { run: 'other' });
    spend(other, 'b', 2);
    other.close();
    ledger.close();
    expect(spentIn(home)).toEqual({ '2026-11 a': 960, '2026-11 b': 2 });
  });

  test('are limited by a new allowance in a new month', () => {
    const home = emptyHome();
    let nowMs = november;
    const book = bookIn(home);
    book.setLimit(5);
    const ledger = ledgerIn(home, { wallNow: () => nowMs }, book);
    spend(ledger, 'a', 5);
    expect(ledger.hold('a')?.message).toMatch(/^the allowance of 5 credits for 2026-11 is used up/);
    nowMs = december;
    spend(ledger, 'a', 5);
    expect(ledger.hold('a')?.message).toMatch(/for 2026-12 is used up/);
    expect(ledger.close()).toEqual({ month: '2026-12', spent: 5, limit: 5 });
    expect(spentIn(home)).toEqual({ '2026-11 a': 5, '2026-12 a': 5 });
  });

  test('are not counted as spent if released, and are corrected to the cost in the response', () => {
    const home = emptyHome();
    const ledger = ledgerIn(home);
    for (const node of ['a', 'a', 'b']) expect(ledger.hold(node)).toBeUndefined();
    ledger.release('a');
    ledger.settle('a', 2.5);
    ledger.settle('b', 0);
    ledger.close();
    expect([ledger.spent(), spentIn(home)]).toEqual([2.5, { '2026-11 a': 2.5 }]);
  });

  test('are settled separately for several runs of one process', () => {
    const home = emptyHome();
    const ledgers = ['r1', 'r2', 'r3'].map((run) => ledgerIn(home, { run }));
    for (const ledger of ledgers) spend(ledger, 'a', 300);
    ledgers[0]?.close();
    spend(ledgers[1] as RunLedger, 'a', 300);
    for (const ledger of ledgers) ledger.close();
    expect([spentIn(home), bookIn(home).holds()]).toEqual([{ '2026-11 a': 1200 }, []]);
  });

  test('are not lost while the ledger cannot be written', () => {
    const home = emptyHome();
    const book = bookIn(home);
    let isBroken = false;
    const ledger = ledgerIn(
      home,
      {},
      {
        ...book,
        renew(...values) {
          if (isBroken) throw new Error('locked');
          return book.renew(...values);
        },
      },
    );
    spend(ledger, 'a', 256);
    isBroken = true;
    expect(() => ledger.hold('a')).toThrow('locked');
    isBroken = false;
    ledger.close();
    expect([spentIn(home), readdirSync(join(home, 'runs'))]).toEqual([{ '2026-11 a': 256 }, []]);
  });

  test('are left in a log for the next process if the ledger cannot be written at the end', () => {
    const home = emptyHome();
    const settle = () => {
      throw new Error('disk full');
    };
    const ledger = ledgerIn(home, {}, { ...bookIn(home), settle, close: () => {} });
    spend(ledger, 'a', 100);
    ledger.hold('a');
    ledger.settle('a', 2.5);
    expect(() => ledger.close()).toThrow('disk full');
    expect(settleDead(killRuns(home), { home, wallNow: () => november })).toBe(true);
    expect(spentIn(home)).toEqual({ '2026-11 a': 102.5 });
  });

  test.each([
    ['maximum', { max: 7 }, undefined],
    ['allowance', {}, 7],
  ])('are enough for exactly ten calls of 0.7 credits if the %s is 7', (_, more, limit) => {
    const home = emptyHome();
    const book = bookIn(home);
    book.setLimit(limit);
    const ledger = ledgerIn(home, { ...more, prices: pricesOf({ a: 0.7 }) }, book);
    spend(ledger, 'a', 10);
    expect(ledger.hold('a')?.message).toMatch(/used up/);
  });

  test.each<[string, number | undefined, number | undefined, RegExp]>([
    ['the maximum of the run', 6, undefined, /^the 6 credits of this run are used up/],
    ['the allowance', undefined, 6, /^the allowance of 6 credits for 2026-11 is used up/],
  ])(
    'can be too few for an expensive node but enough for a cheaper node, even at the end of a block (limit: %s)',
    (_, max, limit, usedUp) => {
      const home = emptyHome();
      const book = bookIn(home);
      book.setLimit(limit);
      const ledger = ledgerIn(home, { prices: pricesOf({ a: 1, b: 5 }), max, block: 2 }, book);
      spend(ledger, 'a', 2);
      expect([ledger.hold('b')?.message, ledger.usedUp()]).toEqual([expect.stringMatching(usedUp), undefined]);
      spend(ledger, 'a', 4);
      expect([ledger.hold('a')?.message, ledger.usedUp()?.message]).toEqual([expect.stringMatching(usedUp), expect.stringMatching(usedUp)]);
    },
  );

  test('are limited by an allowance that is set during the run, from the next block on', () => {
    const home = emptyHome();
    const ledger = ledgerIn(home);
    spend(ledger, 'a', 10);
    bookIn(home).setLimit(100);
    spend(ledger, 'a', 246);
    expect(ledger.hold('a')?.message).toMatch(/^the allowance of 100 credits/);
  });
});
