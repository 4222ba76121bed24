import type { Expression } from '../core/condition/condition.ts';
import { fieldUses } from '../core/condition/field-uses.ts';
import { Failure, type Problem } from '../core/failure.ts';
import type { FieldUse, Step } from '../core/node.ts';
import { allSteps, columnsAfter, otherDelimiter, type SerialOrder } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { isReferable } from '../core/template/template.ts';
import { didYouMean, listedNames, nearest } from '../core/text/suggest.ts';
import { textOf, type Value } from '../core/value/value.ts';
import type { PlacedStep } from './compilation.ts';
import { renaming } from './near-references.ts';
import type { At, FlowSource } from './source.ts';

/**
 * Returns a problem for each reference to a field that no record with these fields can have. `who` is what messages call the records if
 * only some of them are known; a test for a field is then no mistake, because other records might have it.
 */
export function unknownFieldsIn(
  steps: readonly (PlacedStep | undefined)[],
  input: readonly string[],
  source: FlowSource,
  who?: string,
): Problem[] {
  return unknownAmong(steps, input, (use, { at }, known) =>
    who !== undefined && use.isTested ? [] : [unknownProblem({ use, at, known, who }, source)],
  ).flat();
}

/** A reference to a field that does not exist. */
interface UnknownField {
  readonly use: FieldUse;
  /** The path of the node; empty for an option of the flow itself. */
  readonly at: At;
  /** The fields that exist. */
  readonly known: readonly string[];
  readonly who: string | undefined;
}

function unknownProblem({ use, at, known, who = 'no record' }: UnknownField, source: FlowSource): Problem {
  const delimiter = otherDelimiter(known);
  const test = use.isTested ? '\nso has() is false for every record: correct the name, or leave the test out' : '';
  const problem = problemAt(use, at, `${who} has a field "${use.field}" here${adviceFor(use, known, delimiter)}${test}`, source);
  return delimiter === undefined ? problem : { ...problem, code: 'other-delimiter', details: { delimiter } };
}

/** Returns a problem for each field to which `serial_by` refers, and that no record with these fields can have. */
export function unknownSerialFields(serialBy: SerialBy | undefined, input: readonly string[], source: FlowSource, who?: string): Problem[] {
  const uses = serialBy === undefined ? [] : serialUses(serialBy).filter(({ field }) => !input.includes(field));
  return uses.map((use) => unknownProblem({ use, at: [], known: input, who }, source));
}

/**
 * Returns a problem for each reference to a field that an earlier node removes or renames. The input has no influence on these problems.
 */
export function removedFieldsIn(steps: readonly (PlacedStep | undefined)[], source: FlowSource): Problem[] {
  const valid = allSteps(steps.filter((step) => step !== undefined));
  const named = valid.flatMap(({ when, node: { reads, inner } }) => [
    ...[...reads, ...(inner?.reads ?? [])].map(({ field }) => field),
    ...(when?.named ?? []),
  ]);
  return unknownAmong(steps, [...new Set(named)], (use, { at }) =>
    problemAt(use, at, `no record has a field "${use.field}" here any more: an earlier node removes or renames it`, source),
  );
}

/**
 * Returns the input fields that every record needs: nodes or their conditions read them, and no earlier node adds them. A field that a node
 * only removes or keeps is not needed.
 */
export function neededFieldsIn(steps: readonly PlacedStep[]): string[] {
  const uses = unknownAmong(steps, [], (use) => use);
  return [...new Set(uses.flatMap(({ field, at, isTested }) => (isOnlyListed(at) || isTested ? [] : [field])))];
}

/**
 * Finds each node's references to fields that do not exist before the node. Stops at an invalid node, because the fields after it are
 * unknown. `later` lists fields that exist only in later passes of a loop. A node with a condition may refer to these fields, because the
 * condition might skip it in the first pass.
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
      const isKnown = ({ field, isTested }: FieldUse) => [...fields, ...(isTested ? [...later, ...required] : [])].includes(field);
      for (const use of uses) if (!isKnown(use)) found.push(make(use, step, fields));
    };
    report(whenUses, known);
    report(step.node.reads, reachable);
    const inner = step.node.inner;
    // If the loop's `carry` option is invalid, the fields of later passes are unknown.
    if (inner && !step.wrong.has('carry')) {
      found.push(...unknownAmong(inner.steps as PlacedStep[], reachable, make, [...later, ...carriedBy(step, known)]));
    }
    if ((allSteps([step]) as PlacedStep[]).some(hidesFields)) break;
    if (inner) report(inner.reads, step.node.columns(known));
    known = columnsAfter(step, known);
  }
  return found;
}

/** The options that determine which fields exist after a node. */
const makingFields = ['map', 'fields', 'rename', 'remove', 'keep'];

