import type { FieldUse } from '../core/action.ts';
import { columnsAfter, columnsAfterAll, delimiterAdvice } from '../core/columns.ts';
import type { Problem } from '../core/failure.ts';
import type { Step } from '../core/node.ts';
import { allSteps, type CredentialUse, type Plan, type ToolUse, type Warning } from '../core/plan.ts';
import { isReferable } from '../core/template/template.ts';
import { didYouMean, nearest } from '../core/text/suggest.ts';
import { renaming } from './problems/near-references.ts';
import type { At, Source } from './source.ts';

/** A step and where it is written. */
export interface PlacedStep extends Step {
  readonly at: At;
  /** The options that something is wrong with. */
  readonly wrong: ReadonlySet<PropertyKey>;
}

/** Puts the steps of a flow together. */
export function planOf(
  name: string,
  steps: readonly PlacedStep[],
  { source, warnings, saved }: { source: Source; warnings: readonly Warning[]; saved: ReadonlyMap<string, object> },
): Plan {
  return {
    name,
    steps,
    warnings: (input) => warnings.filter(({ cell, isCarried }) => cell === undefined || (input ? input.includes(cell) : !isCarried)),
    savedConnections: saved,
    credentials: credentialsOf(steps, source),
    tools: toolsOf(steps, source),
    columns: (input) => columnsAfterAll(steps, input),
    unknownFields: (input) => inOrder(unknownFieldsIn(steps, input, source)),
  };
}

/** Where steps name credentials, those inside others included. */
export function credentialsOf(steps: readonly PlacedStep[], source: Source): CredentialUse[] {
  return (allSteps(steps) as PlacedStep[]).flatMap((step) =>
    (step.node.action?.credentials ?? []).map((use) => ({
      name: use.field,
      isPair: use.isPair,
      origins: use.origins,
      problem: (message: string) => source.at([...step.at, ...use.at], withWayOut(message, use.wayOut)),
    })),
  );
}

/** What is wrong, and instead of the usual way out another one. */
function withWayOut(message: string, wayOut: string | undefined): string {
  return wayOut === undefined ? message : `${message.split('\n')[0]}\n${wayOut}`;
}

/** Where steps call tools, those inside others included. */
function toolsOf(steps: readonly PlacedStep[], source: Source): ToolUse[] {
  return (allSteps(steps) as PlacedStep[]).flatMap(({ at, node: { action } }) => {
    const tool = action?.tool;
    if (!tool) return [];
    const check: ToolUse['check'] = (tools, isTable) =>
      tool.check(tools, isTable).map((problem) => source[problem.isName ? 'atName' : 'at']([...at, ...problem.at], problem.message));
    return [{ connection: tool.connection, check }];
  });
}

/** The references that no record of a table can satisfy. */
export function unknownFieldsIn(steps: readonly (PlacedStep | undefined)[], input: readonly string[], source: Source): Problem[] {
  return unknownAmong(steps, input, (use, step, known) => unknownField(use, step, known, source));
}

/** The references that no record can satisfy, whatever fields it begins with: to what steps before have taken away. */
export function lostFieldsIn(steps: readonly (PlacedStep | undefined)[], source: Source): Problem[] {
  const there = allSteps(steps.filter((step) => step !== undefined));
  const named = there.flatMap(({ when, node: { reads, inner } }) => [
    ...[...reads, ...(inner?.reads ?? [])].map(({ field }) => field),
    ...(when?.fields ?? []),
  ]);
  return unknownAmong(steps, [...new Set(named)], (use, step) => {
    return atUse(use, step, `no record has a field "${use.field}" here any more: a node before removes or renames it`, source);
  });
}

type Telling = (use: FieldUse, step: PlacedStep, known: readonly string[]) => Problem;

/**
 * What is told of references that no record with such an input can satisfy. Behind a step that is broken nobody knows which fields
 * there are. `later`: what only a later pass begins with; a step with a condition may leave the first one out.
 */
