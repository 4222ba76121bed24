import { InvalidArgumentError } from 'commander';
import { usageError } from '../core/failure.ts';
import type { OptionType, Pairs } from '../core/run-options.ts';
import * as types from '../core/run-options.ts';

export function parser<Value>({ expected, parse }: OptionType<Value>): (text: string, before?: Value) => Value {
  return (text, before) => {
    const value = parse(text, before);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`expected ${expected}, found "${text}"`);
  };
}

export const wholeNumber = (least: number) => parser(types.wholeNumber(least));

export const duration = parser(types.duration);

export const fileName = parser(types.fileName);

/** Unlike `fileName`, refuses `-`. */
export const reportName = parser(types.reportName);

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

/** Parses a pair such as `Name: value`. The error does not show the text, which might contain a secret. */
function pairOf(text: string, form: RegExp, expected: string): [string, string] {
  const [, name, value] = form.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageError(expected);
}

export function headerArgument(text: string, before: Pairs = []): Pairs {
  return [...before, pairOf(text, /^([^:\s]+):\s*(.*)$/s, "--set-header: expected a header such as 'Accept: application/json'")];
}

export function passCredentialArgument(text: string, before: Pairs = []): Pairs {
  const expected = '--pass-credential: expected VARIABLE=CREDENTIAL, such as API_KEY=search-key';
  return [...before, pairOf(text, /^([A-Za-z_][A-Za-z0-9_]*)=(.+)$/, expected)];
}

export function paramArgument(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [name, value] = pairOf(text, /^([^=\s]+)=(.*)$/s, '--params: expected NAME=VALUE, such as audience=https://api.example.com');
  return { ...before, [name]: value };
}

/** In the value, `\n` stands for a line break. */
export function authSetArgument(text: string, before: Pairs = []): Pairs {
  const expected = '--auth-set: expected OPTION=VALUE, such as issuer=12345 or headers.X-Key=partner-17';
  const [name, value] = pairOf(text, /^([^=\s]+)=(.+)$/s, expected);
  return [...before, [name, value.replaceAll('\\n', '\n')]];
}

/** The values are separated by commas or spaces. */
export function listArgument(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(/[\s,]+/).filter((value) => value !== '')];
}
