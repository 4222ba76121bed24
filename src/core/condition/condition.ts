import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { inQuotes } from '../answer/response.ts';
import { Failure } from '../failure.ts';
import type { Fields } from '../record.ts';
import { missingField } from '../template/template.ts';
import type { Value } from '../value/value.ts';
import { fromCel, toCel } from './cel-value.ts';

/** A compiled CEL expression over a record's fields. Evaluating throws a Failure (`template`). */
export interface Expression<Result> {
  /** The fields it cannot do without, each once. A field that it asks for with `has(field)` is no such need. */
  readonly fields: readonly string[];
  /** Every field it names, each once. */
  readonly named: readonly string[];
  /** Where a field is compared or reckoned with a number: a text is neither. */
  readonly besideNumbers: readonly BesideNumber[];
  evaluate(fields: Fields): Result;
}

/** A field with a number on the other side of an operator. */
interface BesideNumber {
  readonly field: string;
  /** 0-based, in the expression's text. */
  readonly offset: number;
  /** Whether a text there is a failure; else it never equals the number, and nobody would be told. */
  readonly fails: boolean;
}

/** An expression that is no CEL, or gives the wrong type. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  constructor(
    message: string,
    /** 0-based, in the expression's text; absent when all of it is meant. */
    readonly offset?: number,
  ) {
    super(message);
  }
}

const record = 'record__.';
const present = 'present__.';

let made: Environment | undefined;

/** Made with the first expression: most flows have none. */
function environment(): Environment {
  made ??= new Environment({ homogeneousAggregateLiterals: false })
    .registerVariable('record__', 'map<string, dyn>')
    .registerVariable('present__', 'map<string, dyn>')
    .registerFunction('whole__(dyn): dyn', (value: unknown) => asNumber(value, /^[+-]?\d+$/, 'a whole number'))
    .registerFunction('number__(dyn): dyn', (value: unknown) => asNumber(value, /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i, 'a number'));
  return made;
}

/** CEL's own conversions would take an empty text for 0 and `0x10` for 16. */
function asNumber(value: unknown, pattern: RegExp, expected: string): unknown {
  if (typeof value !== 'string' || pattern.test(value)) return value;
  throw new Error(`expected ${expected}, found ${inQuotes(value)}`);
}

/**
 * Compiles a CEL expression (github.com/google/cel-spec) whose free names are the record's fields.
 * `has(field)` is true when the record has the field and it is not null. Throws an ExpressionError.
 */
export function compileExpression(source: string): Expression<Value> {
  return compiled(source).expression;
}

/** Compiles an expression that must be true or false. */
export function compileCondition(source: string): Expression<boolean> {
  const { expression, type } = compiled(source);
  if (type !== 'bool' && type !== 'dyn') {
    throw new ExpressionError(`expected a condition that is true or false, found one that gives ${type}`);
  }
  return {
    ...expression,
    evaluate(fields) {
      const result = expression.evaluate(fields);
      if (typeof result === 'boolean') return result;
      throw failure(`"${source}" gave neither true nor false`);
    },
  };
}

function compiled(source: string): { expression: Expression<Value>; type: string } {
  const places = placesIn(parsed(source), source);
  const text = rewritten(source, places);
  const program = programOf(text, places);
  const { valid, error, type = 'dyn' } = program.check();
  if (!valid) throw expressionError(error, (offset) => writtenOffset(offset, places));
  const asked = new Set(places.names.flatMap(({ field, inHas }) => (inHas ? [field] : [])));
  const used = [...new Set(places.names.map(({ field }) => field))];
  const evaluate = program as unknown as (context: Map<string, unknown>) => unknown;
  return {
    type,
    expression: {
      fields: used.filter((field) => !asked.has(field)),
      named: used,
      besideNumbers: places.besideNumbers,
      evaluate: (fields) => evaluated(() => evaluate(contextOf(used, fields)), text, fields),
    },
  };
}

/** A macro such as cel.bind, which names a variable, is refused only where the names are look-ups. */
function programOf(text: string, places: Places): ReturnType<Environment['parse']> {
  try {
    return environment().parse(text);
  } catch (error) {
    throw expressionError(error, (offset) => writtenOffset(offset, places));
  }
}

