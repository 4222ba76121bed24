import { describe, expect, test } from 'vitest';
import { readAnswer, readMessage, readReply } from '../../../src/workers/queue/queue-message.ts';

const sender = { worker: 'one', gen: '0a1b2c3d', nonce: 'abc', seq: 1 };
const failure = { kind: 'http', message: 'the server answered 404', attempts: 1, sent: true };

/** A message with results and reports, of which `more` replaces some. */
const results = (more: object) => ({ ...sender, kind: 'results', numbers: [5], reports: [], results: [[1, 0, 1, 'a,b\n']], ...more });

describe("a worker's message", () => {
  test.each([
    { ...sender, kind: 'join' },
    { ...sender, kind: 'left', unit: 3 },
    { ...sender, kind: 'ended' },
    { ...sender, kind: 'back', unit: 3 },
    { ...sender, kind: 'question', id: 1, question: { kind: 'begin', unit: 3 } },
    { ...sender, kind: 'question', id: 1, question: { kind: 'hold-credits', node: 'http-1', calls: 64 } },
    results({}),
    results({ results: [[1, 0, 1, 'a,b\n', 2]] }),
    results({ results: [[1, 0, { at: 0, text: 'a' }]] }),
    results({ results: [[1, 0, { ...failure, masked: [['token', '"***"']] }]] }),
    results({ reports: [{ kind: 'settle-credits', node: 'http-1' }] }),
    results({ reports: [{ kind: 'event', event: { type: 'call-done', record: 5, node: 'http-1', attempts: 1, ms: 3 } }] }),
    results({ reports: [{ kind: 'closing', phase: 'finishing', reason: { ending: 'on-error-stop', message: 'a record failed' } }] }),
  ])('keeps all its values: %j', (message) => {
    expect(readMessage(message)).toEqual(message);
  });

  test.each([
    null,
    undefined,
    'text',
    [],
    {},
    { ...sender, kind: 'unknown' },
    { ...sender, kind: 'join', seq: '1' },
    { ...sender, kind: 'join', nonce: null },
    { ...sender, kind: 'left' },
    { ...sender, kind: 'left', unit: -1 },
    { ...sender, kind: 'question', id: 1, question: null },
    results({ numbers: 'none' }),
    results({ results: [null] }),
    results({ results: [[1, 0]] }),
    results({ results: [[1, 0, { ...failure, kind: 'odd' }]] }),
    results({ reports: [null] }),
    results({ reports: [{ kind: 'settle-credits', node: 'http-1', cost: 'much' }] }),
    results({ reports: [{ kind: 'closing', phase: 'odd' }] }),
  ])('is ignored if its form is wrong: %j', (message) => {
    expect(readMessage(message)).toBeUndefined();
  });
});

describe("a coordinator's message", () => {
  const receiver = { run: 'run', gen: '0a1b2c3d', nonce: 'abc' };

  test.each([
    { ...receiver, kind: 'welcome', beat: 3 },
    { ...receiver, kind: 'answer', id: 1 },
    { ...receiver, kind: 'end' },
  ])('keeps all its values: %j', (message) => {
    expect(readAnswer(message)).toEqual(message);
  });

  test.each([null, { ...receiver, kind: 'welcome' }, { kind: 'end' }, { ...receiver, nonce: undefined, kind: 'end' }])(
    'is ignored if its form is wrong: %j',
    (message) => {
      expect(readAnswer(message)).toBeUndefined();
    },
  );

  test('about a unit is ignored if its form is wrong', () => {
    const question = { kind: 'begin', unit: 3 } as const;
    for (const consent of [[0, 5], [], 'held']) expect(readReply(question, consent)).toEqual(consent);
    for (const wrong of [['0'], [-1], 'all', null, {}]) expect(readReply(question, wrong)).toBeUndefined();
  });

  test('about credits is ignored if its form is wrong', () => {
    const question = { kind: 'hold-credits', node: 'http-1', calls: 64 } as const;
    expect(readReply(question, { calls: 64, left: null })).toEqual({ calls: 64 });
    expect(readReply(question, { calls: 'many' })).toBeUndefined();
    expect(readReply({ kind: 'hold-money', node: 'llm-1', max: 1, most: 1 }, { held: 'odd', total: 0 })).toBeUndefined();
  });
});
