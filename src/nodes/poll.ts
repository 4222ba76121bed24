import * as z from 'zod';
import { excerpt } from '../core/answer/response.ts';
import type { Expression } from '../core/condition/condition.ts';
import { durationText } from '../core/duration.ts';
import { Failure } from '../core/failure.ts';
import { type BuildContext, defineNode, type Node, type NodeContext, type Step } from '../core/node.ts';
import { interval, timeout } from '../core/options/amounts.ts';
import { condition, innerNodes } from '../core/options/expressions.ts';
import type { Fields } from '../core/record.ts';
import { jsonOf } from '../core/value/value.ts';
import { conditionReads, innerParts, isMet } from './inner.ts';

const growing = z.strictObject({
  initial: interval.prefault('5s').describe('the wait after the first pass'),
  factor: z.number().min(1).default(2).describe('each wait is this many times as long as the one before'),
  max: interval.optional().describe('the longest wait (default: 60s, or initial if that is longer)'),
});

const defaultMaxMs = 60_000;

/** The minimum wait in ms if the server asks for a wait. If the wait from `every` is shorter, that is the minimum instead. */
const minAskedMs = 1000;

const pollOptions = z.strictObject({
  every: z
    .union([interval, growing], { error: 'expected a duration such as 5s, or { initial: 1s, factor: 2, max: 60s }' })
    .transform((written) => {
      if (typeof written === 'number') return { initial: written, factor: 1, max: written };
      return { ...written, max: Math.max(written.initial, written.max ?? defaultMaxMs) };
    })
    .prefault('5s')
    .describe(
      'the wait between two passes, which stays the same, or a mapping with initial, factor and max for a wait that grows; if the server sends Retry-After, that wait is used instead',
    ),
  timeout: timeout.prefault('10m').describe('maximum time from the first answer; if the record is not done by then, it fails'),
  until: condition.describe('a condition on the last record of a pass: if it is true, the record is done'),
  fail_when: condition.optional().describe('a condition on the last record of a pass: if it is true, the record fails'),
  nodes: innerNodes,
});

/** The poll node, which repeats its inner nodes, with waits in between, until a job is done. */
export const poll = defineNode({
  name: 'poll',
  summary: 'Poll: runs its nodes until a condition is true, and waits in between',
  example: `- type: poll
  every: 5s
  timeout: 10m
  until: status == "done"
  fail_when: status == "failed"
  nodes:
    - type: http
      url: https://api.example.com/jobs/{{job_id}}
      map: { status: status, result_url: result.url }`,
  options: pollOptions,
  build: buildPoll,
});

type PollOptions = z.output<typeof pollOptions>;

function buildPoll(options: PollOptions, context: BuildContext): Node | undefined {
  const steps = context.inner(options.nodes);
  const reads = conditionReads(context, { until: options.until, fail_when: options.fail_when });
  if (!steps) return undefined;
  refuseCaches(steps, options.nodes, context);
  return {
    ...innerParts(steps, { reads, maxPasses: maxPasses(options), waits: true, expands: false }),
    run: (fields, runContext) => runPoll(options, fields, runContext),
  };
}

/** Reports a problem if an inner node caches responses, because every pass would get the same response. */
function refuseCaches(steps: readonly Step[], written: readonly unknown[], { problem }: BuildContext): void {
  for (const [index, { node }] of steps.entries()) {
    const nested = (written[index] as { nodes?: unknown[] }).nodes;
    const at = ['nodes', index];
    if (node.action?.cache) problem([...at, 'cache'], 'a cached answer never changes, so a poll would never end\nleave cache out here');
    if (node.inner && nested)
      refuseCaches(node.inner.steps, nested, { problem: (place, message) => problem([...at, ...place], message) } as BuildContext);
  }
}

/** Assumes immediate responses and the shortest waits, which grow in a geometric series up to `longestMs`. */
function maxPasses({ every: { initial, factor, max }, timeout }: PollOptions): number {
  const longestMs = Math.min(minAskedMs, factor === 1 ? initial : max);
  const growth = Math.log1p(factor - 1);
  const growing = initial >= longestMs ? 0 : Math.ceil(Math.log(longestMs / initial) / growth);
  const grownMs = growing === 0 ? 0 : (initial * Math.expm1(growing * growth)) / (factor - 1);
  if (grownMs <= timeout) return 1 + growing + floor((timeout - grownMs) / longestMs);
  return 1 + floor(Math.log1p((timeout * (factor - 1)) / initial) / growth);
}

/** Rounds down. A value just below an integer is rounded up to it, because logarithms can be slightly too small. */
function floor(value: number): number {
  return Math.floor(value + 1e-9);
}

async function runPoll(options: PollOptions, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  const { every, until, fail_when: failWhen } = options;
  let endMs: number | undefined;
  let waitMs = every.initial;
  for (let pass = 1; ; pass++) {
    const rows: Fields[] = [];
    const lastAnswer = await context.inner(fields, pass, (passed) => {
      for (const row of passed) rows.push(row);
    });
    const last = rows.at(-1);
    if (!last) return rows;
    if (failWhen && isMet('fail_when', failWhen, last, context.clock))
      throw new Failure('http', `it failed${valuesText(failWhen, last)} (fail_when, pass ${pass})`);
    if (isMet('until', until, last, context.clock)) return rows;
    // The wait begins when the response arrives. The time that its processing has taken counts as part of the wait.
    const answeredMs = lastAnswer?.atMs ?? context.clock.now();
    // The timeout begins with the first response rather than at the start. At a low rate, most of the time could otherwise pass before the
    // first request.
    endMs ??= answeredMs + options.timeout;
    const askedMs =
      lastAnswer?.waitMs !== undefined && lastAnswer.waitMs > 0 ? Math.max(lastAnswer.waitMs, Math.min(waitMs, minAskedMs)) : undefined;
    const nextMs = answeredMs + (askedMs ?? waitMs);
    if (nextMs > endMs) throw notDone(pass, last, askedMs);
    await context.waitUntil(nextMs);
    waitMs = Math.min(every.max, waitMs * every.factor);
  }

  function notDone(pass: number, last: Fields, askedMs?: number): Failure {
    const passes = pass === 1 ? '1 pass' : `${pass} passes`;
    const asked = askedMs === undefined ? '' : ` (the server asks you to wait ${durationText(askedMs)} more)`;
    return new Failure('timeout', `not done within ${durationText(options.timeout)}, after ${passes}${asked}${valuesText(until, last)}`);
  }
}

/** Returns the values of a condition's fields for a message, after a colon; empty if the condition uses no field. */
function valuesText({ named }: Expression<boolean>, record: Fields): string {
  const values = named.map((field) => `${field} is ${record.has(field) ? jsonOf(record.get(field) ?? null) : 'absent'}`);
  return values.length === 0 ? '' : `: ${excerpt(values.join(', '))}`;
}
