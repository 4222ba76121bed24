import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Budget } from '../../src/engine/budget.ts';
import type { Progress } from '../../src/engine/call.ts';
import { RunPhase } from '../../src/engine/phase.ts';
import { planFor } from '../helpers/flow-problems.ts';

/** A budget whose ledger affords calls as `affords` says, and records the numbers of calls it was asked about. */
function budgetOf(nodes: string, affords: () => boolean = () => true) {
  const asked: Record<string, number>[] = [];
  const phase = new RunPhase();
  const ledger = {
    affords: (calls: readonly (readonly [string, number])[]) => {
      asked.push(Object.fromEntries(calls));
      return affords();
    },
    usedUp: () => undefined,
  };
  const budget = new Budget(planFor(`nodes:\n${nodes}`), ledger, phase);
  return { budget, asked, phase };
}

/** The numbers of calls that the next record and those under way need. */
function needOf({ budget, asked }: ReturnType<typeof budgetOf>): Record<string, number> | undefined {
  budget.room();
  return asked.at(-1);
}

function beginWith(budget: Budget, calls: number, node = 'a'): Progress {
  const progress = budget.begin();
  for (let made = 0; made < calls; made++) progress.begin(node);
  return progress;
}

const call = (id: string, more = '') => `  - { id: ${id}, type: http, url: "https://api.example.com/{{id}}"${more} }\n`;
const batch = (size: number, more = '') =>
  `  - { id: b, type: http, method: POST, url: "https://api.example.com/${more}", batch: { size: ${size}, items: "{{id}}" }, body: ["{{items}}"] }\n`;
const around = (options: string, nodes: string) => `  - type: ${options}\n    nodes:\n${nodes.replace(/^/gm, '    ').trimEnd()}\n`;
const loop = (nodes: string) => around('loop\n    max: 7\n    emit: last\n    while: "false"', nodes);

describe('a record needs', () => {
  test.each([
    ['one call for each node, or a share of a batch', call('a') + batch(2), { a: 3, b: 2 }, { a: 1, b: 1 }, { a: 2, b: 1 }],
    ['as many calls as passes of a loop are allowed', loop(call('a')) + call('c'), { a: 21, c: 3 }, { a: 19, c: 1 }, { a: 2, c: 2 }],
    ['as many calls as pages are allowed', call('a', ', paginate: { type: link_header, max: 5 }'), { a: 15 }, { a: 13 }, { a: 2 }],
    ['the product of the passes of loops inside each other', loop(loop(call('a'))), { a: 147 }, { a: 145 }, { a: 2 }],
    [
      '100 calls after a node that makes any number of rows',
      call('a', ', map: { id: "ids[]" }') + call('c'),
      { a: 3, c: 300 },
      { a: 1, c: 298 },
      { a: 2, c: 2 },
    ],
    ['one call of a poll', around('poll\n    until: "false"', call('a')), { a: 3 }, { a: 1 }, { a: 2 }],
  ])('%s: at first, less those that were paid, and what records that came out have made', async (_, nodes, atFirst, paid, learned) => {
    const it = budgetOf(nodes);
    const records = [it.budget.begin(), it.budget.begin()];
    expect(needOf(it)).toEqual(atFirst);
    for (const [index, progress] of records.entries())
      for (const node of ['a', 'b', 'c'].filter((id) => nodes.includes(`id: ${id},`))) progress.begin(node, node === 'b' && index > 0);
    expect(needOf(it)).toEqual(paid);
    for (const progress of records) it.budget.endWith(Promise.resolve(), progress);
    await nextTurn();
    it.budget.begin();
    expect(needOf(it)).toEqual(learned);
  });

  test('whole calls, however few share the last batch', () => {
    const it = budgetOf(call('a') + batch(7));
    for (let record = 0; record < 8; record++) it.budget.begin();
    expect(needOf(it)).toEqual({ a: 9, b: 2 });
  });

  test('a call of its own if it is not known who can share one', () => {
    const it = budgetOf(call('a') + batch(7, '?g={{id}}'));
    it.budget.begin();
    expect(needOf(it)).toEqual({ a: 2, b: 2 });
  });

  test('a share of batches as full as they were on average', () => {
    const it = budgetOf(call('a') + batch(50));
    const records = Array.from({ length: 6 }, () => it.budget.begin());
    for (const [index, progress] of records.entries()) progress.begin('b', index % 3 > 0);
    // Two batches of three: seven records need three of them, of which two are paid.
    expect(needOf(it)).toEqual({ a: 7, b: 1 });
  });

  test('as many calls as the record that made the most; failed records show nothing', async () => {
    const it = budgetOf(loop(call('a')));
    const running = it.budget.begin();
    it.budget.endWith(Promise.reject(new Error('failed')), beginWith(it.budget, 1));
    await nextTurn();
    expect(needOf(it)).toEqual({ a: 14 });
    it.budget.endWith(Promise.resolve(), beginWith(it.budget, 3));
    it.budget.endWith(Promise.resolve(), beginWith(it.budget, 2));
    await nextTurn();
    expect(needOf(it)).toEqual({ a: 6 });
    for (let made = 0; made < 5; made++) running.begin('a');
    expect(needOf(it)).toEqual({ a: 5 });
  });

  test('half as many calls at a node after each record that skipped it, and one at least', async () => {
    const it = budgetOf(call('a') + call('c', ', when: "false", paginate: { type: link_header, max: 5 }'));
    const needs: unknown[] = [];
    for (let record = 0; record < 4; record++) {
      it.budget.endWith(Promise.resolve(), beginWith(it.budget, 1));
      await nextTurn();
      const next = it.budget.begin();
      needs.push(needOf(it)?.c);
      it.budget.endWith(Promise.reject(new Error('failed')), next);
      await nextTurn();
    }
    expect(needs).toEqual([6, 4, 2, 2]);
  });
});

describe('a budget has room', () => {
  const two = call('a') + call('c');

  test('for a record if none is under way, whatever the ledger affords', () => {
    const { budget } = budgetOf(two, () => false);
    expect(budget.room()).toBeUndefined();
    budget.begin();
    expect(budget.room()).toBeInstanceOf(Promise);
  });

  test('again when a record ends', async () => {
    const { budget } = budgetOf(two, () => false);
    const progress = budget.begin();
    const room = budget.room();
    budget.endWith(Promise.resolve(), progress);
    await room;
  });

  test('again when a call shows that less is needed', async () => {
    let affords = false;
    const { budget } = budgetOf(two, () => affords);
    const progress = budget.begin();
    const room = budget.room();
    affords = true;
    progress.begin('a');
    await room;
  });

  test('once the run closes', async () => {
    const { budget, phase } = budgetOf(two, () => false);
    budget.begin();
    const room = budget.room();
    phase.advance('finishing', { ending: 'interrupted', message: 'received SIGINT' });
    await room;
    expect(budget.room()).toBeUndefined();
  });

  test('for all records of a flow with one call: the ledger is not asked', () => {
    const { budget, asked } = budgetOf(call('a'), () => false);
    for (let record = 0; record < 9; record++) budget.begin();
    expect([budget.room(), asked]).toEqual([undefined, []]);
  });
});
