import { expect, test } from 'vitest';
import type { HttpRequest, Ports } from '../../src/core/ports.ts';
import { Recorder } from '../../src/flow-tests/recorder.ts';
import { toResponse } from '../helpers/fake-answer.ts';

const request = { method: 'GET', origin: 'https://a.example', path: '/1' } as HttpRequest;

/** Ports whose responses have these statuses, in order. They throw an error if the code waits. */
function portsOf(statuses: readonly number[]): Ports {
  const left = [...statuses];
  let nowMs = 0;
  const clock = {
    now: () => nowMs,
    wallNow: () => 1_000_000 + nowMs,
    sleepUntil: () => {
      throw new Error('a replay waits');
    },
  };
  const send = async () => {
    nowMs += 70;
    return { ...toResponse({ status: left.shift() as number }), atMs: nowMs };
  };
  return { clock, http: { send }, tools: {} } as object as Ports;
}

test('a replay returns the recorded responses to each request in order, and waits pass at once', async () => {
  const recorder = new Recorder();
  const ports = portsOf([503, 200]);
  for (const _ of [1, 2]) await recorder.recording(ports).http.send(request);
  const { http, clock } = recorder.replaying(ports);
  expect(clock.wallNow()).toBe(1_000_140);
  expect([(await http.send(request)).status, (await http.send(request)).status]).toEqual([503, 200]);
  await expect(http.send(request)).rejects.toThrow('the run did not send this request');
  await clock.sleepUntil(clock.now() + 86_400_000);
  const last = recorder.replayingLast(ports);
  expect([last.clock.now(), (await last.http.send(request)).status, last.clock.now()]).toEqual([0, 200, 70]);
  expect([(await last.http.send(request)).status, last.clock.now()]).toEqual([200, 140]);
});

test("a replayed answer arrives by the replay's clock", async () => {
  const recorder = new Recorder();
  const ports = portsOf([503, 200]);
  for (const _ of [1, 2]) await recorder.recording(ports).http.send(request);
  expect((await recorder.replaying(ports).http.send(request)).atMs).toBe(0);
  expect((await recorder.replayingLast(ports).http.send(request)).atMs).toBe(70);
});
