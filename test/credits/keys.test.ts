import { describe, expect, test } from 'vitest';
import { settleDead } from '../../src/credits/holds.ts';
import { restOf, smallestRest } from '../../src/credits/rest.ts';
import { bookIn, december, emptyHome, killRuns, ledgerIn, november, spend } from '../helpers/ledger.ts';

const crm = { id: 'key_1', name: 'crm', quota: 10 };
const shop = { id: 'key_2', name: 'shop', quota: undefined };
const month = '2026-11';

/** Returns the spent credits by API key. */
function byKey(home: string) {
  const book = bookIn(home);
  const sums: Record<string, number> = {};
  for (const { key, credits } of book.spent()) sums[key] = (sums[key] ?? 0) + credits;
  book.close();
  return sums;
}

describe('a run that an API key pays for', () => {
  test('counts towards the quota of that key, not towards commands and other keys', () => {
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

  test("ends when the key's quota is used up, whatever other runs spend, and the reason mentions the key", () => {
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

  test("shares the quota with the key's other runs", () => {
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
  ] as const)(
    "is limited by the allowance or by the key's quota, whichever has less left (allowance: %i, limit: %s)",
    (allowance, of, reason) => {
      const home = emptyHome();
      const book = bookIn(home);
      book.setLimit(allowance);
      const ledger = ledgerIn(home, { key: crm }, book);
      spend(ledger, 'a', Math.min(allowance, 10));
      expect(ledger.hold('a')).toMatchObject({ message: expect.stringMatching(reason), code: of === 'key' ? 'quota' : 'allowance' });
      expect(ledger.limitReached()?.of).toBe(of);
    },
  );

  test("is limited by the machine's allowance if other runs have used the allowance up", () => {
    const home = emptyHome();
    const book = bookIn(home);
    book.setLimit(100);
    spend(ledgerIn(home, { run: 'command' }), 'a', 97);
    const ledger = ledgerIn(home, { key: crm }, book);
    spend(ledger, 'a', 3);
    expect([ledger.hold('a')?.message, ledger.limitReached()?.of]).toEqual([expect.stringMatching(/^the allowance/), 'allowance']);
  });

  test('gets a new quota in the next month', () => {
    const home = emptyHome();
    let now = november;
    const ledger = ledgerIn(home, { key: crm, wallNow: () => now });
    spend(ledger, 'a', 10);
    expect(ledger.hold('a')).toBeDefined();
    now = december;
    spend(ledger, 'a', 10);
    expect(ledger.hold('a')?.message).toContain('for 2026-12 is used up (a new month begins on 2027-01-01)');
  });

  test('is not limited if the key has no quota', () => {
    const ledger = ledgerIn(emptyHome(), { key: shop });
    spend(ledger, 'a', 2000);
    expect([ledger.isLimited, ledger.limitReached()]).toEqual([false, undefined]);
  });

  test('is charged for the calls that it sent before it was killed', () => {
    const home = emptyHome();
    spend(ledgerIn(home, { key: crm }), 'a', 3);
    settleDead(killRuns(home), { home, wallNow: () => november });
    expect(byKey(home)).toEqual({ key_1: 3 });
  });

  test('returns its reserved credits while it waits', () => {
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

test('the remaining credits of a key and of the allowance exclude spent and reserved credits', () => {
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
