import type { ColumnNames } from '../core/column-names.ts';
import type { Expression } from '../core/condition/condition.ts';
import type { EvaluationClock } from '../core/condition/evaluation.ts';
import { Failure, type Problem } from '../core/failure.ts';
import type { FieldUse, Step } from '../core/node.ts';
import { fieldUses } from '../core/options/expressions.ts';
import { allSteps, columnsAfter, otherDelimiter, type SerialOrder } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { isReferable } from '../core/template/template.ts';
import { didYouMean, listedNames, nearest } from '../core/text/suggest.ts';
import { textOf, type Value, type ValuePath } from '../core/value/value.ts';
import type { PlacedStep } from './compilation.ts';
import { type FlowFields, naming, renaming } from './near-references.ts';
import type { FlowSource } from './source.ts';

/**
 * Finds references to fields that no record with these fields can have. `who` names the records in messages if only some are known; a test
 * for a field is then no mistake, because other records might have it.
 */
export function unknownFieldsIn(flow: FlowFields, input: readonly string[], who?: string): Problem[] {
  return unknownAmong(flow.steps, input, (use, { at }, known) =>
    who !== undefined && use.isTested ? [] : [unknownProblem({ use, input, at, known, who }, flow)],
  ).flat();
}

interface UnknownField {
  readonly use: FieldUse;
  readonly input: readonly string[];
  /** Empty for an option of the flow itself. */
  readonly at: ValuePath;
  readonly known: readonly string[];
  readonly who: string | undefined;
}

function unknownProblem(found: UnknownField, { source, names }: Pick<FlowFields, 'source' | 'names'>): Problem {
  const { use, at, known, who = 'no record' } = found;
  const delimiter = otherDelimiter(known);
  const test = use.isTested ? '\nso has() is false for every record: correct the name, or leave the test out' : '';
  const problem = problemAt(
    use,
    at,
    `${who} has a field "${use.field}" here${nameAdvice(use, names) ?? adviceFor(found, delimiter)}${test}`,
    source,
  );
  if (delimiter !== undefined) return { ...problem, code: 'other-delimiter', details: { delimiter } };
  return isTitle(found) ? { ...problem, code: 'title-above-header', details: {} } : problem;
}

/** True if the first row of the table has one cell of several words. A JSON input has no header. */
function isTitle({ use: { field }, known: [name = '', ...others], who }: UnknownField): boolean {
  return who === undefined && others.length === 0 && /\S\s+\S/.test(name) && nearest(field, [name]) === undefined;
}

/** Finds fields in `serial_by` that no record with these fields can have. */
export function unknownSerialFields(
  { serialBy, ...flow }: Pick<FlowFields, 'source' | 'names'> & { readonly serialBy: SerialBy | undefined },
  input: readonly string[],
  who?: string,
): Problem[] {
  const uses = serialBy === undefined ? [] : serialUses(serialBy).filter(({ field }) => !input.includes(field));
  return uses.map((use) => unknownProblem({ use, input, at: [], known: input, who }, flow));
}

/** Finds references to fields that an earlier node removes or renames, or that `columns` renames, whatever the input is. */
export function removedFieldsIn({ steps, source, names }: FlowFields): Problem[] {
  const valid = allSteps(steps.filter((step) => step !== undefined));
  const named = valid.flatMap(({ when, node: { reads, inner } }) => [
    ...[...reads, ...(inner?.reads ?? [])].map(({ field }) => field),
    ...(when?.named ?? []),
  ]);
  const input = new Set(named.filter((name) => names.aliasOf(name) === undefined));
  return unknownAmong(steps, [...input], (use, { at }) => {
    const why = nameAdvice(use, names) ?? ' any more: an earlier node removes or renames it';
    return problemAt(use, at, `no record has a field "${use.field}" here${why}`, source);
  });
}

