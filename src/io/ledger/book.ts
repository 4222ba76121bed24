import type Database from 'libsql';
import { alone, openDatabase } from '../files/database.ts';
import { namingErrors } from '../files/naming-errors.ts';

/** What credits were spent on. */
export interface Account {
  readonly flow: string;
  readonly node: string;
  /** Empty for none. */
  readonly connection: string;
  readonly env: string;
}

/** Credits spent on an account in a month. */
export interface Spent extends Account {
  /** Such as 2026-11. */
  readonly month: string;
  readonly credits: number;
}

/** A run's hold: what it may still spend without asking again, and how far its log is in the book. */
export interface Hold {
  readonly run: string;
  /** Which process it is, as a lock tells it. */
  readonly owner: string;
  readonly month: string;
  /** The accounts that the numbers in its log stand for. */
  readonly accounts: readonly Account[];
  readonly credits: number;
  /** Entries of its log that are in the book. */
  readonly logged: number;
  /** Credits of this run that are in the book. */
  readonly total: number;
}

/** The credits of all runs of one home, whoever writes them. Every method is one transaction. */
export interface Book {
  /** Absent for unlimited. */
  limit(): number | undefined;
  setLimit(limit: number | undefined): void;
  /** All that was spent, the newest month first. */
  spent(month?: string): Spent[];
  holds(): Hold[];
  /**
   * Writes down what a run has spent since it last did, and gives it a new hold: answers how much of `want` it got. `least`: less would
   * not do. `needed`: what it has begun may come to so much; absent where that is not known.
   */
  renew(hold: Omit<Hold, 'credits'>, spent: readonly number[], want: number, least: number, needed?: number): number;
  /** Writes down what a run has spent, and ends its hold; `false` when somebody else has done so. */
  settle(run: string, seen: number, spent: readonly number[]): boolean;
  close(): void;
}

const schema = `
create table if not exists settings (name text primary key, value) without rowid;
create table if not exists spent (
  month text not null, flow text not null, node text not null, connection text not null, env text not null,
  credits real not null, primary key (month, flow, node, connection, env)
) without rowid;
create table if not exists holds (
  run text primary key, owner text not null, month text not null, accounts text not null,
  credits real not null, logged integer not null, total real not null
) without rowid;`;

/** The version of the tables above. */
const version = 1;

/** So long another process's transaction is waited for. */
const timeoutMs = 10_000;

/** Nobody holds so much of what remains that others get nothing. */
const largestShare = 1 / 8;

/** Nor for what it has begun. */
const largestNeeded = 1 / 2;

/** Opens the book, which is made when there is none. Throws an AutomateError (`output`) when it cannot be used. */
export function openBook(path: string): Book {
  return namingErrors(`the credit ledger ${path}`, 'used', () => bookOf(path, openDatabase(path, { schema, version, timeoutMs })));
}

interface HoldRow extends Omit<Hold, 'accounts'> {
  readonly accounts: string;
}

function bookOf(path: string, database: Database.Database): Book {
  const one = (sql: string) => {
    const statement = database.prepare(sql);
    return {
      get: (...values: unknown[]) => statement.get(...values) as Record<string, unknown> | undefined,
      run: (...values: unknown[]) => statement.run(...values),
    };
  };
  const limitNow = one("select value from settings where name = 'limit'");
  const monthTotal = one('select coalesce(sum(credits), 0) as credits from spent where month = ?');
  const heldByOthers = one('select coalesce(sum(credits), 0) as credits from holds where month = ? and run <> ?');
  const add = one(`insert into spent values (?, ?, ?, ?, ?, ?)
    on conflict (month, flow, node, connection, env) do update set credits = credits + excluded.credits`);
  const putHold = one('insert or replace into holds values (?, ?, ?, ?, ?, ?, ?)');
  const holdOf = one('select * from holds where run = ?');
  const dropHold = one('delete from holds where run = ?');

  const limit = () => limitNow.get()?.value as number | undefined;

  function addAll(month: string, accounts: readonly Account[], spent: readonly number[]): void {
    for (const [index, credits] of spent.entries()) {
      const { flow, node, connection, env } = accounts[index] as Account;
      if (credits !== 0) add.run(month, flow, node, connection, env, credits);
    }
  }

  function granted(month: string, run: string, want: number, least: number, needed: number): number {
    const most = limit();
    if (most === undefined) return want;
    const remaining = most - Number(monthTotal.get(month)?.credits) - Number(heldByOthers.get(month, run)?.credits);
    if (remaining < least - 1e-6) return 0;
    const sure = Math.min(needed, remaining * largestNeeded);
    return Math.min(want, Math.max(least, sure + Math.floor((remaining - sure) * largestShare)));
  }

  const renew = (hold: Omit<Hold, 'credits'>, spent: readonly number[], want: number, least: number, needed = 0) => {
    addAll(hold.month, hold.accounts, spent);
    const credits = granted(hold.month, hold.run, want, least, needed);
    putHold.run(hold.run, hold.owner, hold.month, JSON.stringify(hold.accounts), credits, hold.logged, hold.total);
    return credits;
  };
  const settle = (run: string, seen: number, spent: readonly number[]) => {
    const row = holdOf.get(run) as HoldRow | undefined;
    if (!row || row.logged !== seen) return false;
    addAll(row.month, JSON.parse(row.accounts) as Account[], spent);
    dropHold.run(run);
    return true;
  };

  const naming = <Result>(act: () => Result) => namingErrors(`the credit ledger ${path}`, 'used', act);
  return {
    limit: () => naming(limit),
    setLimit: (most) =>
      naming(() => {
        if (most === undefined) database.exec("delete from settings where name = 'limit'");
        else one("insert or replace into settings values ('limit', ?)").run(most);
      }),
    spent: (month) =>
      naming(() => {
        const where = month === undefined ? '' : 'where month = ?';
        const statement = database.prepare(
          `select month, flow, node, connection, env, credits from spent ${where} order by month desc, credits desc, flow, node`,
        );
        return (month === undefined ? statement.all() : statement.all(month)) as Spent[];
      }),
    holds: () =>
      naming(() => {
        const rows = database.prepare('select * from holds order by run').all() as HoldRow[];
        return rows.map((row) => ({ ...row, accounts: JSON.parse(row.accounts) as Account[] }));
      }),
    renew: (...values) => naming(() => alone(database, () => renew(...values))),
    settle: (...values) => naming(() => alone(database, () => settle(...values))),
    close: () => void database.close(),
  };
}