function hidesFields({ wrong }: PlacedStep): boolean {
  return makingFields.some((option) => wrong.has(option));
}

/** Returns the fields that a loop adds and passes on to its next pass. */
function carriedBy({ node: { inner, columns } }: Step, known: readonly string[]): string[] {
  const made = columns(known);
  return (inner?.carried ?? []).filter((field) => made.includes(field));
}

/** Returns advice that lists the fields that the user might have meant. */
function adviceFor({ field, at, isName }: FieldUse, known: readonly string[], delimiter: string | undefined): string {
  const near = nearest(field, known) ?? (isExpression(at) ? wholeName(field, known) : undefined);
  const isHardToName = near !== undefined && !isName && !takesAnyName(at) && !isReferable(near);
  const advice = isHardToName && delimiter === undefined ? renaming(near, isExpression(at) ? undefined : field) : undefined;
  const choices = near === undefined ? existingNames(known) : didYouMean(near, [near]);
  return `${choices}${advice ? `\n${advice}` : ''}`;
}

/** Returns the field whose name an expression reads as several fields. For example, CEL reads `first-name` as `first` minus `name`. */
function wholeName(part: string, known: readonly string[]): string | undefined {
  return known.find((name) => !isReferable(name) && name.split(/[^\p{L}\p{M}\p{N}_]+/u).includes(part));
}

function problemAt({ field, at, isName, written }: FieldUse, node: At, message: string, source: FlowSource): Problem {
  const place = [...node, ...at];
  if (isName) return source.atName(place, message);
  return source.at(place, message, written ?? (isExpression(at) ? field : `{{${field}}}`));
}

/** True for an option that contains a field's plain name, instead of a reference or an expression. Any field name is then allowed. */
function takesAnyName(at: FieldUse['at']): boolean {
  return isOnlyListed(at) || at[0] === 'carry' || at[0] === 'serial_by' || (at[0] === 'batch' && at[1] === 'match');
}

/** True for an option that refers to fields without braces. */
function isExpression(at: FieldUse['at']): boolean {
  return ['when', 'where', 'while', 'until', 'fail_when', 'retry_when', 'carry'].includes(String(at[0])) || at.at(-1) === 'cel';
}

/** True for an option that lists fields whose values do not matter, because the node only removes or keeps these fields. */
export function isOnlyListed([option]: FieldUse['at']): boolean {
  return option === 'remove' || option === 'keep';
}

function existingNames(known: readonly string[]): string {
  return known.length === 0 ? '' : `; available: ${listedNames(known, listedName)}`;
}

/**
 * Quotes a name for a list of names if it contains a delimiter or a line break, or begins or ends with a space. In a file with a different
 * delimiter, for example, the whole header is one name.
 */
function listedName(name: string): string {
  return /[,;|\p{Cc}]|^\s|\s$/u.test(name) ? JSON.stringify(name) : name;
}

/** The value of `serial_by`: a field, a list of fields, or an expression. */
export type SerialBy = string | readonly string[] | { readonly cel: Expression<Value> };

/** Returns the order that `serial_by` asks for. `written` is the option as it is written in the flow. */
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
      keyOf: (fields) => keyOf(evaluated(cel, fields)),
    };
  }
  return { label: serialBy.join(' and '), needed: [], optional: serialBy, keyOf: (fields) => keyOfAll(serialBy, fields) };
}

/** Returns the fields to which `serial_by` refers. */
function serialUses(serialBy: SerialBy): FieldUse[] {
  if (typeof serialBy === 'string') return [{ field: serialBy, at: ['serial_by'], written: serialBy }];
  if ('cel' in serialBy) return serialBy.cel.fields.map((field) => ({ field, at: ['serial_by', 'cel'], written: field }));
  return serialBy.map((field, index) => ({ field, at: ['serial_by', index], written: field }));
}

/** Returns a value as text, so that 17 and "17" are the same key; undefined for null and an empty string. */
function keyOf(value: Value | undefined): string | undefined {
  return textOf(value ?? null) || undefined;
}

/** Returns the texts of several fields as one key; undefined if all of them are null or empty. */
function keyOfAll(names: readonly string[], fields: Fields): string | undefined {
  const texts = names.map((name) => textOf(fields.get(name) ?? null));
  return texts.every((text) => text === '') ? undefined : JSON.stringify(texts);
}

function evaluated(cel: Expression<Value>, fields: Fields): Value {
  try {
    return cel.evaluate(fields);
  } catch (error) {
    // A record without the value has nothing to be compared, as if the option named the field.
    if (error instanceof Failure && cel.named.some((name) => (fields.get(name) ?? null) === null)) return null;
    if (error instanceof Failure) throw error.withMessage(`serial_by: ${error.message}`);
    throw error;
  }
}
