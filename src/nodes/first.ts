import * as z from 'zod';
import type { Expression } from '../core/condition/condition.ts';
import type { EvaluationClock } from '../core/condition/evaluation.ts';
import type { AskedStep } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import {
  type Action,
  type Asked,
  type BuildContext,
  defineNode,
  type Node,
  type NodeContext,
  type ReportProblem,
  type Step,
} from '../core/node.ts';
import { alternativeNodes, condition } from '../core/options/expressions.ts';
import { fieldName } from '../core/options/names.ts';
import { copyOf, type Fields, filledFields } from '../core/record.ts';
import { counted } from '../core/text/number.ts';
import type { Value } from '../core/value/value.ts';
import { conditionReads, innerParts } from './inner.ts';

const firstOptions = z.strictObject({
  until: condition.describe(
    'a condition on the record, which is evaluated before the first step and after each step: when it is true, no further step is asked; a name that does not exist yet makes it false',
  ),
  found_by: fieldName
    .optional()
    .describe('a field with the id of the step that made the condition true; "input" if the record needed no step, empty if none did'),
  required: z.boolean().default(false).describe('true: a record fails if no step made the condition true'),
  nodes: alternativeNodes,
});

/** The value of `found_by` for a record that needs no step. */
const byInput = 'input';

export const first = defineNode({
  name: 'first',
  summary: 'First: asks one source after the other until one knows the answer',
  example: `- type: first
  until: has(email) && email != ""
  found_by: source
  nodes:
    - id: apollo
      type: http
      url: https://api.example.com/people?domain={{domain}}
      map: { email: person.email }
    - id: hunter
      type: http
      url: https://api.example.com/find?domain={{domain}}
      map: { email: data.email, score: data.score }`,
  options: firstOptions,
  build: buildFirst,
});

type FirstOptions = z.output<typeof firstOptions>;

interface Search extends Pick<FirstOptions, 'until' | 'required'> {
  readonly steps: readonly Step[];
  readonly foundBy: string | undefined;
  readonly added: readonly string[];
}

function buildFirst({ until, found_by: foundBy, required, nodes }: FirstOptions, context: BuildContext): Node | undefined {
  const steps = context.inner(nodes);
  const reads = conditionReads(context, { until });
  if (!steps) return undefined;
  refuseSeveralRows(steps, nodes, context.problem);
  refuseNames(steps, foundBy, context.problem);
  const own = foundBy === undefined ? [] : [foundBy];
  const columns = (before: readonly string[]) => [...new Set([...before, ...steps.flatMap(({ node }) => node.columns(before)), ...own])];
  const search: Search = { until, required, steps, foundBy, added: columns([]).filter((name) => name !== foundBy) };
  return {
    ...innerParts(steps, { reads, areAlternatives: true, maxPasses: 1, waits: false, expands: false }),
    columns,
    ...(foundBy !== undefined && { named: { field: foundBy, option: 'found_by' } }),
    run: (fields, runContext) => runSearch(search, fields, runContext),
  };
}

/** Reports a problem for each node that can make no row or several of a record, also inside a loop or poll that is a step. */
function refuseSeveralRows(steps: readonly Step[], written: readonly unknown[], problem: ReportProblem): void {
  for (const [index, { node }] of steps.entries()) {
    const options = written[index] as Readonly<Record<string, unknown>>;
    const nested: ReportProblem = ([option, ...more], message) =>
      problem(['nodes', index, ...(option !== undefined && option in options ? [option, ...more] : [])], message);
    const found = severalRows(node, options);
    if (found) nested([found.option], `${found.can}, ${oneRow}\n${found.wayOut}`);
    if (node.inner && !node.inner.areAlternatives) refuseSeveralRows(node.inner.steps, options.nodes as unknown[], nested);
  }
}

interface RowsProblem {
  readonly option: string;
  readonly can: string;
  readonly wayOut: string;
}

