import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FlowError } from '../../src/core/failure.ts';
import { compile } from '../../src/flow/compile.ts';
import { checkTest } from '../../src/flow-tests/check-test.ts';
import { isAsExpected } from '../../src/flow-tests/given-answers.ts';
import { readTestFile } from '../../src/flow-tests/test-file.ts';
import { testJsonSchema } from '../../src/flow-tests/test-json-schema.ts';
import type { FlowTest } from '../../src/flow-tests/test-schema.ts';
import { breaches, type Schema } from '../helpers/json-schema.ts';
import { nodeTypes } from '../helpers/node-types.ts';
import { runFlow } from '../helpers/run-flow.ts';

const schema = testJsonSchema() as unknown as Schema;

const examples = new URL('../../examples/', import.meta.url);
const files = readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.yaml'));

/** Returns the problems of a file of flow tests, each in the form `line:column: message`. */
function problemsOf(text: string): string[] {
  try {
    readTestFile(text, 'a.test.yaml');
    return [];
  } catch (error) {
    if (!(error instanceof FlowError)) throw error;
    return error.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
  }
}

const url = 'GET https://a.example/1';

/** Returns a file with one flow test, which has these options. */
const withTest = (options: string) => `flow: a.yaml\ntests:\n  - { name: a, ${options} }\n`;
const withAnswer = (options: string) => withTest(`record: {}, answers: [{ ${options} }]`);

const valid = [
  withTest('record: {}'),
  withTest('record: { a: 1, b: [x, null] }, rows: [{ a: /x/ }]'),
  withTest('record: {}, rows_exactly: []'),
  withTest('record: {}, fails: {}'),
  withTest('record: {}, fails: { node: n, class: http, status: 404, message: /no/ }, waits: [1s, 250]'),
  withTest('records: [{}, {}], rows: [{}], fails: [{ class: http }]'),
  withTest('records: [{}], fails: { class: http }'),
  withTest('record: {}, set: { a: 1, b: x, c: true }, env: staging, options: { allow_http: true, var: { region: eu } }'),
  withTest('record: { a: .5, b: 0x1F, c: 1., d: "01" }, rows: [{ a: .5, b: 0.50 }]'),
  withAnswer(`request: ${url}, headers: { a: 01 }, sent: { headers: { b: +1 } }`),
  withAnswer(`request: ${url}`),
  withAnswer(`request: ${url}, status: 204, headers: { retry-after: 1 }, body: { a: [1] }, sent: { headers: { a: b }, body: x }`),
  withAnswer(`request: ${url}, fault: timeout, sent: { body: 1 }`),
  withAnswer('request: mcp a/b, arguments: { a: 1 }, body: { a: 1 }'),
  withAnswer('request: mcp a/b, text: x'),
  withAnswer('request: mcp a/b, error: x'),
  withAnswer('request: mcp a/b, fault: reset'),
  withAnswer('request: llm a, text: x'),
  withAnswer('request: llm a, output: { a: 1 }'),
  withAnswer('request: llm a, status: 429, headers: { retry-after: 1 }, body: {}'),
  withAnswer('request: llm a, fault: refused'),
];

const invalid: [string, string][] = [
  ['flow: a.yaml\n', '1:1: the key "tests" is missing'],
  ['flow: a.yaml\ntests: []\n', '2:8: expected at least one test, found an empty list'],
  ['flow: a.yaml\ntests: { a: 1 }\n', '2:8: expected a list of tests, found a mapping'],
  ['- 1\n', '1:1: expected a mapping with the keys flow and tests, found a list'],
  [withTest('recrod: {}'), '3:16: unknown key "recrod"; did you mean "record"?'],
  [withTest('rows: []'), '3:5: expected record or records, found neither'],
  [withTest('record: {}, records: [{}]'), '3:28: expected record or records, found both'],
  [withTest('record: {}, rows: [], rows_exactly: []'), '3:38: expected rows or rows_exactly, found both'],
  [withTest('record: {}, rows: [], fails: {}'), '3:38: one record has rows or fails, not both'],
  [withTest('record: {}, fails: [{}]'), '3:28: expected the failure of one record, found a list; a list needs records'],
  [withTest('record: 1'), '3:24: expected a mapping, found 1'],
  [withTest('record: {}, waits: [soon]'), '3:36: expected a duration such as 250ms, 1s, 5m, 24h, 7d, or an integer of ms, found "soon"'],
  [withTest('record: {}, options: { allow_htpp: true }'), '3:39: unknown key "allow_htpp"; did you mean "allow_http"?'],
  [
    withAnswer('request: GETS https://a.example/1'),
    '3:49: expected a method and a URL such as GET https://api.example.com/users/17, mcp CONNECTION/TOOL, or llm NODE, found "GETS https://a.example/1"',
  ],
  [withAnswer(`request: ${url}, fault: timeout, status: 200`), '3:74: these cannot be combined: status, fault'],
  [withAnswer(`request: ${url}, text: x`), '3:74: the answer of an HTTP request has no text'],
  [withAnswer('request: mcp a/b, status: 200'), '3:58: the answer of a tool has no status'],
  [withAnswer('request: mcp a/b, text: x, error: y'), '3:67: these cannot be combined: text, error'],
  [withAnswer('request: llm a, arguments: {}'), '3:56: the answer of a language model has no arguments'],
  [withAnswer(`request: ${url}, status: 99`), '3:82: expected at least 200, found 99'],
  [withAnswer(`request: ${url}, fault: slow`), '3:81: expected timeout, refused, reset or unknown_host, found "slow"'],
];