/** The input fields that nodes or their conditions read before any node adds them. A field that is only removed or kept is not needed. */
export function neededFieldsIn(steps: readonly PlacedStep[]): string[] {
  const uses = unknownAmong(steps, [], (use) => use);
  return [...new Set(uses.flatMap(({ field, at, isTested }) => (isOnlyListed(at) || isTested ? [] : [field])))];
}

/**
 * Finds references to fields that do not exist before a node, up to the first invalid node. `later` lists fields of later passes of a loop:
 * a node with a condition may refer to them, because the condition might skip it in the first pass.
 */
function unknownAmong<Found>(
  steps: readonly (PlacedStep | undefined)[],
  input: readonly string[],
  make: (use: FieldUse, step: PlacedStep, known: readonly string[]) => Found,
  later: readonly string[] = [],
): Found[] {
  const found: Found[] = [];
  let known = input;
  for (const step of steps) {
    if (!step) break;
    const reachable = step.when ? [...known, ...later] : known;
    const whenUses = step.when ? fieldUses(step.when, ['when']) : [];
    // A test for a field that the node also requires would be the same problem twice.
    const required = [...whenUses, ...step.node.reads].flatMap(({ field, isTested }) => (isTested ? [] : [field]));
    const report = (uses: readonly FieldUse[], fields: readonly string[]) => {
      const isKnown = ({ field, isTested, isOfRecord }: FieldUse) =>
        [...fields, ...(isTested ? [...later, ...required] : [])].includes(field) || (isOfRecord && fields.includes('record'));
      for (const use of uses) if (!isKnown(use)) found.push(make(use, step, fields));
    };
    report(whenUses, known);
    report(step.node.reads, reachable);
    const inner = step.node.inner;
    // If the loop's `carry` option is invalid, the fields of later passes are unknown.
    if (inner && !step.wrong.has('carry')) {
      const laterInside = [...later, ...carriedBy(step, known)];
      const inside = inner.steps as PlacedStep[];
      // Each alternative starts from the record as it came in, without the fields of the others.
      const lists = inner.areAlternatives ? inside.map((each) => [each]) : [inside];
      for (const list of lists) found.push(...unknownAmong(list, reachable, make, laterInside));
    }
    if ((allSteps([step]) as PlacedStep[]).some(hidesFields)) break;
    if (inner) report(inner.reads, step.node.columns(known));
    known = columnsAfter(step, known);
  }
  return found;
}

/** Determine which fields exist after a node. */
const makingFields = ['map', 'fields', 'rename', 'remove', 'keep'];

function hidesFields({ wrong }: PlacedStep): boolean {
  return makingFields.some((option) => wrong.has(option));
}

/** Returns the fields that a loop adds and passes on to its next pass. */
function carriedBy({ node: { inner, columns } }: Step, known: readonly string[]): string[] {
  const made = columns(known);
  return (inner?.carried ?? []).filter((field) => made.includes(field));
}

/** For a column to which the flow gives another name, and for that name. */
function nameAdvice({ field }: FieldUse, names: ColumnNames): string | undefined {
  const alias = names.aliasOf(field);
  if (alias !== undefined) return `: the flow calls this column "${alias}"\nwrite ${alias}`;
  const column = names.inFile(field);
  return column === field ? undefined : `; it is the name that the flow gives to the column "${column}"`;
}

function adviceFor({ use, input, known }: UnknownField, delimiter: string | undefined): string {
  const { field, at, isName } = use;
  const near = nearest(field, known) ?? (isExpression(at) ? wholeName(field, known) : undefined);
  const isHardToName = near !== undefined && !isName && !use.isOfRecord && !takesAnyName(at) && !isReferable(near);
  const advice = isHardToName && delimiter === undefined ? wayToName(near, { use, input }) : undefined;
  const choices = near === undefined ? existingNames(known) : didYouMean(near, [near]);
  return `${choices}${advice ? `\n${advice}` : ''}`;
}

function wayToName(name: string, { use: { field, at }, input }: Pick<UnknownField, 'use' | 'input'>): string {
  if (isExpression(at)) return `write record[${JSON.stringify(name)}]`;
  return input.includes(name) ? naming(name) : renaming(name, field);
}

