import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Value } from '../../src/core/value/value.ts';
import { isAsExpected } from '../../src/flow-tests/given-answers.ts';
import { withTest } from '../../src/flow-tests/recorder.ts';
import { readTestFile } from '../../src/flow-tests/test-file.ts';
import type { FlowTest, TestAnswer } from '../../src/flow-tests/test-schema.ts';

const added = { name: 'added', record: { id: '17', text: 'one\n  two\n' }, answers: [], rows: [{ a: 1 }] };

const names = (text: string) => readTestFile(text, 'a.test.yaml').tests.map(({ name }) => name);

describe('a flow test that is added to a file', () => {
  test.each([
    ['at its end', 'flow: a.yaml\ntests:\n  - { name: first, record: {a: 1}, rows: [ {b: 2} ] } # one\n  # last\n'],
    ['without a line break at its end', '# top\nflow: a.yaml\ntests:\n- name: first\n  record: { }'],
    ['before other keys', 'tests: # all\n    - name: first\n\n      record: {} # empty\n\n# the flow\nflow: a.yaml\n'],
  ])('leaves the rest of the file unchanged: %s', (_, text) => {
    const after = withTest(text, 'a.yaml', added);
    expect(names(after)).toEqual(['first', 'added']);
    expect((parse(after) as { tests: { record: object }[] }).tests[1]?.record).toEqual(added.record);
    const lines = after.split('\n');
    for (const line of text.split('\n')) expect(lines).toContain(line);
  });

  test('turns a list in brackets into lines, and keeps the comments', () => {
    const after = withTest('# top\nflow: a.yaml # the flow\ntests: [{ name: first, record: {} }]\n', 'a.yaml', added);
    expect(names(after)).toEqual(['first', 'added']);
    expect(after).toMatch(/^# top\nflow: a\.yaml # the flow\n/);
  });

  test('uses the line breaks of the file', () => {
    const text = 'flow: a.yaml\r\ntests:\r\n  - name: first\r\n    record: {}\r\n';
    const after = withTest(text, 'a.yaml', added);
    expect(after.startsWith(text)).toBe(true);
    expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
    expect(names(after)).toEqual(['first', 'added']);
    expect(readTestFile(after, 'a.test.yaml').tests[1]?.record).toEqual(added.record);
  });

  test.each(['/a+b/', '/[/', '/*/', '/a\nb/', '///', '/\\/', '/(?<x>/', '/😀{2}/', '/a-b/'])(
    'expects the string %j itself, although it looks like a pattern',
    (text) => {
      const answers = [{ request: 'mcp a/b', arguments: { q: text }, body: { text } }] as const;
      const ofRows = withTest(undefined, 'a.yaml', { ...added, record: { text }, answers, rows: [{ a: [{ b: text }] }] });
      const both = withTest(ofRows, 'a.yaml', { name: 'fails', record: {}, answers: [], fails: { message: text } });
      const [first, second] = readTestFile(both, 'a.test.yaml').tests as [FlowTest, FlowTest];
      const [answer] = first.answers as [TestAnswer];
      for (const { value, expected } of [
        { value: [{ a: [{ b: text }] }], expected: first.rows },
        { value: { q: text }, expected: answer.arguments },
        { value: { message: text }, expected: second.fails },
      ]) {
        expect(isAsExpected(expected, value as Value)).toBe(true);
        for (const other of [text.slice(1, -1), `${text}\n`, '/aab/', ''])
          expect(isAsExpected(expected, replaced(value, other))).toBe(false);
      }
      expect([first.record, answer.body]).toEqual([{ text }, { text }]);

      function replaced(value: unknown, other: string): Value {
        return JSON.parse(JSON.stringify(value).replace(JSON.stringify(text), JSON.stringify(other)));
      }
    },
  );

  test.each(['<<', '__proto__', '17', '~', '- a'])('can contain a field with the name %j', (name) => {
    const record = JSON.parse(`{ ${JSON.stringify(name)}: [] }`);
    const after = withTest(undefined, 'a.yaml', { ...added, record, rows: [record] });
    const [test] = readTestFile(after, 'a.test.yaml').tests;
    expect(Object.entries(test?.record ?? {})).toEqual([[name, []]]);
    expect(isAsExpected(test?.rows, [record])).toBe(true);
  });
  test("is preceded by the flow's path if the file is new", () => {
    expect(withTest(undefined, 'a.yaml', { ...added, record: {} })).toBe(
      'flow: a.yaml\ntests:\n  - name: added\n    record: {}\n    rows:\n      - a: 1\n',
    );
  });
});