const numbers: [string, string][] = [
  [withTest('record: { zip: 01234 }'), '3:31: YAML reads 01234 as the number 1234: write "01234"'],
  [withTest('records: [{ a: [+49] }]'), '3:32: YAML reads +49 as the number 49: write "+49"'],
  [withTest('record: {}, rows: [{ a: -007 }]'), '3:40: YAML reads -007 as the number -7: write "-007"'],
  [withTest('record: {}, rows_exactly: [{ a: { b: 00 } }]'), '3:53: YAML reads 00 as the number 0: write "00"'],
  [withTest('record: {}, set: { a: 0x1F }'), '3:38: YAML reads 0x1F as the number 31: write "0x1F"'],
  [withTest('record: {}, options: { var: { a: 01 } }'), '3:49: YAML reads 01 as the number 1: write "01"'],
  [withAnswer(`request: ${url}, body: { a: 01 }`), '3:85: YAML reads 01 as the number 1: write "01"'],
  [withAnswer(`request: ${url}, sent: { body: [+1] }`), '3:89: YAML reads +1 as the number 1: write "+1"'],
];

describe('a file of flow tests', () => {
  test.each(valid)('is valid: %s', (text) => {
    expect(problemsOf(text)).toEqual([]);
    expect(breaches(schema, parse(text))).toEqual([]);
  });

  test.each(numbers)('is refused because of a number that YAML reads with another text: %s', (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  test.each(invalid)('is refused with the position of the problem: %s', (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
    expect(breaches(schema, parse(text))).not.toEqual([]);
  });

  test.each(files)('conforms to the JSON Schema that editors use (example: %s)', (name) => {
    const text = readFileSync(new URL(name, examples), 'utf8');
    expect(breaches(schema, parse(text))).toEqual([]);
  });

  test('can contain values that look like secrets', () => {
    expect(problemsOf(withAnswer(`request: ${url}, sent: { headers: { authorization: Bearer sk-abcdefgh12345678 } }`))).toEqual([]);
  });

  test('is refused with the position of an invalid regular expression', () => {
    const [problem] = problemsOf(withTest('record: {}, rows: [{ a: "/(/" }]'));
    expect(problem).toMatch(/^3:40: between the slashes: expected a regular expression \(RE2\), found "\(": missing closing/);
  });

  test('is refused with the position of a regular expression that does not take linear time', () => {
    const [problem] = problemsOf(withTest('record: {}, rows: [{ a: "/a(?=b)/" }]'));
    expect(problem).toMatch(/^3:40: between the slashes: expected a regular expression \(RE2\), found "a\(\?=b\)".*\nRE2 has no lookahead/);
  });

  test('compares a regular expression in linear time', () => {
    for (const pattern of ['/^(a+)+$/', '/^(a|aa)+$/', '/^(.*a){20}$/']) expect(isAsExpected(pattern, `${'a'.repeat(100)}!`)).toBe(false);
    expect(isAsExpected('/^(a+)+$/', 'a'.repeat(100))).toBe(true);
  });

  test('is refused with a list of all its YAML errors', () => {
    expect(problemsOf('flow: [a\ntests: "x\n')).toHaveLength(2);
  });
});

test('a flow test has a clock of its own, also while a run is under way', async () => {
  const flow = 'nodes:\n  - type: set\n    fields: { at: { cel: string(now()) } }';
  const plan = compile(flow, { file: 'a.yaml', nodeTypes, allowHttp: false, textCells: false });
  const [given] = readTestFile(withTest("record: {}, rows: [{ at: '2026-01-01T00:00:00Z' }]"), 'a.test.yaml').tests;
  const [{ problems }, { rows }] = await Promise.all([checkTest(plan, given as FlowTest), runFlow(flow, [{}])]);
  expect(problems).toEqual([]);
  expect(rows).toEqual([{ at: '2030-01-01T00:00:00Z' }]);
});
