import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileExpression } from '../../src/core/condition/condition.ts';
import { loadDates } from '../../src/core/condition/dates.ts';
import { knownFunctions } from '../../src/core/condition/expression-error.ts';
import { giveHash } from '../../src/core/condition/hashes.ts';
import { loadPatternEngine } from '../../src/core/condition/pattern.ts';
import { parseJson } from '../../src/core/value/json.ts';
import { jsonOf, type Value } from '../../src/core/value/value.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { toFields } from '../helpers/run-flow.ts';

const page = readFileSync(new URL('../../docs/expressions.md', import.meta.url), 'utf8');

/** The rows of the page's tables: an expression, and its value as JSON. */
const examples = page.split('\n').flatMap((line) => {
  const cells = line.split(/(?<!\\)\|/).map((cell) => /^`(.*)`$/.exec(cell.trim())?.[1]?.replaceAll('\\|', '|'));
  return cells[1] !== undefined && cells[2] !== undefined ? [{ source: cells[1], gives: cells[2] }] : [];
});

const [, input = ''] = /```json order\.json\n(.*?)```/s.exec(page) ?? [];
const [record] = parseJson(input) as readonly Record<string, Value>[];

beforeAll(async () => {
  await loadPatternEngine();
  await loadDates();
  giveHash((algorithm, of) => createHash(algorithm).update(of).digest('hex'));
});

describe('the documentation of expressions', () => {
  test.each(examples)('gives the correct value for $source: $gives', ({ source, gives }) => {
    const clock = createFakeClock(Date.UTC(2026, 10, 25, 10, 30));
    expect(jsonOf(compileExpression(source).evaluate(toFields(record ?? {}), clock))).toBe(gives);
  });

  test('contains an example of every function', () => {
    const called = new Set(examples.flatMap(({ source }) => [...source.matchAll(/(\w+)\(/g)].map(([, name]) => name)));
    expect(knownFunctions().filter(({ name }) => !called.has(name))).toEqual([]);
  });

  test.each('== != < <= > >= && || ! ? in + - * / % [ {'.split(' '))('contains an example with the operator %s', (operator) => {
    expect(examples.some(({ source }) => source.includes(operator))).toBe(true);
  });
});
