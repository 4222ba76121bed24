import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { inQuotes } from '../answer/response.ts';
import { Failure } from '../failure.ts';
import type { Fields } from '../record.ts';
import { missingField } from '../template/template.ts';
import { shortName } from '../text/suggest.ts';
import { orUndefined, type Value } from '../value/value.ts';
import { createEnvironment } from './cel.ts';
import { checkZone, readablePattern, writablePattern } from './dates.ts';
import { Evaluation, type EvaluationClock } from './evaluation.ts';
import {
  type CelError,
  ExpressionError,
  expressionError,
  isTooDeep,
  operandAdvice,
  overloadText,
  parseError,
  tooDeep,
  written,
} from './expression-error.ts';
import { fromCel, plainCel, registerFunctions, toCel, toExactCel } from './functions.ts';
import type { Mismatch } from './mismatches.ts';
import { isoMoment } from './moment.ts';
import { Patterns, patternAdvice } from './pattern.ts';
import { presenceTest } from './presence.ts';
import {
  evaluationVariable,
  exactVariable,
  hasMacro,
  type LiteralPattern,
  type Member,
  type MemberUse,
  nullTestsOf,
  type PatternKind,
  plainFunction,
  type References,
  recordVariable,
  referencesIn,
  usesOfMembers,
  usesWhole,
  wholeUses,
} from './references.ts';
import { remembered } from './remembered.ts';
import { numberForm } from './texts.ts';

/** A compiled CEL expression over a record's fields. `evaluate` throws a Failure (`template`) if the evaluation fails. */
export interface Expression<Result> {
  /** The fields that the expression requires, without duplicates. A field is not required if the expression tests it with `has(field)`. */
  readonly fields: readonly string[];
  readonly named: readonly string[];
  /** The fields that are only named as members of `record`, as in `record["First Name"]`. */
  readonly ofRecord: ReadonlySet<string>;
  /** The fields that are compared with a number or a boolean, or used in a calculation. For a string, this fails or is never true. */
  readonly mismatches: readonly Mismatch[];
  /** The field whose value the expression gives unchanged. */
  readonly copied?: string;
  /** True if its value depends on the time, because it contains `now()`. */
  readonly usesNow: boolean;
  evaluate(fields: Fields, clock: EvaluationClock): Result;
}

interface ExpressionScope {
  /** The variable whose members can be named directly: the record's field `id` is then written `id`. */
  readonly owner?: string;
  readonly types: Readonly<Record<string, string>>;
}

const recordScope: ExpressionScope = { owner: recordVariable, types: { [recordVariable]: 'map<string, dyn>' } };

const answerTypes = { status: 'int', headers: 'map<string, string>', body: 'dyn', record: 'map<string, dyn>' } as const;

/** A variable that a condition about a response may use. */
export type AnswerVariable = keyof typeof answerTypes;

const answerScope: ExpressionScope = { types: answerTypes };

/** All flows share the environments, because an environment only parses and checks, and keeps nothing of an expression. */
const environmentOf = remembered((scope: ExpressionScope): Environment => {
  const made = registerFunctions(createEnvironment({ homogeneousAggregateLiterals: false }))
    .registerVariable(exactVariable, 'map<string, dyn>')
    .registerVariable(evaluationVariable, 'Evaluation')
    .registerFunction(`${plainFunction}(dyn): dyn`, plainCel)
    .registerFunction(`${hasMacro}(ast): bool`, presenceTest as never)
    .registerFunction('moment__(dyn): dyn', (value: unknown) => asMoment(value))
    .registerFunction('whole__(dyn): dyn', (value: unknown) => asWhole(value, -(2n ** 63n), 2n ** 63n - 1n))
    .registerFunction('natural__(dyn): dyn', (value: unknown) =>
      asWhole(typeof value === 'bigint' ? String(value) : value, 0n, 2n ** 64n - 1n),
    )
    .registerFunction('number__(dyn): dyn', (value: unknown) => asNumber(value, /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i, 'a number'));
  for (const [name, type] of Object.entries(scope.types)) made.registerVariable(name, type);
  return made;
});

