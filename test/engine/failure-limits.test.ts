import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import { minCallsBefore, tooManyErrors, UnreachableWatch } from '../../src/engine/failure-limits.ts';
import { RunPhase } from '../../src/engine/phase.ts';

describe('--max-errors', () => {
  test.each([
    ['a count allows that many failures', { count: 3 }, { finished: 9, failed: 3 }, undefined],
    ['a count is exceeded by one more', { count: 3 }, { finished: 9, failed: 4 }, 'more than 3 records have failed (--max-errors 3)'],
    ['a count of one is told in the singular', { count: 1 }, { finished: 9, failed: 2 }, 'more than 1 record has failed (--max-errors 1)'],
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
    expect(tooManyErrors(limit, counts)).toBe(message);
  });

  test.each([
    ['a count of 3: four failures, less those without a call', { count: 3 }, 1, 50, 3],
    ['a share of 10 %: a hundred records, less those without a call', { share: 0.1 }, 5, 20, 75],
    ['a share of 10 %: eleven failures at least', { share: 0.1 }, 0, 100, 11],
  ] as const)('a run makes calls before %s ends it', (_, limit, failing, uncalled, calls) => {
    expect(minCallsBefore(limit, failing, uncalled)).toBe(calls);
  });
});

describe('a run that nobody answers', () => {
  const inVain = (kind: 'network' | 'timeout' | 'http' = 'network') => new Failure(kind, 'refused');

  test.each(['network', 'timeout'] as const)('ends with the tenth call that fails with %s', (kind) => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch(phase);
    for (let call = 0; call < 9; call++) watch.failed(inVain(kind), 'https://a.example.com');
    expect(phase.current).toBe('open');
    watch.failed(inVain(kind), 'https://a.example.com');
    expect(phase.reason).toMatchObject({ ending: 'unreachable', message: 'none of the first 10 calls was answered: refused' });
    expect(phase.allowsWait(1, true)).toBe(false);
  });

  test('goes on once there was an answer', () => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch(phase);
    watch.answered();
    for (let call = 0; call < 99; call++) watch.failed(inVain(), 'https://a.example.com');
    expect(phase.current).toBe('open');
  });

  test('makes ten calls to each origin on average', () => {
    const phase = new RunPhase();
    const watch = new UnreachableWatch(phase);
    for (let call = 0; call < 29; call++) watch.failed(inVain(), `https://${call % 3}.example.com`);
    expect(phase.current).toBe('open');
    watch.failed(inVain(), 'https://0.example.com');
    expect(phase.current).toBe('finishing');
  });
});
