import { describe, expect, test } from 'vitest';
import { Idempotency, type NamedRequest } from '../../src/serve/idempotency.ts';
import type { ServerDatabase } from '../../src/serve/store/database.ts';
import { serverDatabase, setClock } from '../helpers/server-keys.ts';

const run: NamedRequest = { key: 'key_1', name: 'k1', flow: 'ask', kind: 'run' };
const call: NamedRequest = { ...run, kind: 'call' };
const answer = { status: 200, type: 'application/json', body: '{}' };

/** Creates the server's stored responses in a database. To simulate a start after a crash, call this again with the same database. */
function answersOf(database = serverDatabase()) {
  const clock = setClock();
  return { answers: new Idempotency(database, clock.wallNow), database, clock };
}

const none = () => undefined;

describe('a request for a run that is repeated with its idempotency key after a crash', () => {
  test('returns the run if the first request created it', () => {
    const { answers, database } = answersOf();
    expect(answers.beginRun(run, 'body', 'run_1', none)).toBeUndefined();
    const after = answersOf(database).answers;
    expect(after.beginRun(run, 'body', 'run_2', (id) => ({ id }))).toEqual({ id: 'run_1' });
  });

  test('creates the run, only once, if the first request did not', () => {
    const { answers, database } = answersOf();
    answers.beginRun(run, 'body', 'run_1', none);
    const after = answersOf(database).answers;
    expect(after.beginRun(run, 'body', 'run_2', none)).toBeUndefined();
    expect(() => after.beginRun(run, 'body', 'run_3', none)).toThrow('a request with this Idempotency-Key is in progress');
    after.endRun(run);
    expect(after.beginRun(run, 'body', 'run_3', (id) => ({ id }))).toEqual({ id: 'run_2' });
  });

  test('is refused if its body is different or the key belongs to a call', () => {
    const { answers, database } = answersOf();
    answers.beginRun(run, 'body', 'run_1', none);
    const after = answersOf(database).answers;
    expect(() => after.beginRun(run, 'other', 'run_2', none)).toThrow('belongs to a request with a different body');
    expect(() => after.begin(call, 'body')).toThrow('belongs to a request with a different body');
  });
});

test('a call that is repeated with its idempotency key after a crash gets a 504', () => {
  const { answers, database } = answersOf();
  expect(answers.begin(call, 'body')).toBeUndefined();
  expect(answersOf(database).answers.begin(call, 'body')).toMatchObject({ status: 504 });
});

describe('an idempotency key whose first call sent nothing', () => {
  test('is released even if the disk is full', () => {
    const database = serverDatabase();
    let isFull = false;
    const written: ServerDatabase['write'] = (act) => {
      if (isFull) throw new Error('the disk is full');
      return database.write(act);
    };
    const { answers } = answersOf({ read: database.read.bind(database), write: written } as ServerDatabase);
    answers.begin(call, 'body');
    isFull = true;
    answers.forget(call);
    isFull = false;
    expect(answers.begin(call, 'body')).toBeUndefined();
  });

  test('can be reused with a different body, and then belongs to the second call', () => {
    const { answers } = answersOf();
    answers.begin(call, 'body');
    answers.forget(call);
    expect(answers.begin(call, 'other')).toBeUndefined();
    answers.end(call, 'other', answer);
    expect(answers.begin(call, 'other')).toEqual(answer);
  });
});

describe('a response of more than 64 kB to a call with an idempotency key', () => {
  const large = { ...answer, body: 'x'.repeat(64 * 1024 + 1) };

  test('is not stored: a repeated call is executed, unless its body is different', () => {
    const { answers, database } = answersOf();
    answers.begin(call, 'body');
    answers.end(call, 'body', large);
    expect(() => answers.begin(call, 'other')).toThrow('belongs to a request with a different body');
    expect(answers.begin(call, 'body')).toBeUndefined();
    expect(answersOf(database).answers.begin(call, 'body')).toMatchObject({ status: 504 });
    answers.end(call, 'body', answer);
    expect(answers.begin(call, 'body')).toEqual(answer);
  });

  test('does not count towards the disk space, unlike smaller responses', () => {
    const { answers, database, clock } = answersOf();
    const small = { ...answer, body: '\u00e9'.repeat(1000) };
    for (const [name, body] of [
      ['one', small],
      ['two', small],
      ['three', large],
    ] as const) {
      answers.begin({ ...call, name }, 'body');
      answers.end({ ...call, name }, 'body', body);
    }
    expect([answers.answerBytes, answersOf(database).answers.answerBytes]).toEqual([4000, 4000]);
    answers.forget({ ...call, name: 'one' });
    expect(answers.answerBytes).toBe(2000);
    clock.pass(24 * 3_600_000);
    answers.begin({ ...call, name: 'four' }, 'body');
    expect(answers.answerBytes).toBe(0);
  });
});