function parsed(source: string): ASTNode {
  try {
    return environment().parse(source).ast;
  } catch (error) {
    throw bracesError(source) ?? behindEndError(error, source) ?? equalsError(error, source) ?? expressionError(error, (offset) => offset);
  }
}

/** The error of an expression that is CEL but for the braces around its fields. */
function bracesError(source: string): ExpressionError | undefined {
  const bare = source.replace(/\{\{\s*(\w+)\s*\}\}/g, '$1');
  if (bare === source) return undefined;
  try {
    environment().parse(bare);
  } catch {
    return undefined;
  }
  return new ExpressionError(`fields stand in expressions without braces: ${bare}`, source.indexOf('{{'));
}

/** The error of an expression that goes on where it could end: the library names the last character of what follows. */
function behindEndError(error: unknown, source: string): ExpressionError | undefined {
  const { code, summary = '', range } = error as CelError;
  if (code !== 'unexpected_character' || !summary.endsWith("'") || !range) return undefined;
  const found = source.slice(range.start, range.end);
  return new ExpressionError(`not a CEL expression: expected its end, or an operator such as == or &&, found ${found}`, range.start);
}

/** The error of an expression that has one = where two would compare. */
function equalsError(error: unknown, source: string): ExpressionError | undefined {
  const { range } = error as CelError;
  if (!range || !/^[^=<>!]=\s*[^=\s]/.test(source.slice(Math.max(0, range.start - 1)))) return undefined;
  return new ExpressionError('not a CEL expression: expected == to compare, found =', range.start);
}

interface CelError {
  readonly code?: string;
  readonly summary?: string;
  readonly message: string;
  readonly range?: { readonly start: number; readonly end: number };
}

function expressionError(error: unknown, writtenAt: (offset: number) => number): ExpressionError {
  const { code, summary, range, message } = error as CelError;
  const offset = range && writtenAt(range.start);
  const reason = summary ?? (message.split('\n')[0] as string);
  if (code === 'reserved_identifier') return new ExpressionError(reservedWord(reason.split(': ')[1] as string), offset);
  return new ExpressionError(`not a CEL expression: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`, offset);
}

function reservedWord(word: string): string {
  const mend = `rename the field with a set node first: rename: { ${word}: ${word.replaceAll('__', '')}_field }`;
  return `"${word}" is a word that CEL keeps for itself\n${mend}`;
}

/** What has to be rewritten in an expression. */
interface Places {
  /** The names that no macro binds: the record's fields. */
  readonly names: readonly { readonly field: string; readonly start: number; readonly inHas: boolean }[];
  readonly besideNumbers: Expression<unknown>['besideNumbers'];
  /** Texts to put in so that fields are looked up in the record, and texts strictly converted. In order. */
  readonly insertions: readonly { readonly at: number; readonly text: string }[];
}

const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
const typeNames = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type']);
const conversions: Readonly<Record<string, string>> = { int: 'whole__(', uint: 'whole__(', double: 'number__(' };

interface Operand {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
}

