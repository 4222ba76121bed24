import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'libsql';
import { inTransaction, loadLibrary, openDatabase } from '../files/database.ts';
import { namingErrors } from '../files/naming-errors.ts';

export interface Account {
  readonly flow: string;
  readonly node: string;
  /** Name of the node's connection; empty if the node has none. */
  readonly connection: string;
  readonly env: string;
}

/** The credits that were charged to an account in one month, paid by one API key. */
export interface Spent extends Account {
  /** Year and month, for example 2026-11. */
  readonly month: string;
  readonly credits: number;
  /** ID of the API key that paid the credits; empty if the run was started on the command line. */
  readonly key: string;
}

export interface Hold {
  readonly run: string;
  /** JSON that identifies the run's process, so that other processes can check whether it is still alive. */
  readonly owner: string;
  readonly month: string;
  /** The accounts that the run charges credits to. Entries in the run's credit log contain an index into this array. */
  readonly accounts: readonly Account[];
  readonly credits: number;
  /** Number of entries in the run's credit log that are already in the credit book. */
  readonly logged: number;
  /** Number of this run's credits that have already been added to the credit book. */
  readonly total: number;
  /** ID of the API key that pays for the run; empty or undefined if the run was started on the command line. */
  readonly key?: string;
}

/** @internal */
export interface HoldRequest {
  readonly credits: number;
  /** The minimum number of credits that the run can use. If fewer are available, the run gets none. */
  readonly min: number;
  /** Credits that the records in progress may still need; undefined if that is not known. */
  readonly needed?: number;
  /** Credits that the run's API key may spend per month; undefined if the key has no quota. */
  readonly quota?: number;
}

/** The credits of all runs in a home folder. Each method is one transaction, and throws an AutomateError (`output`) if it fails. */
export interface Book {
  limit(): number | undefined;
  setLimit(limit: number | undefined): void;
  /** Without `month`, returns all months, the newest first. */
  spent(month?: string): Spent[];
  holds(): Hold[];
  /** Adds what a run has spent since the last call, and replaces its reservation. Returns the number of credits that are now reserved. */
  renew(hold: Omit<Hold, 'credits'>, spent: readonly number[], request: HoldRequest): number;
  /** Adds what a run has spent, and ends its hold. Returns false if there is no hold, or if another process has added some credits. */
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

const version = 2;

/** Maximum wait in ms for another process's transaction to end. */
const timeoutMs = 10_000;

/** The largest share of the remaining credits that one run may reserve for records not yet begun. The rest is left for other runs. */
const maxShare = 1 / 8;

/** The largest share of the remaining credits that one run may reserve for records in progress. */
const maxNeededShare = 1 / 2;

/** Tolerance when numbers of credits are compared. It exceeds the rounding errors in sums of fractional prices, such as 0.7 + 0.1. */
export const rounding = 1e-6;

/** Throws an AutomateError (`output`) if libsql cannot be loaded, because no credits would be counted without it. */
export function requireLibrary(path: string): void {
  namingErrors(`the credit ledger ${path}`, 'used', loadLibrary);
}

export function bookPath(home: string): string {
  return join(home, 'credits.db');
}

/** Opens or creates the credit book, which is a SQLite file. Throws an AutomateError (`output`) if the file cannot be used. */
export function openBook(path: string): Book {
  const naming = <Result>(act: () => Result) => namingErrors(`the credit ledger ${path}`, 'used', act);
  const database = naming(() => openDatabase(path, { schema, version, timeoutMs }));
  const writing = <Result>(act: () => Result) => naming(() => inTransaction(database, act));
  return {
    limit: () => naming(() => readLimit(database)),
    setLimit: (limit) =>
      naming(() => {
        // The marker file is created before the allowance is set, and deleted after the allowance is removed. So it exists even if the
        // process crashes in between.
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

/** Returns the path of a marker that exists as long as there is an allowance. It can be checked even if the book cannot be opened. */
function limitMark(path: string): string {
  return `${path}-limited`;
}

/** Returns true if there is a monthly allowance, even if the credit book cannot be opened. */
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

/** Returns the reserved credits of a run, or of all runs if `run` is empty. */
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

/** Grants at most half of the remaining credits for records in progress, and at most an eighth of what is then left for other records. */
function grant(database: Database.Database, hold: HoldOwner, request: HoldRequest): number {
  const { credits, min, needed = 0 } = request;
  const remaining = remainingFor(database, hold, request.quota);
  if (remaining === undefined) return credits;
  if (remaining < min - rounding) return 0;
  const forBegun = Math.min(needed, remaining * maxNeededShare);
  return Math.min(credits, Math.max(min, forBegun + Math.floor((remaining - forBegun) * maxShare)));
}

type HoldOwner = Pick<Hold, 'month' | 'run' | 'key'>;

/** The remaining allowance or quota, whichever is less; undefined if there is neither. */
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

export interface Month {
  /** Year and month in UTC, for example 2026-11. */
  readonly name: string;
  readonly endMs: number;
}

export function monthOf(wallMs: number): Month {
  const date = new Date(wallMs);
  return { name: date.toISOString().slice(0, 7), endMs: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) };
}
