import { memberUses, nullTests, readsAnyField } from '../core/condition/condition.ts';
import { allSteps } from '../core/plan.ts';
import { ExactNumber, isMapping, type ValuePath } from '../core/value/value.ts';
import type { PlacedStep } from './compilation.ts';
import type { FlowSource } from './source.ts';
import { isOnlyListed } from './unknown-fields.ts';

interface FlowReads {
  readonly fields: ReadonlySet<string>;
  /** True if an expression can read any field, for example because it computes the field's name. */
  readonly any: boolean;
}

const expressionOptions = new Set(['where', 'when', 'while', 'until', 'fail_when', 'retry_when', 'rules', 'carry', 'cel']);

/** Returns the fields that nodes require, and the fields that expressions only test for null. */
export function readsOf(steps: readonly PlacedStep[], { value }: FlowSource): FlowReads {
  const needed = allSteps(steps).flatMap(({ when, node: { reads, inner } }) => [
    ...(when?.named ?? []),
    ...[...reads, ...(inner?.reads ?? [])].flatMap(({ field, at }) => (isOnlyListed(at) ? [] : [field])),
    ...(inner?.carried ?? []),
  ]);
  const expressions = steps.flatMap(({ at }) => expressionsIn(partAt(value, at), false));
  const tested = expressions.flatMap((text) => [...nullTests(text), ...memberUses(text, 'record').map(({ name }) => name)]);
  const readsAny = allSteps(steps).some(({ node }) => node.readsAny);
  return { fields: new Set([...needed, ...tested]), any: readsAny || expressions.some(readsAnyField) };
}

function expressionsIn(written: unknown, isExpression: boolean): string[] {
  if (typeof written === 'string') return isExpression ? [written] : [];
  if (typeof written !== 'object' || written === null) return [];
  return Object.entries(written).flatMap(([name, member]) => expressionsIn(member, isExpression || expressionOptions.has(name)));
}

/** Change how requests are sent, but neither the requests' content nor the rows made from the responses. */
const waysOfSending = new Set(['retry', 'rate', 'concurrency', 'timeout', 'credits', 'cost', 'max_cost', 'description']);

/** By id. A node's rows might change if its text changes. It contains the names of variables, but not their values. */
export function makersOf(
  steps: readonly PlacedStep[],
  source: FlowSource,
  saved: ReadonlyMap<string, object>,
): ReadonlyMap<string, string> {
  const connectionOf = (name: string) => partAt(source.written, ['connections', name]) ?? saved.get(name);
  return new Map(
    steps.map(({ id, at }) => {
      const written = partAt(source.written, at);
      const connections = namesOfConnections(written).map((name) => [name, withoutWays(connectionOf(name))]);
      return [id, JSON.stringify(inOneOrder([withoutWays(written), connections]))];
    }),
  );
}

function namesOfConnections(written: unknown): string[] {
  if (Array.isArray(written)) return written.flatMap(namesOfConnections);
  if (!isMapping(written)) return [];
  const { connection, nodes } = written;
  return [...(typeof connection === 'string' ? [connection] : []), ...namesOfConnections(nodes)];
}

function withoutWays(written: unknown): unknown {
  if (Array.isArray(written)) return written.map(withoutWays);
  if (!isMapping(written)) return written;
  const kept = Object.entries(written).filter(([name]) => !waysOfSending.has(name));
  const parts: Readonly<Record<string, (member: unknown) => unknown>> = { nodes: withoutWays, map: withoutReplace };
  return Object.fromEntries(kept.map(([name, member]) => [name, parts[name]?.(member) ?? member]));
}

/** `replace` only decides about a warning. */
function withoutReplace(map: unknown): unknown {
  if (!isMapping(map)) return map;
  const entries = Object.entries(map).map(([field, member]) => {
    if (!isMapping(member)) return [field, member];
    const { replace: _, ...others } = member;
    return [field, ['path', 'column'].includes(Object.keys(others).join()) ? Object.values(others)[0] : others];
  });
  return Object.fromEntries(entries);
}

function inOneOrder(value: unknown): unknown {
  if (value instanceof ExactNumber) return String(value);
  if (Array.isArray(value)) return value.map(inOneOrder);
  if (!isMapping(value)) return value;
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => [name, inOneOrder(member)]);
}

export function partAt(value: unknown, at: ValuePath): unknown {
  return at.reduce<unknown>((parent, name) => (parent as Record<string | number, unknown> | null | undefined)?.[name], value);
}
