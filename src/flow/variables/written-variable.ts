import { memberUses } from '../../core/condition/condition.ts';
import { isQuotedAfter } from '../../core/template/body.ts';
import { ExactNumber, jsonOf, textOf } from '../../core/value/value.ts';
import type { VariablePlace } from './variable-places.ts';
import type { FlowVariables, VariableValue } from './variables.ts';

/** A variable in an option's text. */
export interface VariableUse {
  readonly name: string;
  /** 0-based, in the option's text. */
  readonly start: number;
  readonly end: number;
}

/** The variables in a template, such as `{{vars.api}}`. */
export function usesInTemplate(text: string): VariableUse[] {
  return [...text.matchAll(/\{\{vars\.([^{}]*)\}\}/g)].map(({ 0: braces, 1: name = '', index }) => ({
    name,
    start: index,
    end: index + braces.length,
  }));
}

/** The variables in an expression, such as `vars.api`. */
export function usesInExpression(text: string): VariableUse[] {
  return memberUses(text, 'vars');
}

/** The options' text with values in place of its variables. */
export interface FilledText {
  readonly text: string;
  /** The offset in the text as it was written of an offset in `text`. */
  writtenAt(offset: number): number;
}

/** Fills a text. `shown`: the text of the value for its place. */
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

/** Fills an expression: a value is a literal of CEL. A variable without a value may have any type. */
export function filledExpression(text: string, uses: readonly VariableUse[], values: FlowVariables['values']): FilledText {
  return filled(text, uses, ({ name, start, end }) => {
    if (text.startsWith('has(', start) && text[end - 1] === ')') return 'true';
    const value = values.get(name);
    if (value === undefined) return `dyn(${JSON.stringify(name)})`;
    const literal = jsonOf(value);
    return literal.startsWith('-') ? `(${literal})` : literal;
  });
}

/** Fills a template for its place. */
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

/** The length of the part of a URL that decides its host. A relative URL that begins with a variable or a field may become a whole one. */
export function hostLength(url: string): number {
  const skeleton = url.replace(/\{\{[^{}]*\}\}/g, (braces) => '\0'.repeat(braces.length));
  return /^(?:[^/?#]*:\/\/)?[^/?#]*/.exec(skeleton)?.[0].length ?? 0;
}

/** True if a variable fills a URL's path with a segment `.` or `..`, which would leave the path that the flow names. */
export function leavesPath(written: string, uses: readonly VariableUse[], value: string): boolean {
  return hasDots(value) && !hasDots(filled(written, uses, () => 'x').text);
}

function hasDots(url: string): boolean {
  return /[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i.test(url.replace(/[?#].*$/s, ''));
}

/** The only variable of a text, if the text is nothing else. */
export function wholeUse(text: string, uses: readonly VariableUse[]): VariableUse | undefined {
  const [use] = uses;
  return use && use.start === 0 && use.end === text.length ? use : undefined;
}

/** The value of an option that a whole variable fills. A setting that takes a number takes its digits, too. */
export function wholeValue(value: VariableValue, place: VariablePlace): VariableValue | undefined {
  if (place === 'value') return value;
  if (place !== 'setting') return undefined;
  if (value instanceof ExactNumber) return Number(value.text);
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
}
