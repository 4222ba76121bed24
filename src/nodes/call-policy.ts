import * as z from 'zod';
import type { Mapping } from '../core/answer/mapping.ts';
import { compilePath, type Path } from '../core/answer/path.ts';
import { connectionLimitKey, type HttpConnection } from '../core/connection.ts';
import type { BuildContext, CallPolicy, Node } from '../core/node.ts';
import { type Concurrency, concurrency, credits, defaultRetry, duration, mostAuto, rate, retry, timeout } from '../core/options/amounts.ts';
import { mapPath } from '../core/options/expressions.ts';
import { fieldName } from '../core/options/names.ts';
import { dictionary } from '../core/value/dictionary.ts';

const defaultConcurrency = 16;

interface PolicyOptions {
  readonly concurrency?: Concurrency;
  readonly rate?: number;
  readonly credits?: number;
  readonly cost?: string;
  readonly charset?: string;
  readonly keep_answers?: boolean;
  readonly retry: Omit<z.output<typeof retry>, 'on'> & { readonly on: readonly (string | number)[] };
}

type PolicyConnection = Pick<HttpConnection, 'name' | 'isSaved' | 'concurrency' | 'intervalMs' | 'credits' | 'cost'> &
  Partial<Pick<HttpConnection, 'charset'>>;

/** Undefined if the node refers to none. If the flow lacks the connection, reports the problem and returns null. */
export function connectionOf(
  { connection }: { readonly connection?: string },
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
  const { max, backoff, max_wait: maxWaitMs, on } = options.retry;
  const { initial: firstDelayMs, factor, max: maxDelayMs, jitter } = backoff;
  const credits = options.credits ?? connection?.credits ?? 1;
  return {
    ...limitsOf(options, connection, context),
    retry: { on, max, firstDelayMs, factor, maxDelayMs, jitter, maxWaitMs },
    cost: tryOption(context, ['cost'], () => costPath(options.cost ?? connection?.cost)),
    charset: options.charset ?? connection?.charset,
    keepsAnswers: options.keep_answers,
    price: { credits, isStated: credits !== 1, connection: connection?.name },
  };
}

/**
 * The command line takes precedence over the node, and the node over its connection. All nodes of a connection share its concurrency, even
 * if the command line overrides the number. All runs and calls of flows with the same name share a node's concurrency, even after edits.
 * With `auto` on either level, the number of the other level is the maximum.
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

/** Undefined if the flow sets no path. Throws an Error with the reason if the path is invalid. */
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

const expectedMember = 'expected a path, or { path: P, required: true } or { path: P, default: V }';

/** If the path finds nothing, there is a default value or the record fails; an input column of the same name causes a warning. */
const member = z
  .strictObject({
    path: mapPath.describe('where the value is in the answer'),
    required: z.boolean().optional().describe('if true and nothing is found, the record fails'),
    default: z.unknown().optional().describe('the value if nothing is found'),
    replace: z.boolean().optional().describe('if true, the field may replace a column of the input; otherwise a warning says so'),
  })
  .refine(({ required, ...others }) => !required || others.default === undefined, {
    error: 'expected required or default: a path with a default always finds something',
    path: ['default'],
  });

const map = z.union([z.array(mapPath).min(1), dictionary(fieldName, z.union([mapPath, member], { error: expectedMember }))], {
  error: 'expected a list of paths, or a mapping of field names to paths',
});

/** If a default depends on other options, the description states it in parentheses. */
export const meanings = {
  timeout: 'maximum time for one attempt, until the whole answer has arrived',
  retry: 'when and how often a failed request is sent again',
  retryMax: 'maximum number of retries after the first attempt',
  concurrency: 'maximum number of requests in flight at once; auto adapts the number to the server',
  map: 'the fields that the answer adds to the record: a mapping of names to paths, or a list of paths',
  cache: 'cache answers on disk for this long, and reuse them for identical requests',
} as const;

/** The options of every node that sends requests. A node replaces an option that has a different default or meaning in that node. */
export const callOptions = {
  timeout: timeout.prefault('30s').describe(meanings.timeout),
  retry: retry.prefault(defaultRetry).describe(meanings.retry),
  rate: rate.optional().describe("maximum rate of requests, such as 10/s (default: the connection's, or no limit)"),
  concurrency: concurrency.optional().describe(`${meanings.concurrency} (default: the connection's, or 16)`),
  map: map.optional().describe(meanings.map),
  when_empty: z
    .enum(['keep', 'drop', 'error'])
    .default('keep')
    .describe('if map expands an array that is empty or missing: keep keeps the record, drop drops it, error fails it'),
  keep_answers: z
    .boolean()
    .default(true)
    .describe('if false, the requests of this node are sent also in a run that keeps answers, and none of its answers is kept'),
  credits: credits.optional().describe("the credits that one request costs; 0 if it is free (default: the connection's, or 1)"),
};

export const cacheOption = duration.optional().describe(`${meanings.cache} (default: no cache)`);
