import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Book, openBook } from '../../../src/io/ledger/book.ts';
import { createRunLedger, type RunLedgerOptions, settleDead, settleEarlier } from '../../../src/io/ledger/run-ledger.ts';

function home(): string {
  const folder = mkdtempSync(join(tmpdir(), 'automate-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const open = (folder: string) => openBook(join(folder, 'credits.db'));

const november = Date.UTC(2026, 10, 30, 23, 59);
const december = Date.UTC(2026, 11, 1);

function ledgerOf(folder: string, more: Partial<RunLedgerOptions> = {}, book: Book = open(folder)) {
  const prices = new Map(['a', 'b'].map((node) => [node, { credits: 1, account: { flow: 'f', node, connection: '', env: 'default' } }]));
  return createRunLedger(
    { run: 'r', home: folder, prices, most: undefined, before: 0, block: 256, wallNow: () => november, ...more },
    book,
  );
}

function spend(ledger: ReturnType<typeof ledgerOf>, node: string, times: number): void {
  for (let i = 0; i < times; i++) {
    expect(ledger.hold(node)).toBeUndefined();
    ledger.flush();
    ledger.settle(node);
  }
}

/** Credits by month and node. */
function written(folder: string): Record<string, number> {
  const book = open(folder);
  const entries = book.spent().map(({ month, node, credits }) => [`${month} ${node}`, credits]);
  book.close();
  return Object.fromEntries(entries);
}

/** Makes all holds those of a process that is dead. */
function killed(folder: string): Book {
  const book = open(folder);
  for (const hold of book.holds())
    book.renew(
      { ...hold, owner: '{"pid":999999999,"born":""}' },
      hold.accounts.map(() => 0),
      hold.credits,
      hold.credits,
    );
  return book;
}

test('what was spent before midnight UTC belongs to the month that has ended', () => {
  const folder = home();
  let nowMs = november;
  const ledger = ledgerOf(folder, { wallNow: () => nowMs });
  spend(ledger, 'a', 300);
  nowMs = december;
  spend(ledger, 'a', 20);
  ledger.close();
  expect(written(folder)).toEqual({ '2026-11 a': 300, '2026-12 a': 20 });
});

test('a run that has ended holds nothing', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 300);
  ledger.close();
  expect([open(folder).holds(), written(folder)]).toEqual([[], { '2026-11 a': 300 }]);
});

test('what is begun can count on half of the allowance that remains, and not only on what a run takes at a time', () => {
  const folder = home();
  const book = open(folder);
  book.setLimit(1000);
  const ledger = ledgerOf(folder, {}, book);
  const affords = [1, 400, 500, 700, 1001].map((count) => ledger.affords([['a', count]]));
  expect(affords).toEqual([true, true, true, false, false]);
  spend(ledger, 'a', 960);
  expect([20, 41].map((count) => ledger.affords([['a', count]]))).toEqual([true, false]);
  const other = ledgerOf(folder, { run: 'other' });
  spend(other, 'b', 2);
  other.close();
  ledger.close();
  expect(written(folder)).toEqual({ '2026-11 a': 960, '2026-11 b': 2 });
});

test('a month that ends gives a new allowance', () => {
  const folder = home();
  let nowMs = november;
  const book = open(folder);
  book.setLimit(5);
  const ledger = ledgerOf(folder, { wallNow: () => nowMs }, book);
  spend(ledger, 'a', 5);
  expect(ledger.hold('a')).toMatch(/^the allowance of 5 credits for 2026-11 is used up/);
  nowMs = december;
  spend(ledger, 'a', 5);
  expect(ledger.hold('a')).toMatch(/for 2026-12 is used up/);
  expect(ledger.close()).toEqual({ month: '2026-12', spent: 5, limit: 5 });
  expect(written(folder)).toEqual({ '2026-11 a': 5, '2026-12 a': 5 });
});

test('what is given back is not spent, and a cost takes the place of the price', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  for (const node of ['a', 'a', 'b']) expect(ledger.hold(node)).toBeUndefined();
  ledger.release('a');
  ledger.settle('a', 2.5);
  ledger.settle('b', 0);
  ledger.close();
  expect([ledger.spent(), written(folder)]).toEqual([2.5, { '2026-11 a': 2.5 }]);
});