/** The library's own error has neither the value nor the range, and calls a number of more than 20 characters no number. */
function asWhole(value: unknown, min: bigint, max: bigint): unknown {
  const text = asNumber(value, /^[+-]?\d+$/, 'a whole number');
  if (typeof text !== 'string') return value;
  const number = BigInt(text);
  if (number >= min && number <= max) return number;
  throw new Error(`expected a whole number from ${min} to ${max}, found ${inQuotes(text)}`);
}

/** The library reads only texts of 20 to 30 characters, and its error does not have the value. */
function asMoment(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? isoMoment(value) : value;
}

/** Throws an Error for a string that is not a number. CEL's own conversions would read an empty string as 0, and `0x10` as 16. */
function asNumber(value: unknown, pattern: RegExp, expected: string): unknown {
  if (typeof value !== 'string' || pattern.test(value)) return value;
  throw new Error(`expected ${expected}, found ${inQuotes(value)}`);
}

/**
 * Compiles a CEL expression (github.com/google/cel-spec) in which the record's fields are variables. `has(field)` is true if the record has
 * the field and the value is not null. Throws an ExpressionError if the expression is invalid.
 */
export function compileExpression(source: string): Expression<Value> {
  return checkedExpression(source, recordScope).expression;
}

/** Compiles an expression that must evaluate to true or false. Throws an ExpressionError if the expression is invalid. */
export function compileCondition(source: string): Expression<boolean> {
  return conditionOf(source, checkedExpression(source, recordScope));
}

export interface AnswerCondition extends Expression<boolean> {
  readonly source: string;
  /** The 0-based offset of the first use of `record` in the expression. */
  readonly recordAt: number | undefined;
  /** The record's fields that the condition refers to, each with the text by which the expression does so. */
  readonly recordFields: readonly Pick<Member, 'name' | 'written' | 'isTested'>[];
}

/** `evaluate` receives the variables as fields. Throws an ExpressionError if the condition is invalid. */
export function compileAnswerCondition(source: string, variables: readonly AnswerVariable[]): AnswerCondition {
  const typed = checkedExpression(source, answerScope, variables);
  return {
    ...conditionOf(source, typed),
    source,
    recordAt: typed.names.find(({ field }) => field === 'record')?.start,
    recordFields: typed.members.filter((member) => member.of === 'record'),
  };
}

/** Compiles an expression about a response that gives any value. Throws an ExpressionError if it is invalid. */
export function compileAnswerExpression(source: string, variables: readonly AnswerVariable[]): Expression<Value> {
  return checkedExpression(source, answerScope, variables).expression;
}

function refuseUnknown(names: References['names'], variables: readonly AnswerVariable[]): void {
  const unknown = names.find(({ field }) => !variables.some((name) => name === field));
  if (!unknown) return;
  const { field: name, start } = unknown;
  const expected = `${variables.slice(0, -1).join(', ')} or ${variables.at(-1)}`;
  const orRecord = variables.includes('record') ? `, or record.${name} for a field of the record` : '';
  const wayOut = `write body.${name} for a part of the answer${orRecord}`;
  throw new ExpressionError(`no variable "${name}"; expected ${expected}\n${wayOut}`, start);
}

/** Returns the expression as a condition. Throws an ExpressionError if the expression can never evaluate to true or false. */
function conditionOf(source: string, { expression, type }: TypedExpression): Expression<boolean> {
  if (type !== 'bool' && type !== 'dyn') {
    throw new ExpressionError(`expected a condition that is true or false, found one that gives ${type}`);
  }
  return {
    ...expression,
    evaluate(fields, clock) {
      const result = expression.evaluate(fields, clock);
      if (typeof result === 'boolean') return result;
      throw evaluationFailure(`"${source}" gave neither true nor false`);
    },
  };
}

/** The CEL library works recursively. Its error for too deep nesting is replaced with a clearer one. */
function checkedExpression(source: string, scope: ExpressionScope, variables?: readonly AnswerVariable[]): TypedExpression {
  try {
    return typedExpression(source, scope, variables);
  } catch (error) {
    throw isTooDeep(error as CelError) ? new ExpressionError(tooDeep) : error;
  }
}

