import { availableParallelism } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { durationMs, rateIntervalMs } from '../core/duration.ts';
import { AutomateError } from '../core/failure.ts';
import type { Concurrency } from '../core/options/amounts.ts';
import type { MaxErrors, OutTypes } from '../core/run-options.ts';
import { maxErrorsOf } from '../engine/failure-limits.ts';
import type { MetricsAddress } from '../report/metrics-server.ts';

export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least) return number;
    throw new InvalidArgumentError(`expected a whole number of at least ${least}, found "${text}"`);
  };
}

/** Throws for any text but a whole number from 1, or `auto`. */
export function concurrencyArgument(text: string): Concurrency {
  if (text === 'auto') return text;
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1) return number;
  throw new InvalidArgumentError(`expected a whole number of at least 1, or auto, found "${text}"`);
}

/** Parses a number from 1 to 256, or `auto` for one less than the number of cores. Throws for any other text. */
export function workersArgument(text: string): number {
  if (text === 'auto') return Math.max(1, availableParallelism() - 1);
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= maxWorkers) return count;
  throw new InvalidArgumentError(`expected auto or 1 to ${maxWorkers}, found "${text}"`);
}

/** Throws for any text but `text`. */
export function outTypesArgument(text: string): OutTypes {
  if (text === 'text') return text;
  throw new InvalidArgumentError(`expected text, found "${text}"`);
}

const maxWorkers = 256;

/** Parses a port, which only this machine can reach, or `HOST:PORT`. Throws for any other text. */
export function addressArgument(text: string): MetricsAddress {
  const [, ipv6, name, digits] = /^(?:(?:\[([\da-fA-F:.]+)\]|([^\s:/@[\]]+)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535) return { host: ipv6 ?? name ?? '127.0.0.1', port };
  throw new InvalidArgumentError(`expected a port, or HOST:PORT such as 0.0.0.0:9464, found "${text}"`);
}

/** Parses a duration such as `30s` into ms. Throws for any other text. */
export function duration(text: string): number {
  const ms = durationMs(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError(`expected a duration such as 30s or 30d, found "${text}"`);
}

/** Throws if the name is empty, which happens if a shell variable in it is not set. */
export function fileName(text: string): string {
  if (text === '') throw new InvalidArgumentError('expected the name of a file, found ""');
  return text;
}

/** Throws for `-` (stdout), because a complete report is moved into place, which is possible only with a file. */
export function reportName(text: string): string {
  if (text === '-') throw new InvalidArgumentError('expected the name of a file, found -');
  return fileName(text);
}

/** Throws if stdin (`-`) is combined with another input, because it would not be known where stdin ends and the next input begins. */
export function inputNames(text: string, before: readonly string[] = []): string[] {
  if (before.length > 0 && [text, ...before].includes('-')) throw new InvalidArgumentError('expected - (stdin) or files, found both');
  return [...before, fileName(text)];
}

/** Throws if there is a second input, because the parser (commander) would silently use only the last. */
export function inputName(text: string, before?: string): string {
  if (before !== undefined)
    throw new InvalidArgumentError('expected one input file, found a second one; run the command once for each file');
  return fileName(text);
}

/** Parses a rate such as `10/s` into the time between the starts of two requests, in ms. Throws for any other text. */
export function rateArgument(text: string): number {
  const ms = rateIntervalMs(text);
  if (ms === undefined) throw new InvalidArgumentError(`expected a rate such as 10/s, 600/min, 5000/h, found "${text}"`);
  return ms;
}

/** Parses a count or a percentage of the records. Throws for any other text. */
export function maxErrorsArgument(text: string): MaxErrors {
  const limit = maxErrorsOf(text);
  if (limit) return limit;
  throw new InvalidArgumentError(`expected a number or a percentage such as 5%, found "${text}"`);
}

/** Parses `field=value`; `before` has the values of earlier uses of the option. */
export function setArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, field, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (field === undefined || value === undefined) throw new InvalidArgumentError(`expected field=value, found "${text}"`);
  return [...before, [field, value]];
}

/** Parses `NAME=VALUE`. The error does not show the value, which might be a secret. */
export function variableArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=([\s\S]*)$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [...before, [name, value]];
  throw new AutomateError('usage', '--var: expected NAME=VALUE, such as region=eu');
}

/** Parses `Name: value`. The error does not show the value, which might be a secret. */
export function headerArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [...before, [name, value]];
  throw new AutomateError('usage', "--set-header: expected a header such as 'Accept: application/json'");
}

/** Parses `VARIABLE=credential`. The error does not show the text, which might contain a secret. */
export function passCredentialArgument(text: string, before: readonly [string, string][] = []): [string, string][] {
  const [, variable, credential] = /^([A-Za-z_][A-Za-z0-9_]*)=(.+)$/.exec(text) ?? [];
  if (variable && credential) return [...before, [variable, credential]];
  throw new AutomateError('usage', '--pass-credential: expected VARIABLE=CREDENTIAL, such as API_KEY=search-key');
}

/** Parses `name=value`. The error does not show the value, which might be a secret. */
export function paramArgument(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return { ...before, [name]: value };
  throw new AutomateError('usage', '--params: expected NAME=VALUE, such as audience=https://api.example.com');
}

/** The values are separated by commas or spaces. */
export function listArgument(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(/[\s,]+/).filter((value) => value !== '')];
}
