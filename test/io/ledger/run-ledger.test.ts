import { expect, test } from 'vitest';
import { createRunLedger } from '../../../src/io/ledger/run-ledger.ts';

/** A ledger that only watches the run's own budget. */
function budget(most: number | undefined, credits = 1) {
  const prices = new Map([['n', { credits, account: { flow: 'f', node: 'n', connection: '', env: 'default' } }]]);
  return createRunLedger({ run: 'r', home: '/nowhere', prices, most, before: 0, wallNow: () => 0 }, undefined);
}

test('a run without a budget spends what it needs', () => {
  const ledger = budget(undefined);
  for (let i = 0; i < 1000; i++) expect(ledger.hold('n')).toBeUndefined();
  for (let i = 0; i < 600; i++) ledger.settle('n');
  for (let i = 0; i < 400; i++) ledger.release('n');
  expect(ledger.spent()).toBe(600);
});

test('a budget counts what is under way, and what is given back can be taken again', () => {
  const ledger = budget(3);
  const usedUp = 'the 3 credits of --max-credits are used up';
  expect([1, 2, 3, 4].map(() => ledger.hold('n'))).toEqual([undefined, undefined, undefined, usedUp]);
  ledger.settle('n');
  expect(ledger.hold('n')).toBe(usedUp);
  ledger.release('n');
  expect(ledger.hold('n')).toBeUndefined();
  expect(ledger.hold('n')).toBe(usedUp);
  expect(ledger.spent()).toBe(1);
});

test('a budget affords what is left of it', () => {
  const ledger = budget(3);
  expect(ledger.hold('n')).toBeUndefined();
  expect([2, 3].map((count) => ledger.affords([['n', count]]))).toEqual([true, false]);
});

test('a budget of nothing allows nothing', () => {
  expect(budget(0).hold('n')).toBe('the 0 credits of --max-credits are used up');
});

test('a large budget is told as people read it', () => {
  const ledger = budget(1500, 1501);
  expect(ledger.hold('n')).toBe('the 1,500 credits of --max-credits are used up');
});

test('an action may cost several credits, or none', () => {
  const ledger = budget(10, 4);
  expect([1, 2, 3].map(() => ledger.hold('n') === undefined)).toEqual([true, true, false]);
  ledger.settle('n', 0.5);
  ledger.settle('n');
  expect(ledger.spent()).toBe(4.5);
  expect(ledger.hold('n')).toBeUndefined();
  expect(budget(0, 0).hold('n')).toBeUndefined();
});
