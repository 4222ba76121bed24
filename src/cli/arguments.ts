import { InvalidArgumentError } from 'commander';
import { AutomateError } from '../core/failure.ts';
import type { OptionType } from '../core/run-options.ts';
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

/** Parses `option=value`, in which `\n` stands for a line break. The error does not show the value, which might be a secret. */
export function authSetArgument(text: string, before: readonly (readonly [string, string])[] = []): (readonly [string, string])[] {
  const [, name, value] = /^([^=\s]+)=(.+)$/s.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [...before, [name, value.replaceAll('\\n', '\n')]];
  throw new AutomateError('usage', '--auth-set: expected OPTION=VALUE, such as issuer=12345 or headers.X-Key=partner-17');
}

/** The values are separated by commas or spaces. */
export function listArgument(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(/[\s,]+/).filter((value) => value !== '')];
}
