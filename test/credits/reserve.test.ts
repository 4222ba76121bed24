import { expect, test } from 'vitest';
import type { Book, HoldRequest } from '../../src/credits/book.ts';
import { Reserve } from '../../src/credits/reserve.ts';
import { emptyHome, november } from '../helpers/ledger.ts';

/** Creates a reserve with blocks of 10 credits. The ledger answers each request with the next number of `grants`, later with 0. */
function reserveOver(grants: readonly number[]) {
  const left = [...grants];
  const asked: (HoldRequest & { readonly spent: number | undefined })[] = [];
  const book: Book = {
    limit: () => 1000,
    setLimit: () => undefined,
    spent: () => [],
    holds: () => [],
    renew(_, [spent], request) {
      asked.push({ ...request, spent });
      return left.shift() ?? 0;
    },
    settle: () => true,
    close: () => undefined,
  };
  const accounts = [{ flow: 'f', node: 'a', connection: '', env: 'default' }];
  const reserve = new Reserve(book, { run: 'r', home: emptyHome(), accounts, before: 0, block: 10, wallNow: () => november });
  return { reserve, asked };
}

test("a run's credit reserve asks the ledger once per block of credits, and reports what was spent since", () => {
  const { reserve, asked } = reserveOver([10, 10]);
  for (let action = 0; action < 11; action++) {
    expect(reserve.ensure(1)).toBeUndefined();
    reserve.charge(0, 1);
  }
  expect(asked).toEqual([
    { credits: 10, min: 1, needed: 0, spent: 0 },
    { credits: 10, min: 1, needed: 0, spent: 10 },
  ]);
});

test("a run's credit reserve refuses a call if the ledger grants too few credits", () => {
  const { reserve } = reserveOver([2]);
  expect([reserve.ensure(3)?.message, reserve.ensure(2)]).toEqual([
    expect.stringMatching(/^the allowance of 1,000 credits for 2026-11/),
    undefined,
  ]);
});

test("a run's credit reserve counts its remaining credits only after the ledger has granted less than a full block", () => {
  const { reserve, asked } = reserveOver([10, 4, 4]);
  expect(reserve.ensure(1)).toBeUndefined();
  expect([reserve.affords(1000, 1), asked.length]).toEqual([true, 1]);
  reserve.charge(0, 10);
  expect(reserve.ensure(4)).toBeUndefined();
  expect([4, 5].map((credits) => reserve.affords(credits, 1))).toEqual([true, false]);
});

test("credits returned to a run's credit reserve can be used once more without asking the ledger", () => {
  const { reserve, asked } = reserveOver([10]);
  expect(reserve.ensure(10)).toBeUndefined();
  reserve.charge(0, 10);
  reserve.charge(0, -10);
  expect([reserve.ensure(10), asked.length]).toEqual([undefined, 1]);
});