interface TypedExpression extends Pick<References, 'names' | 'members'> {
  readonly expression: Expression<Value>;
  readonly type: string;
}

function typedExpression(source: string, scope: ExpressionScope, variables: readonly AnswerVariable[] | undefined): TypedExpression {
  const ast = parse(source, scope);
  const references = referencesIn(ast, source, scope.owner);
  const { names, members, mismatches, loops, keepsDigits, text } = references;
  const patterns = new Patterns();
  for (const literal of references.patterns) checkPattern(literal, patterns);
  if (variables) refuseUnknown(names, variables);
  const program = programOf(references, scope);
  const { valid, error, type = 'dyn' } = program.check();
  if (!valid) throw expressionError(error as CelError, references.writtenAt, source);
  const record = scope.owner === undefined ? undefined : recordUsesIn(ast, members);
  const tested = new Set([...names.flatMap(({ field, inHas }) => (inHas ? [field] : [])), ...(record?.tested ?? [])]);
  const direct = names.flatMap(({ field }) => (record && field === 'record' && !record.isField ? [] : [field]));
  const named = [...new Set([...direct, ...(record?.fields ?? [])])];
  const evaluate = program as unknown as (context: Map<string, unknown>) => unknown;
  return {
    type,
    names,
    members,
    expression: {
      fields: named.filter((field) => !tested.has(field)),
      named,
      ofRecord: new Set(record?.fields.filter((field) => !direct.includes(field))),
      mismatches,
      copied: ast.op === 'id' ? (ast.args as string) : undefined,
      usesNow: /\bnow\s*\(/.test(source),
      evaluate(fields, clock) {
        const evaluation = new Evaluation(clock, patterns);
        try {
          const variables = variablesFor({ named, record, keepsDigits }, fields, scope).set(evaluationVariable, evaluation);
          const run = () => evaluate(variables);
          if (loops === 0) return fromCel(run());
          return fromCel(
            evaluation.within(run, { loops, length: source.length }, record?.isWhole ? fields.values() : valuesOf(named, fields)),
          );
        } catch (error) {
          throw conditionFailure(error as CelError, text, fields);
        }
      },
    },
  };
}

const patternChecks: Readonly<Record<PatternKind, (pattern: string, patterns: Patterns) => unknown>> = {
  matches: checkedRegex,
  extract: (pattern, patterns) => checkedRegex(pattern, patterns) && patterns.compileExtract(pattern),
  'read-date': readablePattern,
  'write-date': writablePattern,
  zone: checkZone,
  number: numberForm,
};

/** The uses of `record` in an expression: the record as a whole, whose members can have any name. */
interface RecordUses {
  readonly fields: readonly string[];
  /** The fields that are only tested with `has()`. */
  readonly tested: readonly string[];
  /** True if the name of a member is computed, so that it can be any field. */
  readonly isWhole: boolean;
  /** True if `record` stands alone: it can then only mean a field with this name. */
  readonly isField: boolean;
}

function recordUsesIn(ast: ASTNode, members: readonly Member[]): RecordUses | undefined {
  const uses = wholeUses(ast, 'record');
  const own = members.filter(({ of }) => of === 'record');
  if (uses.length === 0 && own.length === 0) return undefined;
  const required = new Set(own.flatMap(({ name, isTested }) => (isTested ? [] : [name])));
  const fields = [...new Set(own.map(({ name }) => name))];
  const isWhole = uses.some(({ isSearched }) => isSearched);
  return { fields, tested: fields.filter((name) => !required.has(name)), isWhole, isField: uses.some(({ isSearched }) => !isSearched) };
}

function checkPattern({ pattern, offset, kind }: LiteralPattern, patterns: Patterns): void {
  try {
    patternChecks[kind](pattern, patterns);
  } catch (error) {
    throw new ExpressionError((error as Error).message, offset);
  }
}

function checkedRegex(pattern: string, patterns: Patterns): unknown {
  try {
    return patterns.compile(pattern);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${patternAdvice}`);
  }
}

function parse(source: string, scope: ExpressionScope): ASTNode {
  try {
    return environmentOf(scope).parse(source).ast;
  } catch (error) {
    throw parseError(error as CelError, source, parses);
  }
}

/** Returns every use of a member of a variable in an expression, such as `vars.api`; empty for an invalid expression. */
export function memberUses(source: string, of: string): MemberUse[] {
  const parsed = orUndefined(() => environmentOf(recordScope).parse(source));
  return parsed ? usesOfMembers(parsed.ast, of) : [];
}

/** Returns true if an expression can read any field of the record, for example because it computes the field's name, or if it is invalid. */
export function readsAnyField(source: string): boolean {
  const parsed = orUndefined(() => environmentOf(recordScope).parse(source));
  return parsed === undefined || usesWhole(parsed.ast, 'record');
}

/** Returns the fields that an expression tests for null; empty for an invalid expression. */
export function nullTests(source: string): string[] {
  const parsed = orUndefined(() => environmentOf(recordScope).parse(source));
  return parsed ? nullTestsOf(parsed.ast) : [];
}

function parses(text: string): boolean {
  return orUndefined(() => environmentOf(recordScope).parse(text)) !== undefined;
}

/** A macro that declares a variable, such as cel.bind, is rejected only here: the rewriting has replaced its variable with a field. */
function programOf({ text, writtenAt }: References, scope: ExpressionScope): ReturnType<Environment['parse']> {
  try {
    return environmentOf(scope).parse(text);
  } catch (error) {
    throw expressionError(error as CelError, writtenAt);
  }
}

interface Uses extends Pick<References, 'keepsDigits'> {
  readonly named: readonly string[];
  readonly record: RecordUses | undefined;
}

function variablesFor(uses: Uses, fields: Fields, { owner }: ExpressionScope): Map<string, unknown> {
  const values = celValues(uses, fields, toCel);
  const variables = owner === undefined ? values : new Map([[owner, values]]);
  return uses.keepsDigits ? variables.set(exactVariable, celValues(uses, fields, toExactCel)) : variables;
}

function celValues({ named, record }: Uses, fields: Fields, converted: (value: Value) => unknown): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const name of named) {
    const value = fields.get(name);
    if (value !== undefined) values.set(name, converted(value));
  }
  return record ? values.set('record', recordValue(record, fields, converted)) : values;
}

/** A record with a field called `record` has that field in place of the record as a whole. */
function recordValue({ fields: named, isWhole }: RecordUses, fields: Fields, converted: (value: Value) => unknown): unknown {
  const own = fields.get('record');
  if (own !== undefined) return converted(own);
  const names = isWhole ? fields.keys() : named.filter((name) => fields.has(name));
  return new Map([...names].map((name) => [name, converted(fields.get(name) as Value)]));
}

function valuesOf(named: readonly string[], fields: Fields): Value[] {
  return named.map((name) => fields.get(name) ?? null);
}

function conditionFailure(error: CelError, text: string, fields: Fields): Failure {
  const { code, summary, message, range } = error;
  if (isTooDeep(error)) return evaluationFailure(tooDeep.split('\n')[0] as string);
  if (code === 'no_such_key' && range && /(?:record|exact)__\.$/.test(text.slice(0, range.start))) {
    return missingField(text.slice(range.start, range.end), fields);
  }
  if (summary === undefined) return evaluationFailure(message);
  return evaluationFailure(`the expression cannot be evaluated: ${reasonText(summary)}${typeAdvice(summary)}`);
}

function reasonText(summary: string): string {
  const [, index] = /^No such key: index out of bounds, index (-?\d+)/.exec(summary) ?? [];
  if (index !== undefined) return `the list has no element [${index}]`;
  const [, key] = /^No such key: (.*)$/s.exec(summary) ?? [];
  return key === undefined ? (overloadText(written(summary)) ?? written(summary)) : `there is no key "${shortName(key)}"`;
}

function typeAdvice(summary: string): string {
  if (/overload.*\bnull\b|got 'null'$/.test(summary))
    return ' (a field is null, for example because the answer lacks it: test it first, as in has(age) && age >= 18)';
  return operandAdvice(summary, ' (a CSV cell is text: convert it, as in int(age))');
}

function evaluationFailure(message: string): Failure {
  return new Failure('template', message, { sent: false });
}