function severalRows(
  { filters, joined, action, streams, inner }: Node,
  { when_empty: whenEmpty, many }: Readonly<Record<string, unknown>>,
): RowsProblem | undefined {
  if (joined && filters) return { option: 'missing', can: '`missing: drop` can drop the record', wayOut: 'write missing: keep' };
  if (joined && many === 'all') return { option: 'many', can: '`many: all` can make several rows', wayOut: 'write many: first' };
  if (filters) return { option: 'type', can: 'a filter can drop the record', wayOut: 'to pass a step over, write `when` at the step' };
  if (whenEmpty === 'drop')
    return {
      option: 'when_empty',
      can: '`when_empty: drop` can drop the record',
      wayOut: 'leave it out: a step without an answer passes on to the next',
    };
  if (action && expands(action))
    return { option: 'map', can: 'this map can make several rows', wayOut: 'write a path to one value, such as items[0].name' };
  if (inner?.expands) return { option: 'emit', can: 'this loop can make several rows', wayOut: 'write emit: last' };
  return streams ? { option: 'paginate', can: 'several pages can make several rows', wayOut: 'leave paginate out' } : undefined;
}

/** In a batch, the elements of the outermost list are those of the records. */
function expands({ expands, batchSize, paths }: Action): boolean {
  return expands && (batchSize === undefined || paths.some((path) => path.split('[]').length > 2));
}

const oneRow = 'but a step of `first` gives exactly one row';

function refuseNames(steps: readonly Step[], foundBy: string | undefined, problem: ReportProblem): void {
  for (const [index, { id, node }] of steps.entries()) {
    if (id === byInput)
      problem(['nodes', index, 'id'], `found_by is "${byInput}" for a record that needs no step\ngive the step another id`);
    if (foundBy !== undefined && node.columns([]).includes(foundBy))
      problem(['found_by'], `"${foundBy}" is a field that ${id} adds\nwrite another name`);
  }
}

async function runSearch(search: Search, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  const { until, steps, required } = search;
  if (isFound(until, fields, context.clock)) {
    context.report({ type: 'searched', asked: [], result: 'known' });
    return [rowOf(search, fields, [], byInput)];
  }
  const asked: AskedStep[] = [];
  let failure: Failure | undefined;
  try {
    for (const step of steps) {
      const answer = await context.ask(step, fields, (rows) => isFound(until, onlyRow(step, rows), context.clock));
      if (!answer) continue;
      if (answer.failure) failure = failureOf(step, answer.failure);
      asked.push(askedStep(step, answer));
      if (!answer.isAccepted) continue;
      context.report({ type: 'searched', asked, result: 'found' });
      return [rowOf(search, fields, filledFields(answer.rows[0] as Fields), step.id)];
    }
  } catch (error) {
    if (error instanceof Failure) context.report({ type: 'searched', asked, result: 'failed' });
    throw error;
  }
  context.report({ type: 'searched', asked, result: 'not-found' });
  if (required) throw failure ?? new Failure('answer', `none of ${steps.map(({ id }) => id).join(', ')} found it`);
  return [rowOf(search, fields, [], null)];
}

function askedStep({ id: step }: Step, { credits, cost, failure }: Asked): AskedStep {
  return {
    ...{ step, credits },
    ...(cost !== undefined && { cost }),
    ...(failure && { failure: { class: failure.kind, status: failure.status, message: failure.message } }),
  };
}

function failureOf({ id }: Step, failure: Failure): Failure {
  const own = failure.withMessage(`${id}: ${failure.message}`);
  own.node = undefined;
  return own;
}

function onlyRow({ id }: Step, rows: readonly Fields[]): Fields {
  if (rows.length === 1) return rows[0] as Fields;
  throw new Failure('mapping', `${id} gave ${rows.length === 0 ? 'no row' : counted(rows.length, 'row')}, ${oneRow}`);
}

/** If the condition cannot be evaluated because a value is still missing, nothing is found yet. */
function isFound(until: Expression<boolean>, fields: Fields, clock: EvaluationClock): boolean {
  try {
    return until.evaluate(fields, clock);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (until.named.some((name) => isMissing(fields.get(name)))) return false;
    throw error.withMessage(`until: ${error.message}`);
  }
}

function isMissing(value: Value | undefined): boolean {
  return value === undefined || value === null || value === '';
}

/** Every row has the fields of all steps, so that a table and JSON have the same columns for all records. */
function rowOf({ added, foundBy }: Search, fields: Fields, found: Iterable<readonly [string, Value]>, by: string | null): Fields {
  const row = copyOf(fields);
  for (const name of added) if (!row.has(name)) row.set(name, null);
  for (const [name, value] of found) row.set(name, value);
  if (foundBy !== undefined) row.set(foundBy, by);
  return row;
}
