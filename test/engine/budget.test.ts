import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Budget } from '../../src/engine/budget.ts';
import type { Progress } from '../../src/engine/call.ts';
import { RunPhase } from '../../src/engine/phase.ts';
import { planFor } from '../helpers/flow-problems.ts';

/** Creates a budget and a fake ledger. `affords` is the ledger's reply; `asked` lists the calls that the budget asked it about. */
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

/** Returns how many calls each node still needs for the records in progress and the next record. */
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

describe('the number of calls reserved for a node', () => {
  test.each([
    ['one call for each node, or a share of a batch', call('a') + batch(2), { a: 3, b: 2 }, { a: 1, b: 1 }, { a: 2, b: 1 }],
    ['one call for each pass that a loop allows', loop(call('a')) + call('c'), { a: 21, c: 3 }, { a: 19, c: 1 }, { a: 2, c: 2 }],
    [
      'one call for each page that `paginate` allows',
      call('a', ', paginate: { type: link_header, max: 5 }'),
      { a: 15 },
      { a: 13 },
      { a: 2 },
    ],
    ['one call for each pass of two nested loops', loop(loop(call('a'))), { a: 147 }, { a: 145 }, { a: 2 }],
    [
      '100 calls for a node after one that makes any number of rows',
      call('a', ', map: { id: "ids[]" }') + call('c'),
      { a: 3, c: 300 },
      { a: 1, c: 298 },
      { a: 2, c: 2 },
    ],
    ['one call for a poll', around('poll\n    until: "false"', call('a')), { a: 3 }, { a: 1 }, { a: 2 }],
  ])(
    'is at first %s per record, falls with each call, and later depends on the finished records',
    async (_, nodes, atFirst, paid, learned) => {
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
    },
  );

  test('is rounded up to whole batches, even if the last batch is not full', () => {
    const it = budgetOf(call('a') + batch(7));
    for (let record = 0; record < 8; record++) it.budget.begin();
    expect(needOf(it)).toEqual({ a: 9, b: 2 });
  });

  test('includes a whole batch for each record if it is unknown which records can share a batch', () => {
    const it = budgetOf(call('a') + batch(7, '?g={{id}}'));
    it.budget.begin();
    expect(needOf(it)).toEqual({ a: 2, b: 2 });
  });

  test('is based on the average number of records in the batches so far', () => {
    const it = budgetOf(call('a') + batch(50));
    const records = Array.from({ length: 6 }, () => it.budget.begin());
    for (const [index, progress] of records.entries()) progress.begin('b', index % 3 > 0);
    // With two batches of three records each so far, seven records need three batches, of which two are already paid for.
    expect(needOf(it)).toEqual({ a: 7, b: 1 });
  });

  test('is based on the most calls that a successful record has made', async () => {
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

  test('is halved each time a record skips the node, but never falls below one', async () => {
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

describe('a credit budget', () => {
  const two = call('a') + call('c');

  test('lets a record begin if no other record is being processed, whatever the ledger can pay for', () => {
    const { budget } = budgetOf(two, () => false);
    expect(budget.room()).toBeUndefined();
    budget.begin();
    expect(budget.room()).toBeInstanceOf(Promise);
  });

  test('lets a record begin as soon as another record ends', async () => {
    const { budget } = budgetOf(two, () => false);
    const progress = budget.begin();
    const room = budget.room();
    budget.endWith(Promise.resolve(), progress);
    await room;
  });

  test('lets a record begin as soon as a call has been made and the ledger can pay for the rest', async () => {
    let affords = false;
    const { budget } = budgetOf(two, () => affords);
    const progress = budget.begin();
    const room = budget.room();
    affords = true;
    progress.begin('a');
    await room;
  });

  test('no longer holds records back once the run closes', async () => {
    const { budget, phase } = budgetOf(two, () => false);
    budget.begin();
    const room = budget.room();
    phase.advance('finishing', { ending: 'interrupted', message: 'received SIGINT' });
    await room;
    expect(budget.room()).toBeUndefined();
  });

  test('does not ask the ledger if the flow makes only one call per record', () => {
    const { budget, asked } = budgetOf(call('a'), () => false);
    for (let record = 0; record < 9; record++) budget.begin();
    expect([budget.room(), asked]).toEqual([undefined, []]);
  });
});
