import { type Document, isMap, isSeq, type Node, type Scalar } from 'yaml';
import { memberUses } from '../core/condition/condition.ts';
import { isQuotedAfter } from '../core/template/body.ts';
import { ExactNumber, jsonOf, textOf } from '../core/value/value.ts';
import { memberNames, type UsedScalar, visitScalars } from './scalars.ts';
import { decidesHost, isExpressionPlace, type OptionPlace, placeOfVariable, type VariablePlace } from './variable-places.ts';
import { type FlowVariables, type PlacedIssue, placeOf, unknownVariable, type VariableValue } from './variables.ts';

/** The text before its variables were replaced; `writtenAt` converts offsets back to it. */
export interface WrittenScalar extends Pick<FilledText, 'writtenAt'> {
  readonly value: string;
}

export interface FilledDocument {
  readonly written: ReadonlyMap<Node, WrittenScalar>;
  readonly problems: readonly PlacedIssue[];
  readonly warnings: readonly PlacedIssue[];
  readonly used: ReadonlyMap<string, VariableValue>;
}

/** Converts an offset in a scalar's text to the offset in the file. */
type OffsetIn = (scalar: Scalar, within: number) => number;

/** Code that reads the document later finds only literal text. */
export function fillVariables(document: Document, variables: FlowVariables, offsetIn: OffsetIn): FilledDocument {
  const problems: PlacedIssue[] = [...variables.issues];
  const found = optionsIn(document);
  for (const { option, text, uses, scalar } of found) {
    for (const use of uses) {
      const message = problemOf(option, use, text, variables);
      const place = wholeUse(text, uses) ? placeOf(scalar) : { offset: offsetIn(scalar, use.start), width: use.end - use.start };
      if (message !== undefined) problems.push({ ...place, message });
    }
  }
  const written = new Map<Node, WrittenScalar>();
  for (const { option, text, uses, scalar, isAlias: isOther } of found) {
    if (uses.length === 0 || isOther) continue;
    const { value, writtenAt } = fill(option, text, uses, variables);
    scalar.value = value;
    written.set(scalar, { value: text, writtenAt });
    if (leavesPathIn(option, text, uses, value)) problems.push({ ...placeOf(scalar), message: leavingPath });
  }
  const used = new Set(found.flatMap(({ uses }) => uses.map(({ name }) => name)));
  const unused = [...variables.names].filter(([name]) => !used.has(name));
  const warnings = unused.map(([name, key]) => ({ ...placeOf(key), message: `the variable "${name}" is never used` }));
  const values = [...variables.values].flatMap(([name, value]) => (used.has(name) && value !== undefined ? [[name, value] as const] : []));
  return { written, problems, warnings, used: new Map(values) };
}

interface FoundOption {
  readonly option: OptionPlace;
  readonly scalar: Scalar;
  readonly text: string;
  readonly uses: readonly VariableUse[];
  /** True if the option is a YAML alias, whose text is written elsewhere in the file. */
  readonly isAlias: boolean;
}

/** Finds options that refer to variables. An alias appears with its text, at the path of the alias. */
function optionsIn(document: Document): FoundOption[] {
  const found: FoundOption[] = [];
  visitScalars(document, ({ scalar, isAlias, ...place }) => {
    const text = scalar.value;
    if (typeof text !== 'string' || !text.includes('vars')) return;
    const option = optionAt(place, text);
    if (option.names[0] === 'vars' || option.names[0] === 'open_vars') return;
    const uses = isExpressionPlace(option) ? usesInExpression(text) : usesInTemplate(text);
    if (uses.length > 0) found.push({ option, scalar, text, uses, isAlias });
  });
  return found;
}

export function optionAt({ key, ancestors }: Pick<UsedScalar, 'key' | 'ancestors'>, text: string): OptionPlace {
  const names = memberNames(ancestors);
  const holder = ancestors.findLast((node) => isMap(node));
  const isInList = isSeq(ancestors[ancestors.lastIndexOf(holder) - 1]);
  if (key === 'key') return { names: [...names.slice(0, -1), text], isKey: true, isAlone: false, isInList };
  return { names, isKey: false, isAlone: isMap(holder) && holder.items.length === 1, isInList };
}

const leavingPath =
  'with this value the path of the URL has a segment "." or "..", which leads out of the path that is written in the flow';

function problemOf(option: OptionPlace, use: VariableUse, text: string, { names, open }: FlowVariables): string | undefined {
  const { name } = use;
  if (!names.has(name)) return unknownVariable(name, names.keys());
  if (isExpressionPlace(option)) return undefined;
  const place = placeOfVariable(option);
  if (place === undefined)
    return 'a variable is not allowed here\nit is allowed wherever {{field}} is, and in base_url, token_url, params, the url of an MCP connection, rate, concurrency and timeout';
  if (!open.has(name)) return undefined;
  const isInHost = place === 'url' && use.start < hostLength(text);
  if (!isInHost && !decidesHost(option) && !isHostHeader(option)) return undefined;
  const where = isInHost ? 'the host of a URL' : isHostHeader(option) ? 'the Host header' : (option.names.at(-1) as string);
  return `"${name}" is listed in open_vars: it is not allowed in ${where}, because a caller could use it to send a credential to a different host\nremove it from open_vars`;
}

/** Behind a gateway, Host decides which server gets the request. */
function isHostHeader({ names }: OptionPlace): boolean {
  return names.at(-2) === 'headers' && names.at(-1)?.toLowerCase() === 'host';
}

