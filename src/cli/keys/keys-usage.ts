import { usageError } from '../../core/failure.ts';
import { rounded, sumOfCredits } from '../../core/spending.ts';
import { listedNames } from '../../core/text/suggest.ts';
import { monthOf } from '../../credits/book.ts';
import type { ApiKey } from '../../serve/store/api-key.ts';
import type { KeyUsage } from '../../serve/store/usage.ts';
import { readBook } from '../credits-command.ts';
import { dayRows, isUnwritten, type MonthOfKey, usageJson, usageRows } from '../show/keys.ts';
import { tableText } from '../show/table.ts';
import { indentedJson, type Terminal } from '../terminal.ts';
import { readingKeys, withKey } from './stored-keys.ts';

export async function usageCommand(
  name: string | undefined,
  options: { readonly month?: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<undefined> {
  const month = monthArgument(options.month);
  if (name !== undefined) {
    const stored = withKey(name, ({ keys, usage }) => [[keys.find(name)], usage.read({ month })] as const);
    return showOne(monthsOf(month, stored)[0] as MonthOfKey, options, terminal);
  }
  const found = monthsOf(month, readingKeys(({ keys, usage }) => [keys.list(), usage.read({ month })]) ?? [[], []]);
  const shown = found.filter(({ key, days, credits }) => key.revokedAtMs === undefined || days.length > 0 || credits > 0);
  if (options.json) await terminal.print(indentedJson(shown.map(usageJson)));
  else if (shown.length > 0) await printTable(shown, terminal);
  else terminal.say('there are no keys\n  make one: automate keys create NAME');
}

async function printTable(shown: readonly MonthOfKey[], terminal: Terminal): Promise<void> {
  await terminal.print(tableText(usageRows(shown, Date.now())).join('\n'));
  const unwritten = shown.filter(isUnwritten).map(({ key }) => key.name);
  if (unwritten.length > 0) terminal.say(laterText(listedNames(unwritten)));
}

function laterText(names: string): string {
  return `the server saves requests and records once a minute; those of ${names} are not saved yet`;
}

async function showOne(shown: MonthOfKey, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<undefined> {
  const { key, month, days } = shown;
  if (json) await terminal.print(indentedJson({ ...usageJson(shown), days: days.map(dayJson) }));
  else if (days.length > 0) await terminal.print(tableText(dayRows(shown)).join('\n'));
  else terminal.say(isUnwritten(shown) ? laterText(key.name) : `the key "${key.name}" was not used in ${month}`);
}

function dayJson({ day, requests, refused, records, credits }: KeyUsage): object {
  return { day, requests, refused, records, credits };
}

function monthArgument(text: string | undefined): string {
  if (text === undefined) return monthOf(Date.now()).name;
  if (/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)) return text;
  throw usageError(`--month: expected a month such as 2026-11, found "${text}"`);
}

/** Uses the larger number: the ledger records calls late, and the server's counts in memory can be lost. */
function monthsOf(month: string, [keys, usage]: readonly [readonly ApiKey[], readonly KeyUsage[]]): MonthOfKey[] {
  const spent = readBook((book) => book.spent(month)) ?? [];
  return keys.map((key) => {
    const days = usage.filter((day) => day.key === key.id);
    const inLedger = sumOfCredits(spent.filter((account) => account.key === key.id));
    const credits = rounded(Math.max(inLedger, sumOfCredits(days)));
    return { key, month, days, credits, remaining: key.quota === undefined ? undefined : Math.max(0, key.quota - credits) };
  });
}
