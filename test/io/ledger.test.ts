import { expect, test } from 'vitest';
import { createRunLedger } from '../../src/io/ledger.ts';

test('without a limit it gives any number of credits', () => {
  const ledger = createRunLedger(undefined);
  for (let i = 0; i < 1000; i++) expect(ledger.hold('n')).toBe(true);
  for (let i = 0; i < 600; i++) ledger.settle('n');
  for (let i = 0; i < 400; i++) ledger.release('n');
  expect(ledger.spent()).toBe(600);
});

test('with a limit it never gives more, those in flight included', () => {
  const ledger = createRunLedger(3);
  expect([1, 2, 3, 4].map(() => ledger.hold('n'))).toEqual([true, true, true, false]);
  ledger.settle('n');
  expect(ledger.hold('n')).toBe(false);
  ledger.release('n');
  expect(ledger.hold('n')).toBe(true);
  expect(ledger.hold('n')).toBe(false);
  expect(ledger.spent()).toBe(1);
});

test('with a limit of 0 it gives none', () => {
  expect(createRunLedger(0).hold('n')).toBe(false);
});
