import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { Failure, type FailureClass } from '../../src/core/failure.ts';
import { minCallsBefore, SameFailureWatch, tooManyErrors, UnreachableWatch } from '../../src/engine/failure-limits.ts';
import { RunPhase } from '../../src/engine/phase.ts';

describe('the maximum number of failed records', () => {
  test.each([
    ['allows exactly that many failures if it is a count', { count: 3 }, { finished: 9, failed: 3 }, undefined],
    [
      'is exceeded by one more failure if it is a count',
      { count: 3 },
      { finished: 9, failed: 4 },
      'more than 3 records have failed (--max-errors 3)',
    ],
    [
      'is described in the singular if it is one',
      { count: 1 },
      { finished: 9, failed: 2 },
      'more than 1 record has failed (--max-errors 1)',
    ],
    ['does not apply before the hundredth record if it is a share', { share: 0.1 }, { finished: 99, failed: 99 }, undefined],
    ['allows exactly that share of failures', { share: 0.1 }, { finished: 100, failed: 10 }, undefined],
    [
      'is exceeded by one more failure if it is a share',
      { share: 0.1 },
      { finished: 100, failed: 11 },
      'more than 10 % of the records have failed (--max-errors 10%)',
    ],
    ['allows all records to fail if it is not set', undefined, { finished: 9, failed: 9 }, undefined],
  ] as const)('%s', (_, limit, counts, message) => {
    const reached = tooManyErrors({ maxErrors: limit }, counts);
    expect(reached && messageWithAdvice(reached)).toBe(message);
  });

  test.each([
    ['a count of 3 needs 4 failures, of which 1 needs no call', { count: 3 }, 1, 50, 3],
    ['a share needs 100 finished records, of which 25 need no call', { share: 0.1 }, 5, 20, 75],
    ['a share of 10 % needs 11 failures', { share: 0.1 }, 0, 100, 11],
  ] as const)('cannot be exceeded before a minimum number of calls: %s', (_, limit, failing, uncalled, calls) => {
    expect(minCallsBefore({ maxErrors: limit }, failing, uncalled)).toBe(calls);
  });
});

describe('a run whose first attempts get no response', () => {
  const inVain = (kind: 'network' | 'timeout' | 'http' = 'network') => new Failure(kind, 'refused');

  test.each(['network', 'timeout'] as const)('ends at the tenth attempt that fails because of "%s"', (kind) => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch((reason) => phase.advance('finishing', reason));
    for (let attempt = 0; attempt < 9; attempt++) watch.failed(inVain(kind), 'https://a.example.com');
    expect(phase.current).toBe('open');
    watch.failed(inVain(kind), 'https://a.example.com');
    expect(phase.reason).toMatchObject({ ending: 'unreachable', message: 'none of the first 10 attempts was answered: refused' });
    expect(phase.allowsWait(1, true)).toBe(false);
  });

  test('continues if any server has responded once', () => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch((reason) => phase.advance('finishing', reason));
    watch.answered();
    for (let attempt = 0; attempt < 99; attempt++) watch.failed(inVain(), 'https://a.example.com');
    expect(phase.current).toBe('open');
  });

  test('reports the reason for its end only once, even if attempts in flight fail later', () => {
    const messages: string[] = [];
    const watch = new UnreachableWatch(({ message }) => messages.push(message));
    for (let attempt = 0; attempt < 32; attempt++) watch.failed(inVain(), 'https://a.example.com');
    expect(messages).toEqual(['none of the first 10 attempts was answered: refused']);
  });
  test('ends after an average of ten attempts per origin', () => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch((reason) => phase.advance('finishing', reason));
    for (let attempt = 0; attempt < 29; attempt++) watch.failed(inVain(), `https://${attempt % 3}.example.com`);
    expect(phase.current).toBe('open');
    watch.failed(inVain(), 'https://0.example.com');
    expect(phase.current).toBe('finishing');
  });
});

describe('a run whose first records all fail in the same way', () => {
  function failureAt(node: string, kind: FailureClass, status?: number): Failure {
    const failure = new Failure(kind, 'refused', { status });
    failure.node = node;
    return failure;
  }

  /** Returns the reason why the run ends after these outcomes; undefined if it continues. */
  function reasonAfter(...outcomes: readonly (Failure | undefined)[]): string | undefined {
    const phase = new RunPhase();
    const watch = new SameFailureWatch((reason) => phase.advance('finishing', reason));
    for (const outcome of outcomes) watch.finished(outcome);
    return phase.reason?.message;
  }

  const times = (count: number, failure: Failure) => Array.from({ length: count }, () => failure);

  test.each([
    ['http', 401],
    ['http', 403],
    ['http', 405],
    ['http', 415],
    ['parse', 200],
  ] as const)('ends at the twentieth failure of class "%s" with status %i', (kind, status) => {
    const failure = failureAt('ask', kind, status);
    expect(reasonAfter(...times(19, failure))).toBeUndefined();
    expect(reasonAfter(...times(20, failure))).toBe(`the first 20 records all failed at ask with ${kind} ${status}`);
  });

  test('ends if a token server refuses to issue a token, whatever its status is', () => {
    const refused = (retryable: boolean) =>
      new Failure('http', 'no access token', {
        status: 400,
        retryable,
        code: 'no-access-token',
        details: { server: 'a', error: 'invalid_client' },
      });
    expect(reasonAfter(...times(20, refused(false)))).toContain('the first 20 records all failed');
    expect(reasonAfter(...times(99, refused(true)))).toBeUndefined();
  });

  test.each([
    ['a status that the record itself can cause', times(99, failureAt('ask', 'http', 404))],
    ['a status that can be temporary', times(99, failureAt('ask', 'http', 500))],
    ['a 401 whose failure class is not http', times(99, failureAt('ask', 'mapping', 401))],
    ['different statuses', Array.from({ length: 99 }, (_, index) => failureAt('ask', 'http', index % 2 === 0 ? 401 : 403))],
    ['different nodes', Array.from({ length: 99 }, (_, index) => failureAt(index === 7 ? 'two' : 'one', 'http', 401))],
    ['a first record that succeeds', [undefined, ...times(99, failureAt('ask', 'http', 401))]],
    [
      'one success among the first 20 records',
      [...times(19, failureAt('ask', 'http', 401)), undefined, ...times(99, failureAt('ask', 'http', 401))],
    ],
  ])('continues if there is %s', (_, outcomes) => {
    expect(reasonAfter(...outcomes)).toBeUndefined();
  });
});
