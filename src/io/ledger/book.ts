import { existsSync, rmSync, writeFileSync } from 'node:fs';
import type Database from 'libsql';
import { inTransaction, loadLibrary, openDatabase } from '../files/database.ts';
import { namingErrors } from '../files/naming-errors.ts';

/** The account that an action is charged to. */
export interface Account {
  readonly flow: string;
  readonly node: string;
  /** The connection; empty for no connection. */
  readonly connection: string;
  readonly env: string;
}

/** Credits spent on an account in a month. */
export interface Spent extends Account {
  /** Year and month, for example 2026-11. */
  readonly month: string;
  readonly credits: number;
  /** The id of the API key that has paid; empty for a command. */
  readonly key: string;
}

/** Credits that a run has reserved, and the part of its log that is in the book. */
export interface Hold {
  readonly run: string;
  /** The process, as a lock names it. */
  readonly owner: string;
  readonly month: string;
  /** The log names an account by its index here. */
  readonly accounts: readonly Account[];
  readonly credits: number;
  /** Entries of its log that are in the book. */
  readonly logged: number;
  /** Credits of this run that are in the book. */
  readonly total: number;
  /** The id of the API key that pays; empty or absent for a command. */
  readonly key?: string;
}

/** Credits that a run asks for. */
export interface HoldRequest {
  readonly credits: number;
  /** Minimum of the hold. If the run cannot get it, it gets no hold. */
  readonly min: number;
  /** Credits that the records already begun may need; absent if the need is not known. */
  readonly needed?: number;
  /** Credits that the key of the hold may spend in its month; undefined if the key has no quota. */
  readonly quota?: number | undefined;
}

/** The credits that all runs of one home have spent or hold. Every method is one transaction and throws an AutomateError (`output`). */
export interface Book {
  /** The monthly allowance; absent for unlimited. */
  limit(): number | undefined;
  setLimit(limit: number | undefined): void;
  /** Spent credits of a month, or of all, the newest month first. */
  spent(month?: string): Spent[];
  holds(): Hold[];
  /** Adds the credits that a run has spent since its last call, and replaces its hold. Returns the size of the new hold. */
  renew(hold: Omit<Hold, 'credits'>, spent: readonly number[], request: HoldRequest): number;
  /** Adds the credits that a run has spent and ends its hold. Returns false if its hold is gone or has more entries than `logged`. */
  settle(run: string, logged: number, spent: readonly number[]): boolean;
  close(): void;
}

const schema = `
create table settings (name text primary key, value) without rowid;
create table spent (
  month text not null, flow text not null, node text not null, connection text not null, env text not null,
  credits real not null, key text not null, primary key (month, flow, node, connection, env, key)
) without rowid;
create table holds (
  run text primary key, owner text not null, month text not null, accounts text not null,
  credits real not null, logged integer not null, total real not null, key text not null
) without rowid;`;

/** The version of the tables above. */
const version = 2;

/** Longest wait for another process's transaction. */
const timeoutMs = 10_000;

/** The maximum share of the remaining allowance that a run holds for further records, so that other runs can begin. */
const maxShare = 1 / 8;

/** The maximum share of the remaining allowance for records that a run has already begun. */
const maxNeededShare = 1 / 2;

/** Sums of fractional prices (0.7 + 0.1) are off by less than this. */
export const rounding = 1e-6;

/** Throws an AutomateError (`output`) if no book can be opened on this machine: nothing is counted then. */
export function requireLibrary(path: string): void {
  namingErrors(`the credit ledger ${path}`, 'used', loadLibrary);
}

/** Opens the book; creates it if there is none. Throws an AutomateError (`output`) if it cannot be used. */
export function openBook(path: string): Book {
  const naming = <Result>(act: () => Result) => namingErrors(`the credit ledger ${path}`, 'used', act);
  const database = naming(() => openDatabase(path, { schema, version, timeoutMs }));
  const writing = <Result>(act: () => Result) => naming(() => inTransaction(database, act));
  return {
    limit: () => naming(() => readLimit(database)),
    setLimit: (limit) =>
      naming(() => {
        // The file is made before the limit is set, and removed after the limit is removed: after a crash in between, it is there.
        if (limit !== undefined) writeFileSync(limitMark(path), '', { mode: 0o600 });
        writeLimit(database, limit);
        if (limit === undefined) rmSync(limitMark(path), { force: true });
      }),
    spent: (month) => naming(() => readSpent(database, month)),
    holds: () => naming(() => readHolds(database, '')),
    renew: (hold, spent, request) => writing(() => renewHold(database, hold, spent, request)),
    settle: (run, logged, spent) => writing(() => endHold(database, { run, logged }, spent)),
    close: () => void database.close(),
  };
}

