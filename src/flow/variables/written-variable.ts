import { memberUses } from '../../core/condition/condition.ts';
import { isQuotedAfter } from '../../core/template/body.ts';
import { ExactNumber, jsonOf, textOf } from '../../core/value/value.ts';
import type { VariablePlace } from './variable-places.ts';
import type { FlowVariables, VariableValue } from './variables.ts';

/** A use of a variable in the text of an option. */
export interface VariableUse {
  readonly name: string;
  /** The 0-based position in the text. */
  readonly start: number;
  readonly end: number;
}

/** Returns the uses of variables in a template, such as `{{vars.api}}`. */
export function usesInTemplate(text: string): VariableUse[] {
  return [...text.matchAll(/\{\{vars\.([^{}]*)\}\}/g)].map(({ 0: braces, 1: name = '', index }) => ({
    name,
    start: index,
    end: index + braces.length,
  }));
}

/** Returns the uses of variables in an expression, such as `vars.api`. */
export function usesInExpression(text: string): VariableUse[] {
  return memberUses(text, 'vars');
}

/** The text of an option whose variables have been replaced with their values. */
export interface FilledText {
  readonly text: string;
  /** Converts an offset in `text` to the offset in the text that the user wrote. */
  writtenAt(offset: number): number;
}

/** Replaces the variables in a string. For each use of a variable, `shown` returns the text to insert. */
function filled(text: string, uses: readonly VariableUse[], shown: (use: VariableUse) => string): FilledText {
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

/** Replaces the variables in an expression with CEL literals. For a variable without a value, inserts a literal of unknown type. */
export function filledExpression(text: string, uses: readonly VariableUse[], values: FlowVariables['values']): FilledText {
  return filled(text, uses, ({ name, start, end }) => {
    if (text.startsWith('has(', start) && text[end - 1] === ')') return 'true';
    const value = values.get(name);
    if (value === undefined) return `dyn(${JSON.stringify(name)})`;
    const literal = jsonOf(value);
    return literal.startsWith('-') ? `(${literal})` : literal;
  });
}

/** Replaces the variables in a template. Each value is escaped as the option requires. */
export function filledTemplate(text: string, uses: readonly VariableUse[], place: VariablePlace, valueFor: ValueFor): FilledText {
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

/**
 * Returns the length of the part of a URL that determines its host. If a relative URL begins with a variable or a field, that part counts,
 * too, because its value might make the URL absolute.
 */
export function hostLength(url: string): number {
  const skeleton = url.replace(/\{\{[^{}]*\}\}/g, (braces) => '\0'.repeat(braces.length));
  return /^(?:[^/?#]*:\/\/)?[^/?#]*/.exec(skeleton)?.[0].length ?? 0;
}

/**
 * True if a variable's value adds a path segment `.` or `..` to a URL. The request would then go to a path other than the one in the flow.
 */
export function leavesPath(written: string, uses: readonly VariableUse[], value: string): boolean {
  return hasDots(value) && !hasDots(filled(written, uses, () => 'x').text);
}

function hasDots(url: string): boolean {
  return /[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i.test(url.replace(/[?#].*$/s, ''));
}

/** Returns the use of a variable if it is the whole text; undefined otherwise. */
export function wholeUse(text: string, uses: readonly VariableUse[]): VariableUse | undefined {
  const [use] = uses;
  return use && use.start === 0 && use.end === text.length ? use : undefined;
}

/**
 * Returns the value of an option that consists of a single variable; undefined if the value must be inserted as text. For a setting,
 * converts a string of digits to a number.
 */
export function wholeValue(value: VariableValue, place: VariablePlace): VariableValue | undefined {
  if (place === 'value') return value;
  if (place !== 'setting') return undefined;
  if (value instanceof ExactNumber) return Number(value.text);
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