test('of a run that was killed every action counts that it may have sent', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 300);
  expect(ledger.hold('b')).toBeUndefined();
  ledger.flush();
  const book = killed(folder);
  expect(settleDead(book, { home: folder, wallNow: () => november })).toBe(true);
  expect([written(folder), book.holds(), readdirSync(join(folder, 'runs'))]).toEqual([{ '2026-11 a': 300, '2026-11 b': 1 }, [], []]);
  expect(settleDead(book, { home: folder, wallNow: () => november })).toBe(false);
});

test('what was held and not sent yet is noted nowhere', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 3);
  expect(ledger.hold('b')).toBeUndefined();
  settleDead(killed(folder), { home: folder, wallNow: () => november });
  expect(written(folder)).toEqual({ '2026-11 a': 3 });
});

test('a run under way is left alone', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 3);
  const book = open(folder);
  expect(settleDead(book, { home: folder, wallNow: () => november })).toBe(false);
  expect(book.holds()).toMatchObject([{ run: 'r', credits: 256 }]);
});

test('a run on another machine counts as dead after a day of silence', () => {
  const folder = home();
  spend(ledgerOf(folder, { wallNow: Date.now }), 'a', 3);
  const book = open(folder);
  for (const hold of book.holds()) book.renew({ ...hold, owner: '{"pid":1,"born":"1","where":"elsewhere"}' }, [0, 0], 256, 0);
  expect(settleDead(book, { home: folder, wallNow: () => Date.now() + 86_000_000 })).toBe(false);
  expect(settleDead(book, { home: folder, wallNow: () => Date.now() + 87_000_000 })).toBe(true);
});

test('a run that goes on has spent no less than its journal says, and what its lost log may have held', () => {
  const folder = home();
  spend(ledgerOf(folder), 'a', 300);
  rmSync(join(folder, 'runs/r.credits'));
  const book = killed(folder);
  settleEarlier(book, folder, 'r', 290);
  // Of what it held and noted nowhere it may have spent all.
  expect(written(folder)).toEqual({ '2026-11 a': 512 });
  // And the part that goes on counts from there.
  const ledger = ledgerOf(folder, { before: 290 });
  spend(ledger, 'a', 10);
  settleEarlier(killed(folder), folder, 'r', 300);
  expect(written(folder)).toEqual({ '2026-11 a': 522 });
});

test('a run that goes on has spent no less than its journal says, where its log has lost its end', () => {
  const folder = home();
  spend(ledgerOf(folder), 'a', 10);
  truncateSync(join(folder, 'runs/r.credits'), 45);
  settleEarlier(killed(folder), folder, 'r', 10);
  expect(written(folder)).toEqual({ '2026-11 a': 10 });
});

test('what dead runs hold is free again when it is needed', () => {
  const folder = home();
  const book = open(folder);
  book.setLimit(10);
  spend(ledgerOf(folder, { run: 'dead' }), 'a', 4);
  killed(folder).close();
  const ledger = ledgerOf(folder, { run: 'alive' }, book);
  spend(ledger, 'b', 6);
  expect(ledger.hold('b')).toMatch(/used up/);
  ledger.close();
  expect(written(folder)).toEqual({ '2026-11 a': 4, '2026-11 b': 6 });
});

test('a book that cannot be written for a while forgets nothing of what was spent', () => {
  const folder = home();
  const book = open(folder);
  let isBroken = false;
  const breaking: Book = {
    ...book,
    renew(...values) {
      if (isBroken) throw new Error('locked');
      return book.renew(...values);
    },
  };
  const ledger = ledgerOf(folder, {}, breaking);
  spend(ledger, 'a', 256);
  isBroken = true;
  expect(() => ledger.hold('a')).toThrow('locked');
  isBroken = false;
  ledger.close();
  expect([written(folder), readdirSync(join(folder, 'runs'))]).toEqual([{ '2026-11 a': 256 }, []]);
});

