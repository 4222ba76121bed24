import { describe, expect, test } from 'vitest';
import type { ServerDatabase } from '../../src/io/server/database.ts';
import { Idempotency, type NamedRequest } from '../../src/serve/idempotency.ts';
import { serverDatabase, setClock } from '../helpers/server-keys.ts';

const run: NamedRequest = { key: 'key_1', name: 'k1', flow: 'ask', kind: 'run' };
const call: NamedRequest = { ...run, kind: 'call' };
const answer = { status: 200, type: 'application/json', body: '{}' };

/** A server's answers over a database. A crash is a second one over the same database. */
function answersOf(database = serverDatabase()) {
  const clock = setClock();
  return { answers: new Idempotency(database, clock.wallNow), database, clock };
}

const none = () => undefined;

describe('after a crash, a repeated request for a run', () => {
  test('gets the run if it is there', () => {
    const { answers, database } = answersOf();
    expect(answers.beginRun(run, 'body', 'run_1', none)).toBeUndefined();
    const after = answersOf(database).answers;
    expect(after.beginRun(run, 'body', 'run_2', (id) => ({ id }))).toEqual({ id: 'run_1' });
  });

  test('makes the run if it is not there, once', () => {
    const { answers, database } = answersOf();
    answers.beginRun(run, 'body', 'run_1', none);
    const after = answersOf(database).answers;
    expect(after.beginRun(run, 'body', 'run_2', none)).toBeUndefined();
    expect(() => after.beginRun(run, 'body', 'run_3', none)).toThrow('a request with this Idempotency-Key is under way');
    after.endRun(run);
    expect(after.beginRun(run, 'body', 'run_3', (id) => ({ id }))).toEqual({ id: 'run_2' });
  });

  test('with another body, or for a call, is refused', () => {
    const { answers, database } = answersOf();
    answers.beginRun(run, 'body', 'run_1', none);
    const after = answersOf(database).answers;
    expect(() => after.beginRun(run, 'other', 'run_2', none)).toThrow('belongs to a request with another body');
    expect(() => after.begin(call, 'body')).toThrow('belongs to a request with another body');
  });
});

test('after a crash, a repeated call gets a 504: nobody knows if the first was sent', () => {
  const { answers, database } = answersOf();
  expect(answers.begin(call, 'body')).toBeUndefined();
  expect(answersOf(database).answers.begin(call, 'body')).toMatchObject({ status: 504 });
});

describe('a request for which nothing was sent', () => {
  test('is forgotten even if the disk is full', () => {
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

  test('can be sent again with another body, and then has its own answer', () => {
    const { answers } = answersOf();
    answers.begin(call, 'body');
    answers.forget(call);
    expect(answers.begin(call, 'other')).toBeUndefined();
    answers.end(call, 'other', answer);
    expect(answers.begin(call, 'other')).toEqual(answer);
  });
});

describe('an answer of more than 64 kB', () => {
  const large = { ...answer, body: 'x'.repeat(64 * 1024 + 1) };

  test('is not stored: a repeated call is done again, and another body is refused', () => {
    const { answers, database } = answersOf();
    answers.begin(call, 'body');
    answers.end(call, 'body', large);
    expect(() => answers.begin(call, 'other')).toThrow('belongs to a request with another body');
    expect(answers.begin(call, 'body')).toBeUndefined();
    expect(answersOf(database).answers.begin(call, 'body')).toMatchObject({ status: 504 });
    answers.end(call, 'body', answer);
    expect(answers.begin(call, 'body')).toEqual(answer);
  });

  test('takes no space; smaller ones are counted, also after a restart, for a day', () => {
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
