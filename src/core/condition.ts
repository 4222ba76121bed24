import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { Failure } from './failure.ts';
import type { Fields } from './record.ts';
import { ExactNumber, isObject, type Value } from './value.ts';

/** A compiled CEL expression over a record's fields. Evaluating throws a Failure (`template`). */
export interface Expression<Result> {
  /** The fields it cannot do without, each once. `has(field)` is no such need. */
  readonly fields: readonly string[];
  evaluate(fields: Fields): Result;
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

const environment = new Environment({ homogeneousAggregateLiterals: false })
  .registerVariable('record__', 'map<string, dyn>')
  .registerVariable('present__', 'map<string, dyn>');

const typeNames = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type']);

/**
 * Compiles a CEL expression (github.com/google/cel-spec) whose free names are the record's fields.
 * `has(field)` is true when the record has the field and it is not null. Throws an ExpressionError.
 */
export function compileExpression(source: string): Expression<Value> {
  const names = freeNames(parsed(source).ast, source);
  const evaluate = checked(rewritten(source, names));
  const needed = [...new Set(names.flatMap((name) => (name.inHas ? [] : [name.field])))];
  const used = [...new Set(names.map((name) => name.field))];
  return { fields: needed, evaluate: (fields) => fromCel(evaluated(evaluate, used, fields)) };
}

/** Compiles an expression that must be true or false. */
export function compileCondition(source: string): Expression<boolean> {
  const { fields, evaluate } = compileExpression(source);
  const type = environment.check(rewritten(source, freeNames(parsed(source).ast, source))).type;
  if (type !== undefined && type !== 'bool' && type !== 'dyn') {
    throw new ExpressionError(`expected a condition that is true or false, found one that gives ${type}`);
  }
  return {
    fields,
    evaluate(record) {
      const result = evaluate(record);
      if (typeof result === 'boolean') return result;
      throw failure(`"${source}" gave neither true nor false`);
    },
  };
}

interface FreeName {
  readonly field: string;
  readonly start: number;
  readonly inHas: boolean;
}

type Evaluate = (context: Map<string, unknown>) => unknown;

function parsed(source: string): { ast: ASTNode } {
  try {
    return environment.parse(source);
  } catch (error) {
    throw expressionError(error);
  }
}

function checked(source: string): Evaluate {
  const program = environment.parse(source);
  const check = program.check();
  if (!check.valid) throw expressionError(check.error, false);
  return program as unknown as Evaluate;
}

function expressionError(error: unknown, placed = true): ExpressionError {
  const { summary, range, message } = error as { summary?: string; range?: { start: number }; message: string };
  return new ExpressionError(`not a CEL expression: ${summary ?? message.split('\n')[0]}`, placed ? range?.start : undefined);
}

const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** The names in an expression that no macro binds: the record's fields. */
function freeNames(ast: ASTNode, source: string): FreeName[] {
  const names: FreeName[] = [];
  const typesMeant = source.includes('type(');
  visit(ast, new Set(), false);
  return names;

  function visit(node: unknown, bound: ReadonlySet<string>, inHas: boolean): void {
    if (Array.isArray(node)) for (const child of node) visit(child, bound, inHas);
    if (typeof node !== 'object' || node === null || !('op' in node)) return;
    const { op, args, start } = node as { op: string; args: unknown; start: number };
    if (op === 'id') {
      const field = args as string;
      if (!bound.has(field) && !(typesMeant && typeNames.has(field))) names.push({ field, start, inHas });
    } else if (op === 'call') {
      const [name, called] = args as [string, unknown[]];
      visit(called, bound, name === 'has' && (called[0] as { op?: string }).op === 'id');
    } else if (op === 'rcall') {
      const [name, receiver, called] = args as [string, unknown, { op?: string; args?: string }[]];
      visit(receiver, bound, false);
      const variables = macros.has(name) && called[0]?.op === 'id' ? [called[0].args as string] : [];
      visit(called.slice(variables.length), new Set([...bound, ...variables]), false);
    } else if (op !== 'value') visit(args, bound, false);
  }
}

/** Every free name becomes a look-up in the record, so that no field's name can clash with a word of CEL. */
function rewritten(source: string, names: readonly FreeName[]): string {
  let text = source;
  for (const name of [...names].sort((a, b) => b.start - a.start)) {
    text = `${text.slice(0, name.start)}${name.inHas ? 'present__' : 'record__'}.${text.slice(name.start)}`;
  }
  return text;
}

function evaluated(evaluate: Evaluate, used: readonly string[], fields: Fields): unknown {
  const record = new Map<string, unknown>();
  const present = new Map<string, unknown>();
  for (const name of used) {
    const value = fields.get(name);
    if (value === undefined) continue;
    record.set(name, toCel(value));
    if (value !== null) present.set(name, true);
  }
  try {
    return evaluate(
      new Map<string, unknown>([
        ['record__', record],
        ['present__', present],
      ]),
    );
  } catch (error) {
    throw evaluationFailure(error, used, fields);
  }
}

function evaluationFailure(error: unknown, used: readonly string[], fields: Fields): Failure {
  const summary = (error as { summary?: string }).summary ?? (error as Error).message;
  const missing = used.find((name) => !fields.has(name));
  if (missing !== undefined && /no such key|unknown/i.test(summary)) return failure(`the record has no field "${missing}"`);
  const textMeetsNumber = /overload.*string.*(int|double)|overload.*(int|double).*string/.test(summary);
  return failure(
    `the expression cannot be evaluated: ${summary}${textMeetsNumber ? ' (a CSV cell is text: convert it, as in int(age))' : ''}`,
  );
}

function failure(message: string): Failure {
  return new Failure('template', message, { sent: false });
}

const int64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n };

/** A whole number is a CEL int, every other number a double. */
function toCel(value: Value): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value instanceof ExactNumber) return exactToCel(value.text);
  if (Array.isArray(value)) return value.map(toCel);
  if (isObject(value)) return new Map(Object.entries(value).map(([name, member]) => [name, toCel(member)]));
  return value;
}

function exactToCel(text: string): unknown {
  const integer = /^-?\d+$/.test(text) ? BigInt(text) : undefined;
  return integer !== undefined && integer >= int64.least && integer <= int64.most ? integer : Number(text);
}

function fromCel(value: unknown): Value {
  if (typeof value === 'bigint') return fromBigInt(value);
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Value;
  if (Array.isArray(value)) return value.map(fromCel);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Map) return Object.fromEntries([...value].map(([name, member]) => [String(name), fromCel(member)]));
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fromCel(member)]));
  }
  const primitive = (value as object).valueOf();
  return typeof primitive === 'bigint' ? fromBigInt(primitive) : String(value);
}

function fromBigInt(value: bigint): number | ExactNumber {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : new ExactNumber(String(value));
}