/** The field that an expression reads as several. For example, CEL reads `first-name` as `first` minus `name`. */
function wholeName(part: string, known: readonly string[]): string | undefined {
  return known.find((name) => !isReferable(name) && name.split(/[^\p{L}\p{M}\p{N}_]+/u).includes(part));
}

function problemAt({ field, at, isName, written }: FieldUse, node: ValuePath, message: string, source: FlowSource): Problem {
  const place = [...node, ...at];
  if (isName) return source.atName(place, message);
  return source.at(place, message, written ?? (isExpression(at) ? field : `{{${field}}}`));
}

/** True if the option contains a field's plain name, not a reference or an expression. */
function takesAnyName(at: FieldUse['at']): boolean {
  return isOnlyListed(at) || at[0] === 'carry' || at[0] === 'serial_by' || (at[0] === 'batch' && at[1] === 'match');
}

/** The option refers to fields without braces. */
function isExpression(at: FieldUse['at']): boolean {
  return ['when', 'where', 'while', 'until', 'fail_when', 'retry_when', 'carry'].includes(String(at[0])) || at.at(-1) === 'cel';
}

/** The node only removes or keeps these fields, so their values do not matter. */
export function isOnlyListed([option]: FieldUse['at']): boolean {
  return option === 'remove' || option === 'keep';
}

function existingNames(known: readonly string[]): string {
  return known.length === 0 ? '' : `; available: ${listedNames(known, listedName)}`;
}

/** Quotes a name with a delimiter, a line break or an outer space. In a file with a different delimiter, the whole header is one name. */
function listedName(name: string): string {
  return /[,;|\p{Cc}]|^\s|\s$/u.test(name) ? JSON.stringify(name) : name;
}

export type SerialBy = string | readonly string[] | { readonly cel: Expression<Value> };

/** `written` is the option as it is written in the flow. */
export function serialOrderOf(serialBy: SerialBy, written: unknown): SerialOrder {
  if (typeof serialBy === 'string')
    return { label: serialBy, needed: [], optional: [serialBy], keyOf: (fields) => keyOf(fields.get(serialBy)) };
  if ('cel' in serialBy) {
    const { cel } = serialBy;
    const optional = cel.named.filter((name) => !cel.fields.includes(name));
    return {
      label: String((written as { cel: unknown }).cel),
      needed: cel.fields,
      optional,
      keyOf: (fields, clock) => keyOf(evaluated(cel, fields, clock)),
    };
  }
  return { label: serialBy.join(' and '), needed: [], optional: serialBy, keyOf: (fields) => keyOfAll(serialBy, fields) };
}

function serialUses(serialBy: SerialBy): FieldUse[] {
  if (typeof serialBy === 'string') return [{ field: serialBy, at: ['serial_by'], written: serialBy }];
  if ('cel' in serialBy) return serialBy.cel.fields.map((field) => ({ field, at: ['serial_by', 'cel'], written: field }));
  return serialBy.map((field, index) => ({ field, at: ['serial_by', index], written: field }));
}

/** 17 and "17" are the same key. Undefined for null and an empty string. */
function keyOf(value: Value | undefined): string | undefined {
  return textOf(value ?? null) || undefined;
}

/** Undefined if all fields are null or empty. */
function keyOfAll(names: readonly string[], fields: Fields): string | undefined {
  const texts = names.map((name) => textOf(fields.get(name) ?? null));
  return texts.every((text) => text === '') ? undefined : JSON.stringify(texts);
}

function evaluated(cel: Expression<Value>, fields: Fields, clock: EvaluationClock): Value {
  try {
    return cel.evaluate(fields, clock);
  } catch (error) {
    // A record without the value has nothing to be compared, as if the option named the field.
    if (error instanceof Failure && cel.named.some((name) => (fields.get(name) ?? null) === null)) return null;
    if (error instanceof Failure) throw error.withMessage(`serial_by: ${error.message}`);
    throw error;
  }
}