function unknownAmong(
  steps: readonly (PlacedStep | undefined)[],
  input: readonly string[],
  tell: Telling,
  later: readonly string[] = [],
): Problem[] {
  const problems: Problem[] = [];
  let known = input;
  for (const step of steps) {
    if (!step) break;
    const reachable = step.when ? [...known, ...later] : known;
    problems.push(...unknownIn(usesOfWhen(step), step, known, tell), ...unknownIn(step.node.reads, step, reachable, tell));
    const inner = step.node.inner;
    // Where nobody knows what passes take over, nobody knows what there is in them.
    if (inner && !step.wrong.has('carry')) {
      problems.push(...unknownAmong(inner.steps as PlacedStep[], reachable, tell, [...later, ...carriedBy(step, known)]));
    }
    if ((allSteps([step]) as PlacedStep[]).some(hidesFields)) break;
    if (inner) problems.push(...unknownIn(inner.reads, step, step.node.columns(known), tell));
    known = columnsAfter(step, known);
  }
  return problems;
}

/** The options that say which fields there are behind a step. */
const makingFields = ['map', 'fields', 'rename', 'remove'];

function hidesFields({ wrong }: PlacedStep): boolean {
  return makingFields.some((option) => wrong.has(option));
}

function unknownIn(uses: readonly FieldUse[], step: PlacedStep, known: readonly string[], tell: Telling): Problem[] {
  return uses.filter(({ field }) => !known.includes(field)).map((use) => tell(use, step, known));
}

/** What passes of a step begin with but for the first, if it is made in them. */
function carriedBy({ node: { inner, columns } }: Step, known: readonly string[]): string[] {
  const made = columns(known);
  return (inner?.carried ?? []).filter((field) => made.includes(field));
}

function usesOfWhen(step: Step): FieldUse[] {
  return (step.when?.fields ?? []).map((field) => ({ field, at: ['when'] }));
}

function unknownField(use: FieldUse, step: PlacedStep, known: readonly string[], source: Source): Problem {
  const { field, at, isName } = use;
  const near = nearest(field, known) ?? (isExpression(at) ? wholeName(field, known) : undefined);
  const isHardToName = near !== undefined && !isName && !takesAnyName(at) && !isReferable(near);
  const advice = delimiterAdvice(known) ?? (isHardToName ? renaming(near) : undefined);
  const message = `no record has a field "${field}" here${near === undefined ? fewOf(known) : didYouMean(near, [near])}${advice ? `\n${advice}` : ''}`;
  return atUse(use, step, message, source);
}

/** The name that an expression takes for several, such as `first-name` for one field less another. */
function wholeName(part: string, known: readonly string[]): string | undefined {
  return known.find((name) => !isReferable(name) && name.split(/[^\p{L}\p{M}\p{N}_]+/u).includes(part));
}

function atUse({ field, at, isName }: FieldUse, step: PlacedStep, message: string, source: Source): Problem {
  const place = [...step.at, ...at];
  if (isName) return source.atName(place, message);
  return source.at(place, message, isExpression(at) ? field : `{{${field}}}`);
}

/** Whether at that place a name stands alone, and not as a reference or in an expression: whatever it is called, it can. */
function takesAnyName(at: FieldUse['at']): boolean {
  return at[0] === 'remove' || at[0] === 'carry' || (at[0] === 'batch' && at[1] === 'match');
}

/** Whether at that place a field stands by its bare name. */
function isExpression(at: FieldUse['at']): boolean {
  return ['when', 'while', 'until', 'fail_when', 'carry'].includes(String(at[0])) || at.at(-1) === 'cel';
}

/** A table can have hundreds of columns. */
const shown = 20;

function fewOf(known: readonly string[]): string {
  if (known.length === 0) return '';
  const more = known.length > shown ? ` and ${known.length - shown} more` : '';
  return `; there are ${known.slice(0, shown).map(listedName).join(', ')}${more}`;
}

/** The header of a file with another delimiter is one name, and has to look like one, as has a name with a line break, or with a space at its end. */
function listedName(name: string): string {
  return /[,;|\p{Cc}]|^\s|\s$/u.test(name) ? JSON.stringify(name) : name;
}

/** Problems as they stand in the file. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}
