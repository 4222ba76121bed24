import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { durationMs, rateIntervalMs } from '../core/duration.ts';
import { AutomateError } from '../core/failure.ts';
import type { Concurrency } from '../core/options/amounts.ts';
import { type MaxErrors, maxErrorsOf } from '../engine/failure-limits.ts';

/** Reads a whole number from `least` on. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least) return number;
    throw new InvalidArgumentError(`expected a whole number from ${least} on, found "${text}"`);
  };
}

/** A number of requests in flight: a whole number from 1 on, or `auto`. Throws for any other text. */
export function concurrencyArgument(text: string): Concurrency {
  if (text === 'auto') return text;
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1) return number;
  throw new InvalidArgumentError(`expected a whole number from 1 on, or auto, found "${text}"`);
}

/** A number of worker processes: 1 to 256, or `auto` for the number of cores less one. Throws for any other text. */
export function workersArgument(text: string): number {
  if (text === 'auto') return Math.max(1, availableParallelism() - 1);
  const count = wholeNumber(1)(text);
  if (count > maxWorkers) throw new InvalidArgumentError(`expected auto or 1 to ${maxWorkers}, found ${text}`);
  return count;
}

/** Maximum of worker processes. */
const maxWorkers = 256;

/** Reads a duration as ms. */
export function duration(text: string): number {
  const ms = durationMs(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError(`expected a duration such as 30s or 30d, found "${text}"`);
}

/** Refuses an empty name, which is what an unset variable of the shell leaves. */
export function fileName(text: string): string {
  if (text === '') throw new InvalidArgumentError('expected the name of a file, found ""');
  return text;
}

/** Refuses stdout: the file is put into its place once it is whole. */
export function reportName(text: string): string {
  if (text === '-') throw new InvalidArgumentError('expected the name of a file, found -');
  return fileName(text);
}

/** Reads the name of an input; several are gathered. Nothing tells where stdin would end, so it has to be the only one. */
export function inputNames(text: string, before: readonly string[] = []): string[] {
  if (before.length > 0 && [text, ...before].includes('-')) throw new InvalidArgumentError('expected - (stdin) or files, found both');
  return [...before, fileName(text)];
}

/** Refuses a second input file: commander would take the last one only. */
export function inputName(text: string, before?: string): string {
  if (before !== undefined) throw new InvalidArgumentError('expected one input file, found a second one; run it once for each');
  return fileName(text);
}

/** Reads a rate as ms between two requests. */
export function rateArgument(text: string): number {
  const ms = rateIntervalMs(text);
  if (ms === undefined) throw new InvalidArgumentError(`expected a rate such as 10/s, 600/min, 5000/h, found "${text}"`);
  return ms;
}

/** Reads the maximum of failed records: a count, or a percentage of the records. */
export function maxErrorsArgument(text: string): MaxErrors {
  const limit = maxErrorsOf(text);
  if (limit) return limit;
  throw new InvalidArgumentError(`expected a number or a percentage such as 5%, found "${text}"`);
}

/** Reads `field=value`; several are gathered. */
export function setArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, field, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (field === undefined || value === undefined) throw new InvalidArgumentError(`expected field=value, found "${text}"`);
  return [...before, [field, value]];
}

/** Reads `NAME=VALUE`; several are gathered. The error does not show the value, which may be a secret. */
export function variableArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=([\s\S]*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [...before, [name, value]];
  throw new AutomateError('usage', '--var: expected NAME=VALUE, such as region=eu');
}

/** Reads `Name: value`; several are gathered. The error does not show the value, which may be a secret. */
export function headerArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [...before, [name, value]];
  throw new AutomateError('usage', "--set-header: expected a header such as 'Accept: application/json'");
}

/** Reads `VARIABLE=credential`; several are gathered. The error does not show the value, which may be a secret. */
export function passCredentialArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, variable, credential] = /^([A-Za-z_][A-Za-z0-9_]*)=(.+)$/.exec(text) ?? [];
  if (variable && credential) return [...before, [variable, credential]];
  throw new AutomateError('usage', '--pass-credential: expected VARIABLE=CREDENTIAL, such as API_KEY=search-key');
}

/** Reads `name=value`; several are gathered. The error does not show the value, which may be a secret. */
export function paramArgument(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new AutomateError('usage', '--params: expected NAME=VALUE, such as audience=https://api.example.com');
}

/** Reads values separated by commas or blanks; several options are gathered. */
export function listArgument(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(/[\s,]+/).filter((value) => value !== '')];
}
