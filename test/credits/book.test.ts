import { statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import { type HoldRequest, monthOf } from '../../src/credits/book.ts';
import { bookIn, emptyHome, ledgerIn, spend } from '../helpers/ledger.ts';

const account = { flow: 'f', node: 'a', connection: '', env: 'default' };
const hold = { run: 'r', owner: '', month: '2026-11', accounts: [account], logged: 0, total: 0 };

test.each<[string, HoldRequest, number]>([
  ['an eighth of the allowance', { credits: 800, min: 1 }, 100],
  ['no more than it requests', { credits: 30, min: 1 }, 30],
  ['at least the minimum that it needs', { credits: 500, min: 400 }, 400],
  ['nothing if the allowance is less than its minimum', { credits: 900, min: 801 }, 0],
  ['what the records already begun need, and an eighth of the rest', { credits: 800, min: 1, needed: 240 }, 310],
  ['at most half of the allowance for records already begun, and an eighth of the rest', { credits: 800, min: 1, needed: 700 }, 450],
])('a run that reserves credits in the ledger gets %s', (_, request, credits) => {
  const book = bookIn(emptyHome());
  book.setLimit(1000);
  book.renew({ ...hold, run: 'other' }, [100], { credits: 100, min: 100 });
  expect([book.renew(hold, [0], request), book.holds().find(({ run }) => run === 'r')?.credits]).toEqual([credits, credits]);
});

test('the ledger refuses to settle a run whose reservation is gone, or which has spent more since', () => {
  const book = bookIn(emptyHome());
  book.renew({ ...hold, logged: 5 }, [5], { credits: 1, min: 1 });
  expect([book.settle('r', 4, [1]), book.settle('other', 5, [1]), book.spent()[0]?.credits]).toEqual([false, false, 5]);
  expect([book.settle('r', 5, [1]), book.settle('r', 5, [1]), book.spent()[0]?.credits]).toEqual([true, false, 6]);
});

test('a month in the ledger ends at midnight UTC', () => {
  expect(monthOf(Date.UTC(2026, 11, 31, 23, 59))).toEqual({ name: '2026-12', endMs: Date.UTC(2027, 0) });
});

test('the files of the ledger are readable only by their owner', () => {
  const home = emptyHome();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  spend(ledgerIn(home), 'a', 1);
  for (const file of ['credits.db', 'credits.db-wal', 'runs/r.credits'])
    expect([file, statSync(join(home, file)).mode & 0o777]).toEqual([file, 0o600]);
});

test('the ledger is refused if its file is a symbolic link', () => {
  const home = emptyHome();
  writeFileSync(join(home, 'target'), '');
  symlinkSync(join(home, 'target'), join(home, 'credits.db'));
  expect(() => bookIn(home)).toThrow(/credits.db is a symbolic link, which is not allowed here/);
});

test.each([
  [1, 'it was made by an older version of automate, which this version cannot read'],
  [99, 'it was made by a newer version of automate'],
])('a ledger with the format version %d is refused and left unchanged', (version, reason) => {
  const home = emptyHome();
  bookIn(home).setLimit(100);
  const database = new Database(join(home, 'credits.db'));
  onTestFinished(() => void database.close());
  database.exec(`PRAGMA user_version = ${version}`);
  expect(() => bookIn(home)).toThrow(`the credit ledger ${join(home, 'credits.db')} cannot be used: ${reason}`);
  expect(database.prepare('select value from settings').get()).toMatchObject({ value: 100 });
});