function fill(option: OptionPlace, text: string, uses: readonly VariableUse[], { values }: FlowVariables) {
  if (isExpressionPlace(option)) {
    const { text: value, writtenAt } = filledExpression(text, uses, values);
    return { value, writtenAt };
  }
  const valueFor = (name: string) => values.get(name) ?? standIn(name, option, text);
  const place = placeOfVariable(option) ?? 'text';
  const { text: value, writtenAt } = filledTemplate(text, uses, place, valueFor);
  const whole = wholeUse(text, uses);
  return { value: (whole && wholeValue(valueFor(whole.name), place)) ?? value, writtenAt };
}

function leavesPathIn(option: OptionPlace, text: string, uses: readonly VariableUse[], value: unknown): boolean {
  return placeOfVariable(option) === 'url' && leavesPath(text, uses, String(value));
}

/** A placeholder that causes no further problems. The missing value has already been reported, or a caller will provide it. */
function standIn(name: string, option: OptionPlace, text: string): VariableValue {
  const place = placeOfVariable(option);
  if (place === 'setting') return option.names.at(-1) === 'rate' ? '1/s' : 1;
  return place === 'url' && text.startsWith(`{{vars.${name}}}`) ? 'https://variable.invalid' : name;
}

interface VariableUse {
  readonly name: string;
  /** The 0-based position in the text. */
  readonly start: number;
  readonly end: number;
}

/** Finds uses such as `{{vars.api}}`. */
function usesInTemplate(text: string): VariableUse[] {
  return [...text.matchAll(/\{\{vars\.([^{}]*)\}\}/g)].map(({ 0: braces, 1: name = '', index }) => ({
    name,
    start: index,
    end: index + braces.length,
  }));
}

/** Finds uses such as `vars.api`. */
function usesInExpression(text: string): VariableUse[] {
  return memberUses(text, 'vars');
}

interface FilledText {
  readonly text: string;
  /** Converts an offset in `text` to the offset in the text that the user wrote. */
  writtenAt(offset: number): number;
}

/** `shown` returns the text to insert for a variable. */
export function filled(text: string, uses: readonly VariableUse[], shown: (use: VariableUse) => string): FilledText {
  const pieces: { readonly from: number; readonly length: number; readonly use: VariableUse }[] = [];
  let result = '';
  let end = 0;
  for (const use of uses) {
    result += text.slice(end, use.start);
    const inserted = shown(use);
    pieces.push({ from: result.length, length: inserted.length, use });
    result += inserted;
    end = use.end;
  }
  return {
    text: result + text.slice(end),
    writtenAt(offset) {
      const before = pieces.findLast(({ from }) => from <= offset);
      if (!before) return offset;
      const { from, length, use } = before;
      return offset < from + length ? use.start : use.end + offset - from - length;
    },
  };
}

type ValueFor = (name: string) => VariableValue;

/** Inserts CEL literals. A variable without a value becomes a literal of unknown type. */
function filledExpression(text: string, uses: readonly VariableUse[], values: FlowVariables['values']): FilledText {
  return filled(text, uses, ({ name, start, end }) => {
    if (text.startsWith('has(', start) && text[end - 1] === ')') return 'true';
    const value = values.get(name);
    if (value === undefined) return `dyn(${JSON.stringify(name)})`;
    const literal = jsonOf(value);
    return literal.startsWith('-') ? `(${literal})` : literal;
  });
}

/** Each value is escaped as the option requires. */
function filledTemplate(text: string, uses: readonly VariableUse[], place: VariablePlace, valueFor: ValueFor): FilledText {
  if (place === 'json')
    return filled(text, uses, ({ name, start }) => {
      const value = valueFor(name);
      return isQuotedAfter(text.slice(0, start), false) ? JSON.stringify(textOf(value)).slice(1, -1) : jsonOf(value);
    });
  if (place !== 'url') return filled(text, uses, ({ name }) => textOf(valueFor(name)));
  const length = hostLength(text);
  return filled(text, uses, ({ name, start }) => {
    const value = textOf(valueFor(name));
    return start < length ? value : encodeURIComponent(value);
  });
}

/** The part that determines the host. At the start of a relative URL, a variable or field counts, as it might make the URL absolute. */
function hostLength(url: string): number {
  const skeleton = url.replace(/\{\{[^{}]*\}\}/g, (braces) => '\0'.repeat(braces.length));
  return /^(?:[^/?#]*:\/\/)?[^/?#]*/.exec(skeleton)?.[0].length ?? 0;
}

/** A path segment `.` or `..` would send the request to a path other than the one in the flow. */
function leavesPath(written: string, uses: readonly VariableUse[], value: string): boolean {
  return hasDots(value) && !hasDots(filled(written, uses, () => 'x').text);
}

function hasDots(url: string): boolean {
  return /[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i.test(url.replace(/[?#].*$/s, ''));
}

function wholeUse(text: string, uses: readonly VariableUse[]): VariableUse | undefined {
  const [use] = uses;
  return use && use.start === 0 && use.end === text.length ? use : undefined;
}

/** Undefined if the value must be inserted as text. For a setting, converts a string of digits to a number. */
function wholeValue(value: VariableValue, place: VariablePlace): VariableValue | undefined {
  if (place === 'value') return value;
  if (place !== 'setting') return undefined;
  if (value instanceof ExactNumber) return Number(value.text);
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
