import { expect, test } from 'vitest';
import { servingHere as serving } from '../helpers/serving.ts';

test('the fifth of five simultaneous plans waits until a client disconnects', async () => {
  const server = await serving({ set: 'nodes: [{ type: set, fields: { x: "{{id}}" } }]\n' });
  const key = server.key();
  const leaving = new AbortController();
  const plan = (body: BodyInit, signal?: AbortSignal) =>
    server.send('/v1/flows/set/plans', {
      key,
      method: 'POST',
      headers: { 'content-type': 'text/csv' },
      body,
      signal,
      duplex: 'half',
    } as RequestInit);
  const endless = () => new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('id\n1\n')) });
  const open = Array.from({ length: 4 }, () => plan(endless(), leaving.signal).catch(() => 'left'));
  await new Promise((resolve) => setTimeout(resolve, 300));
  let isAnswered = false;
  const fifth = plan('id\n1\n').then((answer) => {
    isAnswered = true;
    return answer;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(isAnswered).toBe(false);
  leaving.abort();
  expect((await fifth).status).toBe(200);
  expect(await Promise.all(open)).toEqual(['left', 'left', 'left', 'left']);
});
