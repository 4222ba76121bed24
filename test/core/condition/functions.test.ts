import { beforeAll, describe, expect, test } from 'vitest';
import { compileExpression } from '../../../src/core/condition/condition.ts';
import type { EvaluationClock } from '../../../src/core/condition/evaluation.ts';
import { loadPatternEngine } from '../../../src/core/condition/pattern.ts';
import type { Value } from '../../../src/core/value/value.ts';
import { createFakeClock } from '../../helpers/fake-clock.ts';
import { toFields } from '../../helpers/run-flow.ts';

beforeAll(loadPatternEngine);

const evaluate = (source: string, record: Record<string, Value> = {}, clock: EvaluationClock = createFakeClock()) =>
  compileExpression(source).evaluate(toFields(record), clock);

describe('the round function in an expression', () => {
  test.each([
    ['round(2.5)', 3],
    ['round(-2.5)', -3],
    ['round(2.4) + 1', 3],
    ['round(7)', 7],
    ['round(1.005, 2)', 1.01],
    ['round(-1.005, 2)', -1.01],
    ['round(1e-9, 10)', 1e-9],
    ['round(1e300, 2)', 1e300],
    ['round(1250, -2)', 1300],
    ['round(1250, 2)', 1250],
    ['math.round(-0.4) == 0.0', true],
  ])('returns the rounded number: %s is %j', (source, value) => {
    expect(evaluate(source)).toBe(value);
  });

  test.each([
    ['round(0.0 / 0.0)', 'expected a number to round, found NaN'],
    ['round(1.5, 16)', 'expected -15 to 15 digits to round to, found 16'],
    ['round(cell)', 'found round(string) (a CSV cell is text: convert it, as in double(price))'],
  ])('fails the record if its arguments are invalid: %s', (source, message) => {
    expect(() => evaluate(source, { cell: '2.5' })).toThrow(
      expect.objectContaining({ kind: 'template', message: expect.stringContaining(message) }),
    );
  });
});

describe('the replace function in an expression', () => {
  test.each([
    ['"a.b.c".replace(".", "")', 'abc'],
    ['"a.b.c".replace(".", "$&", 1)', 'a$&b.c'],
    ['"a.b.c".replace(".", "$&")', 'a$&b$&c'],
    ['"abc".replace("b", "x", 0)', 'abc'],
    ['"aaa".replace("a", "b", -1)', 'bbb'],
    ['"ab".replace("", "-")', '-a-b-'],
  ])('replaces text literally: %s is %s', (source, value) => {
    expect(evaluate(source)).toBe(value);
  });
});

describe('the base64 functions in an expression', () => {
  test('encode text and bytes, and decode both alphabets', () => {
    expect(evaluate('base64.encode("Zoë?>")')).toBe('Wm/Dqz8+');
    expect(evaluate('base64.encode(b"\\xff\\x00")')).toBe('/wA=');
    expect(evaluate('base64.decode("Wm_Dqz8-")')).toBe('Zoë?>');
    expect(evaluate('base64.decode("")')).toBe('');
  });

  test('fail the record if the text is not valid base64', () => {
    expect(() => evaluate('base64.decode(cell)', { cell: 'a b' })).toThrow('expected base64, found "a b"');
  });

  test('do not prevent a field from being called base64', () => {
    expect(evaluate('base64.size() + size(math) + regex.n', { base64: 'ab', math: [1], regex: { n: 4 } })).toBe(7);
    expect(evaluate('xs.map(regex, regex + 1)', { xs: [1] })).toEqual([2]);
  });
});

