import { beforeAll, describe, expect, test } from 'vitest';
import { compileCondition } from '../../../src/core/condition/condition.ts';
import { ExpressionError } from '../../../src/core/condition/expression-error.ts';
import { loadPatternEngine } from '../../../src/core/condition/pattern.ts';
import type { Value } from '../../../src/core/value/value.ts';
import { abortIfLong, createTimeLimit } from '../../../src/files/time-limit.ts';
import { createFakeClock } from '../../helpers/fake-clock.ts';
import { toFields } from '../../helpers/run-flow.ts';

beforeAll(loadPatternEngine);

const evaluate = (source: string, record: Record<string, Value>, limit = abortIfLong) =>
  compileCondition(source).evaluate(toFields(record), { ...createFakeClock(), abortIfLong: limit });

describe('the matches() function in an expression', () => {
  test.each([
    ['"^[a-z]+@example[.]com$"', 'bob@example.com', true],
    ['"^[a-z]+@example[.]com$"', 'Bob@example.com', false],
    ['"(?i)^BOB"', 'bob', true],
    ['"b.b"', 'a bob b', true],
    ['"a.b"', 'a\nb', false],
    ['"(?s)a.b"', 'a\nb', true],
    ['r"^\\d{5}$"', '12345', true],
    ['r"^\\p{L}+$"', 'Zoë日本', true],
    ['"^.$"', '😀', true],
    ['"a$"', 'a\n', false],
    ['pattern', 'x', true],
  ])('returns, for the pattern %s and the text %j, the value %s', (pattern, text, expected) => {
    expect(evaluate(`text.matches(${pattern})`, { text, pattern: '^x$' })).toBe(expected);
  });

  test.each(['^(a+)+$', '^([a-zA-Z0-9._-]+)+@example[.]com$', '(a|aa)*c', '(a*)*b'])(
    'takes time proportional to the length of the text for the pattern %s',
    (pattern) => {
      expect(evaluate('text.matches(pattern)', { text: `${'a'.repeat(100_000)}!`, pattern })).toBe(false);
    },
  );

  test.each([
    ['a == "(" && text . matches("(?=a)")', 27, 'found "(?=a)": invalid or unsupported Perl syntax: "(?="'],
    ['text.matches(r"(a)\\1")', 13, 'found "(a)\\\\1": invalid escape sequence: "\\1"'],
    ['(a + text).matches("[a")', 19, 'found "[a": missing closing ]: "[a"'],
    ['items.all(x, x.matches("a**"))', 23, 'found "a**": invalid nested repetition operator: "**"'],
  ])("is refused if RE2 does not support its literal pattern, with the pattern's position: %s", (source, offset, found) => {
    expect(() => compileCondition(source)).toThrow(ExpressionError);
    expect(() => compileCondition(source)).toThrow(
      expect.objectContaining({
        offset,
        message: `expected a regular expression (RE2), ${found}\nRE2 has no lookahead, lookbehind or backreferences: https://github.com/google/re2/wiki/Syntax`,
      }),
    );
  });

  test.each([
    `(${'(.|a)?'.repeat(60)}){1000}$`,
    `(${'a?'.repeat(220)}){1000}b`,
    '((a{10}){10}){101}',
    '(?:[a-z]\\p{L}){1000}(x{1000}){9}',
    '\\x{41}{1000}(b{1000}c?){10}',
  ])('is refused if the repetitions of its pattern make it too large, however short the text is: %s', (pattern) => {
    const message = expect.stringMatching(/^expected a pattern of at most 10000 steps, found "/);
    expect(() => evaluate('text.matches(pattern)', { text: 'a', pattern })).toThrow(expect.objectContaining({ kind: 'template', message }));
    expect(() => evaluate('regex.extract(text, pattern)', { text: 'a', pattern })).toThrow(expect.objectContaining({ message }));
    expect(() => compileCondition(`text.matches(r"${pattern.replaceAll('\\\\', '\\')}")`)).toThrow(ExpressionError);
  });

  test.each([
    '^[a-z]{1,1000}$',
    '(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?[.]){1,10}',
    '^[]{5000}]*a',
    '(?i)\\Q{1000}{1000}\\E|a',
    'a{,5000}|a',
  ])('accepts the pattern %s', (pattern) => {
    expect(() => evaluate('text.matches(pattern)', { text: 'a.', pattern })).not.toThrow();
  });

  test('fails the record if RE2 does not support a pattern that comes from a field', () => {
    expect(() => evaluate('text.matches(pattern)', { text: 'a', pattern: '(?<!a)b' })).toThrow(
      expect.objectContaining({
        kind: 'template',
        message: expect.stringMatching(/^expected a regular expression \(RE2\), found "\(\?<!a\)b": .*[^\n]$/),
      }),
    );
  });

  test('fails the record if it is called on a value that is not a string', () => {
    expect(() => evaluate('text.matches("a")', { text: 5 })).toThrow('expected string.matches(string), found int.matches(string)');
  });

  test('can be used on a macro\'s variable, and "matches" can also be a field\'s name', () => {
    expect(evaluate('matches.exists(m, m.matches("^b")) && a.matches.matches("c")', { matches: ['a', 'b'], a: { matches: 'c' } })).toBe(
      true,
    );
  });

  test('works with thousands of different patterns from fields', () => {
    const condition = compileCondition('text.matches(pattern)');
    const clock = createFakeClock();
    const ids = Array.from({ length: 2500 }, (_, id) => id);
    expect(ids.every((id) => condition.evaluate(toFields({ text: `<${id}>`, pattern: `^<${id}>$` }), clock))).toBe(true);
  });
});

describe('an expression that takes too long to evaluate', () => {
  const items = Array.from({ length: 300 }, (_, item) => item);
  const nested = 'items.all(a, items.all(b, items.all(c, items.all(d, a + b + c + d >= 0))))';

  test('fails its record after the maximum time, and works normally for the next record', () => {
    const limit = createTimeLimit(150, 'the expression takes more than 150 ms for this record');
    const clock = { ...createFakeClock(), abortIfLong: limit };
    const condition = compileCondition(nested);
    const takeLong = () => condition.evaluate(toFields({ items }), clock);
    expect(takeLong).toThrow(
      expect.objectContaining({ kind: 'template', message: 'the expression takes more than 150 ms for this record' }),
    );
    expect(condition.evaluate(toFields({ items: [0, 1] }), clock)).toBe(true);
    expect(condition.evaluate(toFields({ items: [...items.slice(0, 3), -100] }), clock)).toBe(false);
    expect(takeLong).toThrow('150 ms');
  });

  test('can be interrupted inside matches(), and matches() still works afterwards', () => {
    const clock = { ...createFakeClock(), abortIfLong: createTimeLimit(20, 'too long') };
    const condition = compileCondition(`text.matches(r"(x?){1000}\\bx{1000}")`);
    const text = 'x'.repeat(1_000_000);
    expect(() => condition.evaluate(toFields({ text }), clock)).toThrow('too long');
    expect(condition.evaluate(toFields({ text: 'x' }), clock)).toBe(false);
  });

  test('is timed only if it has nested loops over many values or matches a long string', () => {
    const limited: unknown[] = [];
    const limit: typeof abortIfLong = (work) => {
      limited.push(true);
      return work();
    };
    const timesLimited = (source: string, record: Record<string, Value>) => {
      evaluate(source, record, limit);
      return limited.splice(0).length;
    };
    expect(timesLimited('text == "a"', { text: 'x'.repeat(2_000_000) })).toBe(0);
    expect(timesLimited('items.all(a, a >= 0)', { items })).toBe(0);
    expect(timesLimited('text.matches("^a")', { text: 'a'.repeat(1000) })).toBe(0);
    expect(timesLimited('text.matches("^a")', { text: 'a'.repeat(2_000_000) })).toBe(1);
    expect(timesLimited('items.all(a, items.all(b, items.exists(c, true)))', { items })).toBe(1);
    expect(timesLimited('o.a.all(a, o.a.all(b, true))', { o: { a: ['x'.repeat(2000)] } })).toBe(1);
  });
});
