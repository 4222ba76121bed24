import { columnsAfter, otherDelimiter } from '../core/columns.ts';
import type { Problem } from '../core/failure.ts';
import type { FieldUse, Step } from '../core/node.ts';
import { allSteps } from '../core/plan.ts';
import { isReferable } from '../core/template/template.ts';
import { didYouMean, listedNames, nearest } from '../core/text/suggest.ts';
import type { PlacedStep } from './compilation.ts';
import { renaming } from './problems/near-references.ts';
import type { Source } from './source.ts';

/** Problems for the references that no record with these fields can satisfy. `who`: the records, in messages. */
export function unknownFieldsIn(
  steps: readonly (PlacedStep | undefined)[],
  input: readonly string[],
  source: Source,
  who = 'no record',
): Problem[] {
  return unknownAmong(steps, input, (use, step, known) => {
    const delimiter = otherDelimiter(known);
    const problem = problemAt(use, step, `${who} has a field "${use.field}" here${adviceFor(use, known, delimiter)}`, source);
    return delimiter === undefined ? problem : { ...problem, code: 'other-delimiter', details: { delimiter } };
  });
}

/** Problems for the references to fields that an earlier step removes or renames. They hold for any input. */
export function removedFieldsIn(steps: readonly (PlacedStep | undefined)[], source: Source): Problem[] {
  const valid = allSteps(steps.filter((step) => step !== undefined));
  const named = valid.flatMap(({ when, node: { reads, inner } }) => [
    ...[...reads, ...(inner?.reads ?? [])].map(({ field }) => field),
    ...(when?.fields ?? []),
  ]);
  return unknownAmong(steps, [...new Set(named)], (use, step) =>
    problemAt(use, step, `no record has a field "${use.field}" here any more: an earlier node removes or renames it`, source),
  );
}

type MakeProblem = (use: FieldUse, step: PlacedStep, known: readonly string[]) => Problem;

/**
 * Walks the steps with the fields known before each. It ends at a broken step: the fields after it are not known.
 * `later`: fields that only a later pass has. A step with a condition may skip the first pass.
 */
function unknownAmong(
  steps: readonly (PlacedStep | undefined)[],
  input: readonly string[],
  make: MakeProblem,
  later: readonly string[] = [],
): Problem[] {
  const problems: Problem[] = [];
  let known = input;
  for (const step of steps) {
    if (!step) break;
    const reachable = step.when ? [...known, ...later] : known;
    const report = (uses: readonly FieldUse[], fields: readonly string[]) => {
      for (const use of uses) if (!fields.includes(use.field)) problems.push(make(use, step, fields));
    };
    report(usesOfWhen(step), known);
    report(step.node.reads, reachable);
    const inner = step.node.inner;
    // With a wrong `carry` the fields of later passes are not known.
    if (inner && !step.wrong.has('carry')) {
      problems.push(...unknownAmong(inner.steps as PlacedStep[], reachable, make, [...later, ...carriedBy(step, known)]));
    }
    if ((allSteps([step]) as PlacedStep[]).some(hidesFields)) break;
    if (inner) report(inner.reads, step.node.columns(known));
    known = columnsAfter(step, known);
  }
  return problems;
}

/** The options that decide which fields exist after a step. */
const makingFields = ['map', 'fields', 'rename', 'remove', 'keep'];

function hidesFields({ wrong }: PlacedStep): boolean {
  return makingFields.some((option) => wrong.has(option));
}

/** The fields of later passes that the step itself makes. */
function carriedBy({ node: { inner, columns } }: Step, known: readonly string[]): string[] {
  const made = columns(known);
  return (inner?.carried ?? []).filter((field) => made.includes(field));
}

function usesOfWhen(step: Step): FieldUse[] {
  return (step.when?.fields ?? []).map((field) => ({ field, at: ['when'] }));
}

/** The fields that may be meant instead. */
function adviceFor({ field, at, isName }: FieldUse, known: readonly string[], delimiter: string | undefined): string {
  const near = nearest(field, known) ?? (isExpression(at) ? wholeName(field, known) : undefined);
  const isHardToName = near !== undefined && !isName && !takesAnyName(at) && !isReferable(near);
  const advice = isHardToName && delimiter === undefined ? renaming(near) : undefined;
  const choices = near === undefined ? existingNames(known) : didYouMean(near, [near]);
  return `${choices}${advice ? `\n${advice}` : ''}`;
}

/** The field whose name an expression reads as several fields: `first-name` is `first` minus `name` in CEL. */
function wholeName(part: string, known: readonly string[]): string | undefined {
  return known.find((name) => !isReferable(name) && name.split(/[^\p{L}\p{M}\p{N}_]+/u).includes(part));
}

function problemAt({ field, at, isName, written }: FieldUse, step: PlacedStep, message: string, source: Source): Problem {
  const place = [...step.at, ...at];
  if (isName) return source.atName(place, message);
  return source.at(place, message, written ?? (isExpression(at) ? field : `{{${field}}}`));
}

/** True for an option that is the field's name itself, not a reference or an expression: any name can stand there. */
function takesAnyName(at: FieldUse['at']): boolean {
  return at[0] === 'remove' || at[0] === 'keep' || at[0] === 'carry' || (at[0] === 'batch' && at[1] === 'match');
}

/** True for an option that names fields without braces. */
function isExpression(at: FieldUse['at']): boolean {
  return ['when', 'while', 'until', 'fail_when', 'retry_when', 'carry'].includes(String(at[0])) || at.at(-1) === 'cel';
}

function existingNames(known: readonly string[]): string {
  return known.length === 0 ? '' : `; there are ${listedNames(known, listedName)}`;
}

/**
 * Quotes a name that holds a delimiter or a line break, or begins or ends with a blank. A file with another delimiter has its whole header
 * as one name.
 */
function listedName(name: string): string {
  return /[,;|\p{Cc}]|^\s|\s$/u.test(name) ? JSON.stringify(name) : name;
}