describe('the regex.extract function in an expression', () => {
  test('returns the group, the whole match if the pattern has no group, and null if nothing matches', () => {
    expect(evaluate('regex.extract(a, "no ([0-9]+)")', { a: 'no 12, no 13' })).toBe('12');
    expect(evaluate('regex.extract(a, "no [0-9]+")', { a: 'no 12, no 13' })).toBe('no 12');
    expect(evaluate('regex.extract(a, "x(y)?")', { a: 'x' })).toBeNull();
    expect(evaluate('regex.extract(a, "z")', { a: 'x' })).toBeNull();
  });

  test('takes time proportional to the length of the text', () => {
    expect(evaluate('regex.extract(text, pattern)', { text: `${'a'.repeat(100_000)}!`, pattern: '^(?:a+)+$' })).toBeNull();
  });

  test.each([
    ['regex.extract(a, "(?=a)")', 'expected a regular expression (RE2)'],
    ['regex.extract(a, "(a)(b)")', 'expected a pattern with at most one capturing group, found "(a)(b)"; write the others as (?:...)'],
  ])("is refused if its pattern is unsuitable, with the pattern's position: %s", (source, message) => {
    expect(() => compileExpression(source)).toThrow(expect.objectContaining({ offset: 17, message: expect.stringContaining(message) }));
  });

  test('fails the record if the pattern comes from a field and has two groups', () => {
    expect(() => evaluate('regex.extract(a, p)', { a: 'x', p: '(a)(b)' })).toThrow(expect.objectContaining({ kind: 'template' }));
  });
});

describe('the now function in an expression', () => {
  test('returns the same time throughout one evaluation, and a later time in the next evaluation', () => {
    let ms = Date.UTC(2026, 10, 25);
    const clock = { ...createFakeClock(), wallNow: () => ms++ };
    expect(evaluate('now() == now() && [1, 2].all(x, now() == now())', {}, clock)).toBe(true);
    expect(evaluate('now()', {}, clock)).toBe('2026-11-25T00:00:00.001Z');
    expect(evaluate('string(now())', {}, clock)).toBe('2026-11-25T00:00:00.002Z');
    ms = Date.UTC(2026, 10, 25);
    expect(evaluate('string(now())', {}, clock)).toBe('2026-11-25T00:00:00Z');
  });
});

test('an expression can be evaluated during the evaluation of another one', () => {
  const other = compileExpression('string(now())');
  const clock: EvaluationClock = {
    wallNow: () => 0,
    abortIfLong(work) {
      expect(other.evaluate(new Map(), { ...clock, wallNow: () => 5000 })).toBe('1970-01-01T00:00:05Z');
      return work();
    },
  };
  const source = 'a.matches("^x") ? string(now()) : ""';
  expect(compileExpression(source).evaluate(toFields({ a: 'x'.repeat(2_000_000) }), clock)).toBe('1970-01-01T00:00:00Z');
});

describe('the error message for a function called with wrong arguments', () => {
  test.each([
    ['a.shout()', 'CEL has no "shout"; the nearest names are split, size, join\ndocs/expressions.md lists all functions'],
    ['"a".padStart(3)', 'CEL has no "padStart" for text; the nearest names are endsWith, split, contains\n'],
    ['[1].sum()', 'CEL has no "sum" for a list; the nearest names are all, map, size\n'],
    ['concat(a, "x")', 'CEL has no function "concat"; the nearest names are int, uint, bool\n'],
    ['a.toFixed(2)', 'CEL has no "toFixed"; did you mean "round"?'],
    ['a.uperAscii()', 'CEL has no "uperAscii"; did you mean "upperAscii"?'],
    ['a.toUpperCase()', 'CEL has no "toUpperCase"; did you mean "upperAscii"?'],
    ['lenght(a)', 'CEL has no function "lenght"; did you mean "size"?'],
    ['a.replace(1)', 'expected string.replace(string, string) or string.replace(string, string, int), found any.replace(int)'],
    ['contains(a, "b")', 'expected string.contains(string), found contains(any, string)'],
    ['now("UTC")', 'expected now(), found now(string)'],
    ['"a".matches(1)', 'expected string.matches(string), found string.matches(int)'],
    ['a.constructor()', 'CEL has no "constructor"; the nearest names are '],
    ['a ? 1 : null', "ternary branches must have the same type, got 'int' and 'null'\nwrite dyn(null) instead of null"],
    ['a ? 1 : "x"', "got 'int' and 'string'\nwrite dyn(...) around one of the two values after the question mark, as in dyn(\"none\")"],
  ])('for %s is: %s', (source, message) => {
    expect(() => compileExpression(source)).toThrow(expect.objectContaining({ offset: 0, message: expect.stringContaining(message) }));
  });
});