/** What takes numbers on both sides, or texts on both. */
const numberOperators = new Set(['==', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%']);

function placesIn(ast: ASTNode, source: string): Places {
  const names: { field: string; start: number; inHas: boolean }[] = [];
  const insertions: { at: number; text: string }[] = [];
  const besideNumbers: BesideNumber[] = [];
  const typesMeant = source.includes('type(');
  visit(ast, new Set(), false);
  return { names, besideNumbers, insertions: insertions.sort((a, b) => a.at - b.at) };

  function visit(node: unknown, bound: ReadonlySet<string>, inHas: boolean): void {
    if (Array.isArray(node)) for (const child of node) visit(child, bound, inHas);
    if (typeof node !== 'object' || node === null || !('op' in node)) return;
    const { op, args, start, end } = node as { op: string; args: unknown; start: number; end: number };
    if (op === 'id') visitName(args as string, start, bound, inHas);
    else if (op === 'call') {
      const [name, called] = args as [string, { op?: string }[]];
      const conversion = called.length === 1 ? conversions[name] : undefined;
      if (conversion !== undefined) insertions.push({ at: source.indexOf('(', start) + 1, text: conversion });
      visit(called, bound, name === 'has' && called[0]?.op === 'id');
      if (conversion !== undefined) insertions.push({ at: end - 1, text: ')' });
    } else if (op === 'rcall') {
      const [name, receiver, called] = args as [string, unknown, { op?: string; args?: string }[]];
      visit(receiver, bound, false);
      const variables = macros.has(name) && called[0]?.op === 'id' ? [called[0].args as string] : [];
      visit(called.slice(variables.length), new Set([...bound, ...variables]), false);
    } else if (op !== 'value') {
      if (numberOperators.has(op)) visitOperands(op, args as Operand[], bound);
      visit(args, bound, false);
    }
  }

  function visitOperands(op: string, operands: Operand[], bound: ReadonlySet<string>): void {
    const name = operands.find((operand) => operand.op === 'id' && !bound.has(operand.args as string));
    const isNumber = operands.some(({ op, args }) => op === 'value' && (typeof args === 'bigint' || typeof args === 'number'));
    if (name && isNumber) besideNumbers.push({ field: name.args as string, offset: name.start, fails: op !== '==' && op !== '!=' });
  }

  function visitName(field: string, start: number, bound: ReadonlySet<string>, inHas: boolean): void {
    if (bound.has(field) || (typesMeant && typeNames.has(field))) return;
    names.push({ field, start, inHas });
    insertions.push({ at: start, text: inHas ? present : record });
  }
}

/** Every free name becomes a look-up in the record, so that no field's name can clash with a word of CEL. */
function rewritten(source: string, { insertions }: Places): string {
  let text = '';
  let copied = 0;
  for (const { at, text: put } of insertions) {
    text += source.slice(copied, at) + put;
    copied = at;
  }
  return text + source.slice(copied);
}

/** Where something in the rewritten text stands in the text as it was written. */
function writtenOffset(offset: number, { insertions }: Places): number {
  let put = 0;
  for (const { at, text } of insertions) {
    if (at + put >= offset) break;
    put += Math.min(text.length, offset - at - put);
  }
  return offset - put;
}

function contextOf(used: readonly string[], fields: Fields): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const presences = new Map<string, unknown>();
  for (const name of used) {
    const value = fields.get(name);
    if (value === undefined) continue;
    values.set(name, toCel(value));
    if (value !== null) presences.set(name, true);
  }
  return new Map([
    ['record__', values],
    ['present__', presences],
  ]);
}

function evaluated(evaluate: () => unknown, text: string, fields: Fields): Value {
  try {
    return fromCel(evaluate());
  } catch (error) {
    throw evaluationFailure(error as CelError, text, fields);
  }
}

function evaluationFailure({ code, summary, message, range }: CelError, text: string, fields: Fields): Failure {
  if (code === 'no_such_key' && range && text.slice(0, range.start).endsWith(record)) {
    return missingField(text.slice(range.start, range.end), fields);
  }
  if (summary === undefined) return failure(message);
  return failure(`the expression cannot be evaluated: ${summary}${hint(summary)}`);
}

function hint(summary: string): string {
  if (/overload.*\bnull\b|got 'null'$/.test(summary))
    return ' (a field is null, as one is that the answer lacks: ask first, as in has(age) && age >= 18)';
  const [, left, right] = /^no such overload: (\S+) \S+ (\S+)$/.exec(summary)?.map((type) => type.replace(/^dyn<(.*)>$/, '$1')) ?? [];
  const types = [left, right];
  const isNumber = types.includes('int') || types.includes('double');
  if (types.includes('string') && isNumber) return ' (a CSV cell is text: convert it, as in int(age))';
  if (types.includes('int') && types.includes('double')) {
    return ' (whole numbers and others do not mix: convert them, as in double(price) * 2.0)';
  }
  return '';
}

function failure(message: string): Failure {
  return new Failure('template', message, { sent: false });
}
