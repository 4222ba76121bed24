import { InvalidArgumentError } from 'commander';
import { rateIntervalMs } from '../core/duration.ts';
import type { MaxErrors } from '../engine/max-errors.ts';

/** A whole number from `least` on. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least) return number;
    throw new InvalidArgumentError(`expected a whole number from ${least} on, found "${text}"`);
  };
}

/** Any name but none at all, which is what a variable of the shell leaves that is not set. */
export function fileName(text: string): string {
  if (text === '') throw new InvalidArgumentError('expected the name of a file, found ""');
  return text;
}

/** The one input: of several, all but the last would be lost. */
export function inputName(text: string, before?: string): string {
  if (before !== undefined) throw new InvalidArgumentError('expected one input file, found a second one; run it once for each');
  return fileName(text);
}

/** Ms between two requests. */
export function rateArgument(text: string): number {
  const ms = rateIntervalMs(text);
  if (ms === undefined) throw new InvalidArgumentError(`expected a rate such as 10/s, 600/min, 5000/h, found "${text}"`);
  return ms;
}

/** How many records may fail: a count, or a share of them. */
export function maxErrorsArgument(text: string): MaxErrors {
  if (/^\d+$/.test(text)) return { count: Number(text) };
  const share = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (share !== undefined && Number(share) <= 100) return { share: Number(share) / 100 };
  throw new InvalidArgumentError(`expected a number or a percentage such as 5%, found "${text}"`);
}

/** `field=value`, gathered. */
export function setArgument(text: string, before: readonly [string, string][]): [string, string][] {
  const [, field, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  if (field === undefined || value === undefined) throw new InvalidArgumentError(`expected field=value, found "${text}"`);
  return [...before, [field, value]];
}

/** `Name: value`, gathered. */
export function headerArgument(text: string, before: readonly [string, string][]): [string, string][] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("expected a header such as 'Accept: application/json'");
  return [...before, [name, value]];
}

/** Values with commas or blanks between them, gathered. */
export function listArgument(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(/[\s,]+/).filter((value) => value !== '')];
}
