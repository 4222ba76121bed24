import { describe, expect, test } from 'vitest';
import { settleDead } from '../../../src/io/ledger/holds.ts';
import { restOf, smallestRest } from '../../../src/io/ledger/rest.ts';
import { bookIn, december, emptyHome, killRuns, ledgerIn, november, spend } from '../../helpers/ledger.ts';

const crm = { id: 'key_1', name: 'crm', quota: 10 };
const shop = { id: 'key_2', name: 'shop', quota: undefined };
const month = '2026-11';

/** Spent credits by key, and what the runs of each hold. */
function byKey(home: string) {
  const book = bookIn(home);
  const sums: Record<string, number> = {};
  for (const { key, credits } of book.spent()) sums[key] = (sums[key] ?? 0) + credits;
  book.close();
  return sums;
}

describe('a run that a key pays', () => {
  test('is counted for the key, apart from commands and other keys', () => {
    const home = emptyHome();
    for (const [run, key, times] of [
      ['one', undefined, 1],
      ['two', crm, 2],
      ['three', shop, 3],
      ['four', crm, 4],
    ] as const) {
      const ledger = ledgerIn(home, { run, key });
      spend(ledger, 'a', times);
      ledger.close();
    }
    expect(byKey(home)).toEqual({ '': 1, key_1: 6, key_2: 3 });
  });

  test('ends with the quota of its key: no other run counts, and the reason names the key', () => {
    const home = emptyHome();
    spend(ledgerIn(home, { run: 'command' }), 'a', 50);
    spend(ledgerIn(home, { run: 'shop', key: shop }), 'a', 50);
    const ledger = ledgerIn(home, { key: crm });
    expect(ledger.isLimited).toBe(true);
    spend(ledger, 'a', 10);
    expect(ledger.limitReached()).toBeUndefined();
    expect(ledger.hold('a')?.message).toBe(
      'the quota of 10 credits of the key "crm" for 2026-11 is used up (a new month begins on 2026-12-01)',
    );
    expect(ledger.limitReached()).toMatchObject({ of: 'key', limit: 10, remaining: 0 });
  });

  test('shares the quota with the other runs of its key', () => {
    const home = emptyHome();
    const one = ledgerIn(home, { run: 'one', key: crm });
    spend(one, 'a', 4);
    const two = ledgerIn(home, { run: 'two', key: crm });
    spend(two, 'a', 6);
    expect([one, two].map((ledger) => ledger.hold('a')?.message)).toEqual(
      [1, 2].map(() => expect.stringMatching(/^the quota of 10 credits/)),
    );
  });

  test.each([
    [5, 'allowance', /^the allowance of 5 credits/],
    [20, 'key', /^the quota of 10 credits/],
  ] as const)('is limited by the smaller rest: with an allowance of %i by the %s', (allowance, of, reason) => {
    const home = emptyHome();
    const book = bookIn(home);
    book.setLimit(allowance);
    const ledger = ledgerIn(home, { key: crm }, book);
    spend(ledger, 'a', Math.min(allowance, 10));
    expect(ledger.hold('a')).toMatchObject({ message: expect.stringMatching(reason), code: of === 'key' ? 'quota' : 'allowance' });
    expect(ledger.limitReached()?.of).toBe(of);
  });

  test('is limited by the allowance if others have used that up', () => {
    const home = emptyHome();
    const book = bookIn(home);
    book.setLimit(100);
    spend(ledgerIn(home, { run: 'command' }), 'a', 97);
    const ledger = ledgerIn(home, { key: crm }, book);
    spend(ledger, 'a', 3);
    expect([ledger.hold('a')?.message, ledger.limitReached()?.of]).toEqual([expect.stringMatching(/^the allowance/), 'allowance']);
  });

  test('has its quota again in the next month', () => {
    const home = emptyHome();
    let now = november;
    const ledger = ledgerIn(home, { key: crm, wallNow: () => now });
    spend(ledger, 'a', 10);
    expect(ledger.hold('a')).toBeDefined();
    now = december;
    spend(ledger, 'a', 10);
    expect(ledger.hold('a')?.message).toContain('for 2026-12 is used up (a new month begins on 2027-01-01)');
  });

  test('without a quota is not limited', () => {
    const ledger = ledgerIn(emptyHome(), { key: shop });
    spend(ledger, 'a', 2000);
    expect([ledger.isLimited, ledger.limitReached()]).toEqual([false, undefined]);
  });

  test('is charged for what it has sent when it is killed', () => {
    const home = emptyHome();
    spend(ledgerIn(home, { key: crm }), 'a', 3);
    settleDead(killRuns(home), { home, wallNow: () => november });
    expect(byKey(home)).toEqual({ key_1: 3 });
  });

  test('and waits gives back what it holds', () => {
    const home = emptyHome();
    const book = bookIn(home);
    const ledger = ledgerIn(home, { key: shop });
    ledger.giveBack();
    spend(ledger, 'a', 3);
    expect(book.holds()).toMatchObject([{ credits: 256, key: 'key_2' }]);
    ledger.giveBack();
    expect([book.holds()[0]?.credits, byKey(home)]).toEqual([0, { key_2: 3 }]);
    spend(ledger, 'a', 2);
    ledger.close();
    ledger.giveBack();
    expect([book.holds(), byKey(home)]).toEqual([[], { key_2: 5 }]);
  });
});

test('the rest of a key and of the allowance is what is neither spent nor held', () => {
  const home = emptyHome();
  const book = bookIn(home);
  expect([restOf(book, 'allowance', { month }), restOf(book, 'key', { month, key: shop }), smallestRest(book, { month })]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  book.setLimit(100);
  const ledger = ledgerIn(home, { run: 'one', key: crm });
  spend(ledger, 'a', 6);
  ledger.close();
  spend(ledgerIn(home, { run: 'two', key: crm }), 'a', 1);
  expect(restOf(book, 'key', { month, key: crm })).toEqual({ of: 'key', limit: 10, spent: 6, held: 1, remaining: 3 });
  expect(restOf(book, 'key', { month: '2026-12', key: crm })?.remaining).toBe(10);
  expect(smallestRest(book, { month, key: crm })?.of).toBe('key');
  expect(smallestRest(book, { month, key: { ...crm, quota: 1000 } })).toMatchObject({ of: 'allowance', remaining: 93 });
  expect(restOf(book, 'key', { month, key: { ...crm, quota: 2 } })?.remaining).toBe(0);
});
