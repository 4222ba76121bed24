import * as z from 'zod';
import type { Mapping } from '../core/answer/mapping.ts';
import { compilePath, type Path } from '../core/answer/path.ts';
import { connectionLimitKey, type HttpConnection } from '../core/connection.ts';
import type { BuildContext, CallPolicy, Node } from '../core/node.ts';
import { type Concurrency, mostAuto } from '../core/options/amounts.ts';
import { path } from '../core/options/expressions.ts';
import { fieldName } from '../core/options/names.ts';
import type { retry } from '../core/options/retry.ts';
import { dictionary } from '../core/value/dictionary.ts';

const expectedMember = 'expected a path, or { path: P, required: true } or { path: P, default: V }';

/** A path, and what becomes of a record if it finds nothing. */
const member = z
  .strictObject({
    path: path,
    required: z.boolean().optional().describe('the record fails if nothing is found'),
    default: z.unknown().optional().describe('the value if nothing is found'),
  })
  .refine(({ required, ...others }) => !required || others.default === undefined, {
    error: 'expected required or default: a path with a default always finds something',
    path: ['default'],
  });

/** The paths into an answer, and the fields they become. */
export const map = z.union([z.array(path).min(1), dictionary(fieldName, z.union([path, member], { error: expectedMember }))], {
  error: 'expected a list of paths, or a mapping of field names to paths',
});

/** The option for a record whose answer has an empty array. */
export const whenEmpty = z.enum(['keep', 'drop', 'error']).default('keep').describe('a record whose array to expand is empty or absent');

/** Default of calls in flight at once. */
const defaultConcurrency = 16;

interface PolicyOptions {
  readonly concurrency?: Concurrency | undefined;
  readonly rate?: number | undefined;
  readonly credits?: number | undefined;
  readonly cost?: string | undefined;
  readonly retry: Omit<z.output<typeof retry>, 'on'> & { readonly on: readonly (string | number)[] };
}

type PolicyConnection = Pick<HttpConnection, 'name' | 'isSaved' | 'concurrency' | 'intervalMs' | 'credits' | 'cost'>;

/** The connection that a node names; undefined if it names no connection. Null if the flow has none of that name: the problem is reported. */
export function connectionOf(
  { connection }: { readonly connection?: string | undefined },
  context: Pick<BuildContext, 'connection'>,
): HttpConnection | undefined | null {
  return connection === undefined ? undefined : (context.connection(connection) ?? null);
}

/** The policy that options and connection ask for. Reports what is wrong with it. */
export function callPolicy(
  options: PolicyOptions,
  connection: PolicyConnection | undefined | null,
  context: BuildContext,
): Omit<CallPolicy, 'accept' | 'cache' | 'hasIdempotencyKey'> {
  const { max, backoff, max_wait: maxWaitMs, on: retryOn } = options.retry;
  const { initial: firstDelayMs, factor, max: maxDelayMs, jitter } = backoff;
  const credits = options.credits ?? connection?.credits ?? 1;
  return {
    ...limitsOf(options, connection, context),
    retry: { max, firstDelayMs, factor, maxDelayMs, jitter, maxWaitMs },
    retryOn,
    cost: tryOption(context, ['cost'], () => costPath(options.cost ?? connection?.cost)),
    price: { credits, isStated: credits !== 1, connection: connection?.name },
  };
}

/**
 * The rate and concurrency of a node: the command line's, else its own, else its connection's. A connection's concurrency is
 * shared by all its nodes, whatever number the command line puts in its place. A node's own concurrency is shared by all runs and calls
 * of flows with that name, also of a flow that was edited between them. If one of the two is `auto`, the number of the other is its maximum.
 */
function limitsOf(
  options: PolicyOptions,
  connection: PolicyConnection | undefined | null,
  { id, flow, overrides }: Pick<BuildContext, 'id' | 'flow' | 'overrides'>,
): Pick<CallPolicy, 'limit' | 'intervalMs'> {
  const isShared = options.concurrency === undefined && connection?.concurrency !== undefined;
  const key = isShared ? connectionLimitKey(connection, flow) : `node ${id} of flow ${flow}`;
  const wanted = overrides.concurrency === undefined ? [options.concurrency, connection?.concurrency] : [overrides.concurrency];
  const numbers = wanted.filter((one) => typeof one === 'number');
  return {
    limit: wanted.includes('auto')
      ? { key, max: Math.min(mostAuto, ...numbers), auto: isShared ? connection.name : id }
      : { key, max: numbers[0] ?? defaultConcurrency },
    intervalMs: overrides.intervalMs ?? options.rate ?? connection?.intervalMs,
  };
}

/** Compiles the path to the real cost. Throws an Error that says what is wrong. */
export function costPath(text: string | undefined): Path | undefined {
  return text === undefined ? undefined : singlePath(text, 'number');
}

/** Compiles a path to one value. Throws an Error that says what is wrong. */
export function singlePath(text: string, kind: 'number' | 'text' | 'value'): Path {
  const path = compilePath(text);
  if (path.legs.length > 1) throw new Error(`expected a path to one ${kind}, found "${text}", which leads to several`);
  return path;
}

/** The fields that a map adds to the columns. */
export function mappedColumns(mapping: Mapping | undefined): Pick<Node, 'typedFields' | 'columns'> {
  const fields = mapping?.fields ?? [];
  return { typedFields: fields, columns: (before) => [...new Set([...before, ...fields])] };
}

/** Compiles one option. If `compile` throws, reports the problem and returns undefined. */
export function tryOption<Result>(context: BuildContext, at: readonly string[], compile: () => Result): Result | undefined {
  try {
    return compile();
  } catch (error) {
    context.problem(at, error as Error);
    return undefined;
  }
}

/** True if the list has a status, or its class such as 5xx. */
export function matches(wanted: readonly (number | string)[], status: number): boolean {
  return wanted.includes(status) || wanted.includes(`${Math.floor(status / 100)}xx`);
}