/** A file next to the book, which exists while an allowance is set, for an installation that cannot open the book. */
function limitMark(path: string): string {
  return `${path}-limited`;
}

/** True if an allowance is set in the book, even if the book cannot be opened. */
export function isLimited(path: string): boolean {
  return existsSync(limitMark(path));
}

function readLimit(database: Database.Database): number | undefined {
  const row = database.prepare("select value from settings where name = 'limit'").get() as { value: number } | undefined;
  return row?.value;
}

function writeLimit(database: Database.Database, limit: number | undefined): void {
  if (limit === undefined) database.exec("delete from settings where name = 'limit'");
  else database.prepare("insert or replace into settings values ('limit', ?)").run(limit);
}

function readSpent(database: Database.Database, month = ''): Spent[] {
  return database
    .prepare(
      `select month, flow, node, connection, env, credits, key from spent
      where ? in ('', month) order by month desc, credits desc, flow, node, key`,
    )
    .all(month) as Spent[];
}

/** The hold of a run, or all if `run` is empty. */
function readHolds(database: Database.Database, run: string): Hold[] {
  const rows = database.prepare("select * from holds where ? in ('', run) order by run").all(run) as (Hold & { accounts: string })[];
  return rows.map((row) => ({ ...row, accounts: JSON.parse(row.accounts) as Account[] }));
}

function renewHold(database: Database.Database, hold: Omit<Hold, 'credits'>, spent: readonly number[], request: HoldRequest): number {
  const { run, owner, month, accounts, logged, total, key = '' } = hold;
  addSpent(database, hold, spent);
  const credits = grant(database, hold, request);
  database
    .prepare('insert or replace into holds (run, owner, month, accounts, credits, logged, total, key) values (?, ?, ?, ?, ?, ?, ?, ?)')
    .run(run, owner, month, JSON.stringify(accounts), credits, logged, total, key);
  return credits;
}

/** The credits for a hold. The records already begun come first; of the rest, a run gets only a share. */
function grant(database: Database.Database, hold: HoldOwner, request: HoldRequest): number {
  const { credits, min, needed = 0 } = request;
  const remaining = remainingFor(database, hold, request.quota);
  if (remaining === undefined) return credits;
  if (remaining < min - rounding) return 0;
  const forBegun = Math.min(needed, remaining * maxNeededShare);
  return Math.min(credits, Math.max(min, forBegun + Math.floor((remaining - forBegun) * maxShare)));
}

type HoldOwner = Pick<Hold, 'month' | 'run' | 'key'>;

/** The smaller of two rests: the allowance's and the key's quota's; absent without a limit. */
function remainingFor(database: Database.Database, { month, run, key = '' }: HoldOwner, quota: number | undefined): number | undefined {
  const taken = database.prepare(
    `select (select coalesce(sum(credits), 0) from spent where month = ? and ? in ('', key)) +
      (select coalesce(sum(credits), 0) from holds where month = ? and ? in ('', key) and run <> ?) as credits`,
  );
  const takenBy = (by: string) => (taken.get(month, by, month, by, run) as { credits: number }).credits;
  const limit = readLimit(database);
  const rests = [
    ...(limit === undefined ? [] : [limit - takenBy('')]),
    ...(quota === undefined || key === '' ? [] : [quota - takenBy(key)]),
  ];
  return rests.length === 0 ? undefined : Math.min(...rests);
}

function endHold(database: Database.Database, { run, logged }: Pick<Hold, 'run' | 'logged'>, spent: readonly number[]): boolean {
  const [hold] = readHolds(database, run);
  if (hold?.logged !== logged) return false;
  addSpent(database, hold, spent);
  database.prepare('delete from holds where run = ?').run(run);
  return true;
}

type HoldAccounts = Pick<Hold, 'month' | 'accounts' | 'key'>;

function addSpent(database: Database.Database, { month, accounts, key = '' }: HoldAccounts, spent: readonly number[]): void {
  const add = database.prepare(`insert into spent (month, flow, node, connection, env, credits, key) values (?, ?, ?, ?, ?, ?, ?)
    on conflict (month, flow, node, connection, env, key) do update set credits = credits + excluded.credits`);
  for (const [index, credits] of spent.entries()) {
    const { flow, node, connection, env } = accounts[index] as Account;
    if (credits !== 0) add.run(month, flow, node, connection, env, credits, key);
  }
}

/** A calendar month in UTC. */
export interface Month {
  /** Year and month, for example 2026-11. */
  readonly name: string;
  readonly endMs: number;
}

/** The month of a moment. */
export function monthOf(wallMs: number): Month {
  const date = new Date(wallMs);
  return { name: date.toISOString().slice(0, 7), endMs: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) };
}
