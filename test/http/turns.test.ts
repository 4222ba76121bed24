import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { httpServer } from '../helpers/http-server.ts';
import { createSender } from './sending.ts';

test('the HTTP client passes on at most eight responses in each turn of the event loop', async () => {
  const count = 64;
  const held: ServerResponse[] = [];
  const server = await httpServer((_request, response) => {
    held.push(response);
    if (held.length === count) for (const each of held) each.end('{}');
  });
  const { get } = createSender();
  let turn = 0;
  let isOver = false;
  const nextTurn = () => {
    turn++;
    if (!isOver) setImmediate(nextTurn);
  };
  const turns: number[] = [];
  nextTurn();
  await Promise.all(Array.from({ length: count }, () => get(server.origin).then(() => turns.push(turn))));
  isOver = true;
  const most = Math.max(...turns.map((one) => turns.filter((other) => other === one).length));
  expect(most).toBeLessThanOrEqual(8);
  expect(most).toBeGreaterThan(1);
});
