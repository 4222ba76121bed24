import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Value } from '../../src/core/value/value.ts';
import { isAsExpected } from '../../src/flow-tests/given-answers.ts';
import { withTest } from '../../src/flow-tests/recorder.ts';
import { readTestFile } from '../../src/flow-tests/test-file.ts';
import type { FlowTest } from '../../src/flow-tests/test-schema.ts';

test('a test that is written into a file is read with the same values, and expects exactly these', () => {
  const text = fc.oneof(
    fc.constantFrom('/a/', '/[/', ' x', '- a', 'null', '1e5', '~', '<<', '# x', 'a: b', '\r\n', '\n\n x\n', '---'),
    fc.string({ unit: 'binary' }),
  );
  const name = text.filter((one) => one !== '');
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(name, tie('value')),
    ),
  })).value as fc.Arbitrary<Value>;
  const row = fc.dictionary(name, value);
  fc.assert(
    fc.property(row, row, value, (record, found, body) => {
      const answers = [{ request: 'GET https://a.example/1', body }];
      const once = withTest(undefined, 'a.yaml', { name: 'one', record, answers, rows: [found] });
      const more = (file: string) => withTest(file, 'a.yaml', { name: 'two', record, answers, rows: [found] });
      for (const written of [once, more(once), more('flow: a.yaml\r\ntests:\r\n  - { name: one, record: {} }\r\n')]) {
        const { rows, ...test } = readTestFile(written, 'a.test.yaml').tests.at(-1) as FlowTest;
        expect([test.record, test.answers[0]?.body]).toEqual([record, body]);
        expect(isAsExpected(rows, [found])).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});
