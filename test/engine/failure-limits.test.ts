import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { Failure, type FailureClass } from '../../src/core/failure.ts';
import { minCallsBefore, SameFailureWatch, tooManyErrors, UnreachableWatch } from '../../src/engine/failure-limits.ts';
import { RunPhase } from '../../src/engine/phase.ts';

describe('the maximum of failures', () => {
  test.each([
    ['a count allows that many failures', { count: 3 }, { finished: 9, failed: 3 }, undefined],
    ['a count is exceeded by one more', { count: 3 }, { finished: 9, failed: 4 }, 'more than 3 records have failed (--max-errors 3)'],
    ['a count of one is in the singular', { count: 1 }, { finished: 9, failed: 2 }, 'more than 1 record has failed (--max-errors 1)'],
    ['a share says nothing before the hundredth record', { share: 0.1 }, { finished: 99, failed: 99 }, undefined],
    ['a share allows exactly that many', { share: 0.1 }, { finished: 100, failed: 10 }, undefined],
    [
      'a share is exceeded by one more',
      { share: 0.1 },
      { finished: 100, failed: 11 },
      'more than 10 % of the records have failed (--max-errors 10%)',
    ],
    ['no limit allows all', undefined, { finished: 9, failed: 9 }, undefined],
  ] as const)('%s', (_, limit, counts, message) => {
    const reached = tooManyErrors(limit, counts);
    expect(reached && messageWithAdvice(reached)).toBe(message);
  });

  test.each([
    ['a count of 3: four failures, less those without a call', { count: 3 }, 1, 50, 3],
    ['a share of 10 %: a hundred records, less those without a call', { share: 0.1 }, 5, 20, 75],
    ['a share of 10 %: eleven failures at least', { share: 0.1 }, 0, 100, 11],
  ] as const)('a run makes calls before %s ends it', (_, limit, failing, uncalled, calls) => {
    expect(minCallsBefore(limit, failing, uncalled)).toBe(calls);
  });
});

describe('a run without any answer', () => {
  const inVain = (kind: 'network' | 'timeout' | 'http' = 'network') => new Failure(kind, 'refused');

  test.each(['network', 'timeout'] as const)('ends with the tenth attempt that fails with %s', (kind) => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch((reason) => phase.advance('finishing', reason));
    for (let attempt = 0; attempt < 9; attempt++) watch.failed(inVain(kind), 'https://a.example.com');
    expect(phase.current).toBe('open');
    watch.failed(inVain(kind), 'https://a.example.com');
    expect(phase.reason).toMatchObject({ ending: 'unreachable', message: 'none of the first 10 attempts was answered: refused' });
    expect(phase.allowsWait(1, true)).toBe(false);
  });

  test('continues once there was an answer', () => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch((reason) => phase.advance('finishing', reason));
    watch.answered();
    for (let attempt = 0; attempt < 99; attempt++) watch.failed(inVain(), 'https://a.example.com');
    expect(phase.current).toBe('open');
  });

  test('makes ten attempts at each origin on average', () => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch((reason) => phase.advance('finishing', reason));
    for (let attempt = 0; attempt < 29; attempt++) watch.failed(inVain(), `https://${attempt % 3}.example.com`);
    expect(phase.current).toBe('open');
    watch.failed(inVain(), 'https://0.example.com');
    expect(phase.current).toBe('finishing');
  });
});

describe('a run whose first records all fail alike', () => {
  function failureAt(node: string, kind: FailureClass, status?: number): Failure {
    const failure = new Failure(kind, 'refused', { status });
    failure.node = node;
    return failure;
  }

  /** The reason for the end after these records; absent if the run continues. */
  function reasonAfter(...outcomes: readonly (Failure | undefined)[]): string | undefined {
    const phase = new RunPhase();
    const watch = new SameFailureWatch(phase);
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
  ] as const)('ends with the twentieth %s %i', (kind, status) => {
    const failure = failureAt('ask', kind, status);
    expect(reasonAfter(...times(19, failure))).toBeUndefined();
    expect(reasonAfter(...times(20, failure))).toBe(`the first 20 records all failed at ask with ${kind} ${status}`);
  });

  test.each([
    ['a status that a record may cause', times(99, failureAt('ask', 'http', 404))],
    ['a status that may pass', times(99, failureAt('ask', 'http', 500))],
    ['another class with such a status', times(99, failureAt('ask', 'mapping', 401))],
    ['different statuses', Array.from({ length: 99 }, (_, index) => failureAt('ask', 'http', index % 2 === 0 ? 401 : 403))],
    ['different nodes', Array.from({ length: 99 }, (_, index) => failureAt(index === 7 ? 'two' : 'one', 'http', 401))],
    ['a first record that succeeded', [undefined, ...times(99, failureAt('ask', 'http', 401))]],
    [
      'one of the first 20 that succeeded',
      [...times(19, failureAt('ask', 'http', 401)), undefined, ...times(99, failureAt('ask', 'http', 401))],
    ],
  ])('goes on: %s', (_, outcomes) => {
    expect(reasonAfter(...outcomes)).toBeUndefined();
  });
});
