import { expect, test } from 'vitest';
import type { Event } from '../../src/core/event.ts';
import { RunLedger } from '../../src/credits/run-ledger.ts';
import { RunSpending } from '../../src/credits/spending.ts';
import { RunDesk } from '../../src/workers/run-desk.ts';

const node = 'ask';

function openDesk(max?: number, report: (event: Event) => void = () => undefined) {
  const account = { flow: 'f', node, connection: '', env: '' };
  const prices = new Map([[node, { credits: 1, account }]]);
  const ledger = new RunLedger({ run: 'run', home: '', prices, max, before: 0, wallNow: Date.now }, undefined);
  const spending = new RunSpending();
  const ignored = () => undefined;
  const saveNames = { claim: ignored, release: ignored, note: ignored, takeBack: ignored } as never;
  const desk = new RunDesk({ ledger, spending, prices, saveNames, workers: () => 1, report, warn: ignored });
  const holdMoney = () => desk.answer(1, { kind: 'hold-money', node, max: 10, most: 4 });
  return { desk, ledger, spending, holdMoney };
}

test('credits that a worker holds are settled or released, and those of a lost worker count as spent', async () => {
  const { desk, ledger } = openDesk(10);
  expect(await desk.answer(1, { kind: 'hold-credits', node, calls: 5 })).toEqual({ calls: 5, left: 5 });
  desk.take(1, { kind: 'settle-credits', node });
  desk.take(1, { kind: 'release-credits', node, calls: 2 });
  expect([ledger.spent(), ledger.left()]).toEqual([1, 7]);
  desk.lost(1);
  expect([ledger.spent(), ledger.left(), desk.maybeSpent]).toEqual([3, 7, 2]);
  desk.take(1, { kind: 'release-credits', node, calls: 2 });
  expect([ledger.spent(), ledger.left()]).toEqual([3, 7]);
});

test('money that a worker holds is settled or released, and that of a lost worker counts as spent', async () => {
  const { desk, spending, holdMoney } = openDesk();
  expect(await holdMoney()).toEqual({ held: 4, total: 0 });
  desk.take(1, { kind: 'settle-money', node, held: 4, cost: 1 });
  await holdMoney();
  desk.take(1, { kind: 'release-money', node, held: 4 });
  desk.take(1, { kind: 'settle-money', node, cost: 2 });
  expect(spending.totals()).toEqual({ [node]: 3 });
  await holdMoney();
  desk.lost(1);
  expect(spending.totals()).toEqual({ [node]: 7 });
  desk.take(1, { kind: 'settle-money', node, held: 4, cost: 1 });
  expect(spending.totals()).toEqual({ [node]: 7 });
  expect(await holdMoney()).toEqual({ held: 'used-up', total: 7 });
});

test('an answer without its number of tokens ends a node with a maximum cost, even if its worker was lost meanwhile', async () => {
  const { desk, holdMoney } = openDesk();
  await holdMoney();
  desk.lost(1);
  desk.take(1, { kind: 'settle-money', node, held: 4, cost: 'unstated' });
  expect(await holdMoney()).toEqual({ held: 'unstated', total: 4 });
});

test('a refusal says which worker learned from it, because each learns its own part of the rate', () => {
  const events: Event[] = [];
  const { desk } = openDesk(undefined, (event) => events.push(event));
  const event = { type: 'call-refused', gate: 'https://api.example.com', status: 429, learned: 25 } as const;
  desk.take(1, { kind: 'event', event });
  desk.take(2, { kind: 'event', event: { ...event, learned: undefined } });
  expect(events).toEqual([
    { ...event, worker: 1 },
    { ...event, learned: undefined, worker: 2 },
  ]);
});