test('a book that cannot be written at the end leaves the log for whoever comes next', () => {
  const folder = home();
  const book = open(folder);
  const broken = () => {
    throw new Error('disk full');
  };
  const ledger = ledgerOf(folder, {}, { ...book, settle: broken, close: () => {} });
  spend(ledger, 'a', 100);
  ledger.hold('a');
  ledger.settle('a', 2.5);
  expect(() => ledger.close()).toThrow('disk full');
  expect(settleDead(killed(folder), { home: folder, wallNow: () => november })).toBe(true);
  expect(written(folder)).toEqual({ '2026-11 a': 102.5 });
});

test('a run that was taken for dead counts twice rather than not at all', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 10);
  settleDead(killed(folder), { home: folder, wallNow: () => november });
  spend(ledger, 'a', 5);
  ledger.close();
  expect(written(folder)['2026-11 a']).toBeGreaterThanOrEqual(15);
});

test('what was taken for dead and has written down more meanwhile keeps its hold and its log', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 10);
  const book = killed(folder);
  const before = book.holds();
  spend(ledger, 'a', 290);
  expect(settleDead({ ...book, holds: () => before }, { home: folder, wallNow: () => november })).toBe(false);
  expect([book.holds().length, readdirSync(join(folder, 'runs'))]).toEqual([1, ['r.credits']]);
  ledger.close();
  expect(written(folder)).toEqual({ '2026-11 a': 300 });
});

test('a run that was killed and whose log is gone may have spent all that it held', () => {
  const folder = home();
  spend(ledgerOf(folder), 'a', 300);
  const book = killed(folder);
  rmSync(join(folder, 'runs/r.credits'));
  settleDead(book, { home: folder, wallNow: () => november });
  expect(written(folder)).toEqual({ '2026-11 a': 512 });
});

test('prices with a point add up to their budget', () => {
  const folder = home();
  const prices = new Map([['a', { credits: 0.7, account: { flow: 'f', node: 'a', connection: '', env: 'default' } }]]);
  for (const [more, limit] of [
    [{ most: 7 }, undefined],
    [{}, 7],
  ] as const) {
    const book = open(home());
    book.setLimit(limit);
    const ledger = ledgerOf(folder, { ...more, prices, run: `r${limit}` }, book);
    spend(ledger, 'a', 10);
    expect(ledger.hold('a')).toMatch(/used up/);
  }
});

test.each<[string, number | undefined, number | undefined, RegExp]>([
  ['the budget of the run', 6, undefined, /^the 6 credits of --max-credits are used up/],
  ['the allowance', undefined, 6, /^the allowance of 6 credits for 2026-11 is used up/],
])('what is too little for one node is not used up for a cheaper one, also at the end of a block: %s', (_name, most, limit, usedUp) => {
  const accountOf = (node: string) => ({ flow: 'f', node, connection: '', env: 'default' });
  const prices = new Map([
    ['a', { credits: 1, account: accountOf('a') }],
    ['b', { credits: 5, account: accountOf('b') }],
  ]);
  const folder = home();
  const book = open(folder);
  book.setLimit(limit);
  const ledger = ledgerOf(folder, { prices, most, block: 2 }, book);
  spend(ledger, 'a', 2);
  expect([ledger.hold('b'), ledger.usedUp()]).toEqual([expect.stringMatching(usedUp), undefined]);
  spend(ledger, 'a', 4);
  expect([ledger.hold('a'), ledger.usedUp()]).toEqual([expect.stringMatching(usedUp), expect.stringMatching(usedUp)]);
});

test('a limit that is set while a run is under way counts from its next block on', () => {
  const folder = home();
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 10);
  open(folder).setLimit(100);
  spend(ledger, 'a', 246);
  expect(ledger.hold('a')).toMatch(/^the allowance of 100 credits/);
});

test('the files are their owner’s alone, and a link in their place is refused', () => {
  const folder = home();
  const umask = process.umask(0);
  onTestFinished(() => void process.umask(umask));
  const ledger = ledgerOf(folder);
  spend(ledger, 'a', 1);
  for (const file of ['credits.db', 'credits.db-wal', 'runs/r.credits'])
    expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600]);
  const other = home();
  writeFileSync(join(other, 'target'), '');
  symlinkSync(join(other, 'target'), join(other, 'credits.db'));
  expect(() => open(other)).toThrow(/credits.db is a symbolic link, which is refused/);
});
