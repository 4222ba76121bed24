import * as z from 'zod';
import { excerpt } from '../core/answer/response.ts';
import { Failure } from '../core/failure.ts';
import { type BuildContext, defineNode, type Node, type NodeContext } from '../core/node.ts';
import { condition, innerNodes } from '../core/options/expressions.ts';
import { fieldName } from '../core/options/names.ts';
import { type Fields, withFields } from '../core/record.ts';
import { fingerprint } from '../core/value/json.ts';
import { jsonOf, type Value } from '../core/value/value.ts';
import { conditionReads, innerParts, isMet } from './inner.ts';

const loopOptions = z.strictObject({
  max: z.int().min(1).max(1_000_000).default(100).describe('maximum number of passes; if a record needs more, it fails'),
  while: condition.describe('a condition on the last record of a pass: if it is true, another pass follows'),
  carry: z.array(fieldName).default([]).describe('fields that the next pass gets from the last record of the pass before it'),
  emit: z
    .enum(['each', 'last'])
    .default('each')
    .describe('which records go to the next node: those of each pass, or only those of the last'),
  nodes: innerNodes,
});

export const loop = defineNode({
  name: 'loop',
  summary: 'Loop: runs its nodes once, and again while a condition is true (do ... while)',
  example: `- type: set
  fields: { cursor: "" }
- type: loop
  while: cursor != null && cursor != ""
  carry: [cursor]
  nodes:
    - type: http
      url: https://api.example.com/items?cursor={{cursor}}
      map: { cursor: next, id: "items[].id" }`,
  options: loopOptions,
  build: buildLoop,
});

type LoopOptions = z.output<typeof loopOptions>;

function buildLoop(options: LoopOptions, context: BuildContext): Node | undefined {
  const steps = context.inner(options.nodes, options.carry);
  const reads = [
    ...conditionReads(context, { while: options.while }),
    ...options.carry.map((field, index) => ({ field, at: ['carry', index] })),
  ];
  if (!steps) return undefined;
  return {
    ...innerParts(steps, { reads, carried: options.carry, maxPasses: options.max, waits: false, expands: options.emit === 'each' }),
    streams: options.emit === 'each',
    run: (fields, runContext) => runLoop(options, fields, runContext),
  };
}

async function runLoop(options: LoopOptions, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  // Only fingerprints are stored, because the carried fields of many records and passes could exhaust memory.
  const seen = new Map([[fingerprint(carriedText(options, fields)), 0]]);
  let current = fields;
  for (let pass = 1; ; pass++) {
    const rows: Fields[] = [];
    let last: Fields | undefined;
    await context.inner(current, pass, async (passed) => {
      last = passed.at(-1) ?? last;
      if (options.emit === 'each') await context.emit(passed);
      else for (const row of passed) rows.push(row);
    });
    if (!last || !isMet('while', options.while, last, context.clock)) return rows;
    if (pass === options.max) throw new Failure('mapping', `the loop is not finished after ${passes(pass)} (max)${startsAlike(options)}`);
    refuseRepeat(options, last, pass, seen);
    current = withFields(fields, carried(options, last));
  }
}

function carried({ carry }: LoopOptions, last: Fields): (readonly [string, Value])[] {
  return carry.map((field) => [field, last.get(field) ?? null]);
}

function passes(count: number): string {
  return count === 1 ? '1 pass' : `${count} passes`;
}

function startsAlike({ carry }: LoopOptions): string {
  return carry.length > 0 ? '' : '\nevery pass began in the same way: under carry, list the fields that each pass gets from the one before';
}

/** Throws a Failure if a pass would begin with the same fields as an earlier pass, because the loop would never end. */
function refuseRepeat(options: LoopOptions, last: Fields, pass: number, seen: Map<string, number>): void {
  if (options.carry.length === 0) return;
  const text = carriedText(options, last);
  const mark = fingerprint(text);
  const earlier = seen.get(mark);
  if (earlier !== undefined) {
    const before = earlier === 0 ? 'the loop began with' : `pass ${earlier} ended with`;
    throw new Failure('mapping', `the loop makes no progress: pass ${pass} ends with what ${before}: ${excerpt(text, 100)}`);
  }
  seen.set(mark, pass);
}

function carriedText({ carry }: LoopOptions, fields: Fields): string {
  return carry.map((field) => `${field} = ${jsonOf(fields.get(field) ?? null)}`).join(', ');
}