describe('the timestamp function in an expression', () => {
  const day = '2026-11-28T00:00:00.000Z';
  test.each([
    ['2026-11-28', day],
    ['20261128', day],
    ['2026-W48-6', day],
    ['2026W486', day],
    ['2026-332', day],
    ['2026332', day],
    ['2026-11-28T08:53Z', '2026-11-28T08:53:00.000Z'],
    ['2026-11-28T08', '2026-11-28T08:00:00.000Z'],
    ['2026-11-28 08:53', '2026-11-28T08:53:00.000Z'],
    ['2026-11-28 08:53:12', '2026-11-28T08:53:12.000Z'],
    ['2026-11-28t08:53:12z', '2026-11-28T08:53:12.000Z'],
    ['2026-11-28T08:53:28.063489+00:00', '2026-11-28T08:53:28.063Z'],
    ['2026-11-28T08:53:28.123456789-05:00', '2026-11-28T13:53:28.123Z'],
    ['2026-11-28T08:53:28,5Z', '2026-11-28T08:53:28.500Z'],
    ['2026-11-28 08:53:28+01', '2026-11-28T07:53:28.000Z'],
    ['2026-11-28 08:53:28 +0530', '2026-11-28T03:23:28.000Z'],
    ['20261128T085328Z', '2026-11-28T08:53:28.000Z'],
    ['20261128T0853', '2026-11-28T08:53:00.000Z'],
    ['2026-11-28T08.5', '2026-11-28T08:30:00.000Z'],
    ['2026-11-28T08:53.25Z', '2026-11-28T08:53:15.000Z'],
    ['2026-11-28T24:00:00Z', '2026-11-29T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2020-W53-7', '2021-01-03T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['1950-06-01T00:00:00.9+00:00', '1950-06-01T00:00:00.900Z'],
  ])('reads every form of RFC 3339 and ISO 8601 that names a day: %s', (t, time) => {
    expect(evaluate('timestamp(t)', { t })).toBe(time);
  });

  test('reads texts in the expression, numbers and times', () => {
    expect(evaluate('timestamp("2026-11-28") < timestamp("2026-11-28T00:00:01")')).toBe(true);
    expect(evaluate('timestamp(t)', { t: 1_795_824_000 })).toBe(day);
    expect(evaluate('timestamp(int(t))', { t: '1795824000' })).toBe(day);
    expect(evaluate('timestamp(timestamp(t)) - timestamp("2026-11-27") == duration("24h")', { t: '2026-11-28' })).toBe(true);
  });

  test.each(['', 'yesterday', '28.11.2026', '11/28/2026', '2026', '2026-11', '2026-13-01', '2026-02-29', '2026-11-28T25:00Z'])(
    'refuses other text, with the text in the message: %j',
    (t) => {
      expect(() => evaluate('timestamp(t)', { t })).toThrow(
        `expected a time such as 2026-11-28, 2026-11-28T08:53Z or 2026-11-28 09:53:00+01:00, found ${JSON.stringify(t)}`,
      );
    },
  );

  test.each(['2025-W53-1', '2026-W48-8', '2026-366', '2026-000', '2026-11-28T08:60', '2026-11-28T08:53+24:00', '2026-11-28T24:00:01Z'])(
    'refuses a day or time that does not exist: %s',
    (t) => {
      expect(() => evaluate('timestamp(t)', { t })).toThrow(`found "${t}"`);
    },
  );

  test('shows how to read seconds since 1970 from a cell', () => {
    expect(() => evaluate('timestamp(t)', { t: '1795824000' })).toThrow('write timestamp(int(...))');
  });
});
