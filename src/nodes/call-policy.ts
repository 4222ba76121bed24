import type * as z from 'zod';
import type { Mapping } from '../core/answer/mapping.ts';
import { compilePath, type Path } from '../core/answer/path.ts';
import { connectionLimitKey, type HttpConnection } from '../core/connection.ts';
import type { BuildContext, CallPolicy, Node } from '../core/node.ts';
import { type Concurrency, mostAuto } from '../core/options/amounts.ts';
import type { retry } from '../core/options/retry.ts';

/** Default maximum number of calls in flight. */
const defaultConcurrency = 16;

interface PolicyOptions {
  readonly concurrency?: Concurrency | undefined;
  readonly rate?: number | undefined;
  readonly credits?: number | undefined;
  readonly cost?: string | undefined;
  readonly charset?: string | undefined;
  readonly retry: Omit<z.output<typeof retry>, 'on'> & { readonly on: readonly (string | number)[] };
}

type PolicyConnection = Pick<HttpConnection, 'name' | 'isSaved' | 'concurrency' | 'intervalMs' | 'credits' | 'cost'> &
  Partial<Pick<HttpConnection, 'charset'>>;

/**
 * Returns the connection that a node refers to; undefined if it refers to none. If the flow has no such connection, reports the problem and
 * returns null.
 */
export function connectionOf(
  { connection }: { readonly connection?: string | undefined },
  context: Pick<BuildContext, 'connection'>,
): HttpConnection | undefined | null {
  return connection === undefined ? undefined : (context.connection(connection) ?? null);
}

/** Returns the rules for calls that the options and the connection set. Reports problems with the options. */
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
    charset: options.charset ?? connection?.charset,
    price: { credits, isStated: credits !== 1, connection: connection?.name },
  };
}

/**
 * Returns the rate and concurrency of a node. The command line takes precedence over the node's options, which take precedence over its
 * connection.
 *
 * If a connection sets the concurrency, all of its nodes share it, even if the command line overrides the number. If a node sets it, all
 * runs and calls of flows with the same name share it, even if the flow was edited in between. If either the node or the connection has
 * `auto`, the number that the other one sets is the maximum.
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

/**
 * Compiles the path of the actual cost in a response; undefined if the flow sets none. Throws an Error with the reason if the path is
 * invalid.
 */
export function costPath(text: string | undefined): Path | undefined {
  return text === undefined ? undefined : singlePath(text, 'number');
}

/** Compiles a path to a single value. Throws an Error with the reason if the path is invalid or leads to several values. */
export function singlePath(text: string, kind: 'number' | 'string' | 'value'): Path {
  const path = compilePath(text);
  if (path.legs.length > 1) throw new Error(`expected a path to one ${kind}, found "${text}", which leads to several`);
  return path;
}

/** Returns a function that adds the fields of a map to the columns, and the facts about these fields. */
export function mappedColumns(mapping: Mapping | undefined): Pick<Node, 'typedFields' | 'columns' | 'mapped'> {
  const fields = mapping?.fields ?? [];
  return { typedFields: fields, mapped: mapping?.unmarked ?? [], columns: (before) => [...new Set([...before, ...fields])] };
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

/** True if the list contains the status, or a class such as 5xx that includes it. */
export function matches(wanted: readonly (number | string)[], status: number): boolean {
  return wanted.includes(status) || wanted.includes(`${Math.floor(status / 100)}xx`);
}
