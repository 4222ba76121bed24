import { describe, expect, test } from 'vitest';
import { compileCondition, compileExpression } from '../../../src/core/condition/condition.ts';
import { ExpressionError } from '../../../src/core/condition/expression-error.ts';
import { parseJson } from '../../../src/core/value/json.ts';
import { jsonOf, type Value } from '../../../src/core/value/value.ts';
import { createFakeClock } from '../../helpers/fake-clock.ts';
import { toFields } from '../../helpers/run-flow.ts';

const clock = createFakeClock();

const result = (source: string, record = '{}') =>
  jsonOf(compileExpression(source).evaluate(toFields(parseJson(record) as Record<string, Value>), clock));

const problem = (compile: () => unknown): unknown => {
  try {
    compile();
  } catch (error) {
    if (error instanceof ExpressionError) return { message: error.message, offset: error.offset };
  }
  return undefined;
};

describe('a condition on the fields of a record', () => {
  test.each([
    ['status == "done" && progress >= 100', '{"status":"done","progress":100}', true],
    ['status == "done" && progress >= 100', '{"status":"done","progress":99.5}', false],
    ['status == "done" && progress >= 100', '{"status":"open"}', false],
    ['age > 2', '{"age":2.5}', true],
    ['age > 2.5', '{"age":3}', true],
    ['age == 3.0', '{"age":3}', true],
    ['age == 3', '{"age":3.0}', true],
    ['int(age) >= 18', '{"age":"20"}', true],
    ['name in ["a", "b"]', '{"name":"a"}', true],
    ['data.user.age > 5', '{"data":{"user":{"age":6}}}', true],
    ['data["odd key"] == 1', '{"data":{"odd key":1}}', true],
    ['tags[0] == "x"', '{"tags":["x"]}', true],
    ['size(tags) == 1', '{"tags":["x"]}', true],
    ['name.startsWith("A") && name.contains("n")', '{"name":"Ann"}', true],
    ['created > timestamp("2020-01-01T00:00:00Z")', '{"created":1}', 'no such overload'],
    ['big == 9223372036854775807', '{"big":9223372036854775807}', true],
    ['big > 1', '{"big":12345678901234567890}', true],
    ['done', '{"done":true}', true],
  ])('is evaluated correctly: %s for the record %s', (source, record, expected) => {
    const evaluate = () => compileCondition(source).evaluate(toFields(parseJson(record) as Record<string, Value>), clock);
    if (typeof expected === 'string') expect(evaluate).toThrow(expected);
    else expect(evaluate()).toBe(expected);
  });

  test.each([
    ['!has(next_cursor)', '{}', true],
    ['!has(next_cursor)', '{"next_cursor":null}', true],
    ['!has(next_cursor)', '{"next_cursor":""}', false],
    ['next_cursor != null', '{"next_cursor":null}', false],
    ['next_cursor != null', '{"next_cursor":"x"}', true],
    ['has(age) && age > 3', '{}', false],
    ['has(data.user)', '{"data":{}}', false],
    ['has(data.user)', '{"data":{"user":null}}', false],
    ['has(data.user)', '{"data":{"user":0}}', true],
    ['has(data.user)', '{"data":{"user":{}}}', true],
    ['has(data.user)', '{"data":null}', false],
    ['has(data.user)', '{"data":"text"}', false],
    ['has(data.user)', '{}', false],
    ['has( data.user.name )', '{"data":{"user":null}}', false],
    ['has(data.user.name)', '{"data":{"user":{"name":null}}}', false],
    ['has(data.user.name)', '{"data":{}}', false],
    ['has(data.user.name)', '{"data":{"user":{"name":""}}}', true],
    ['"user" in data', '{"data":{"user":null}}', true],
    ['data.user == null', '{"data":{"user":null}}', true],
    ['has(list[0].id)', '{"list":[{"id":1}]}', true],
    ['has(list[0].id)', '{"list":[{"id":null}]}', false],
    ['has(list[1].id)', '{"list":[{"id":1}]}', false],
    ['has(list[0].id)', '{"list":null}', false],
    ['has(list[0].id)', '{"list":{"0":{"id":1}}}', false],
    ['has(list[0][1])', '{"list":[[1,2]]}', true],
    ['has(a["b-c"].d)', '{"a":{"b-c":{"d":1}}}', true],
    ['has(a["b-c"].d)', '{"a":{"b-c":null}}', false],
    ['list.exists(one, has(one.a.b))', '{"list":[{},{"a":null},{"a":{"b":1}}]}', true],
    ['list.exists(one, has(one.a.b))', '{"list":[{},{"a":null},{"a":{"b":null}}]}', false],
  ])('treats a null field as missing in has(): %s for the record %s', (source, record, expected) => {
    expect(compileCondition(source).evaluate(toFields(JSON.parse(record)), clock)).toBe(expected);
  });

  test.each([
    ['items.all(x, x > 0)', '{"items":[1,2]}', 'true'],
    ['items.exists(i, i.n == n)', '{"items":[{"n":1}],"n":1}', 'true'],
    ['items.exists_one(x, x == 1)', '{"items":[1,1]}', 'false'],
    ['items.filter(x, x > 1)', '{"items":[1,2]}', '[2]'],
    ['items.map(x, x + n)', '{"items":[1,2],"n":10}', '[11,12]'],
    ['items.map(items, items)', '{"items":[1]}', '[1]'],
  ])("can use macros; a macro's variable hides the field of the same name: %s", (source, record, expected) => {
    expect(result(source, record)).toBe(expected);
  });

  test.each(['int', 'string', 'type', 'size', 'has', 'map', 'all', 'matches', 'list', 'bool', 'duration', 'constructor', 'record__', 'e1'])(
    'can use a field called "%s"',
    (name) => {
      expect(result(`${name} == "5" && int(${name}) == 5`, `{"${name}":"5"}`)).toBe('true');
    },
  );

  test.each(['loop', 'package', 'import', 'for', 'if', 'return', '__proto__'])(
    'cannot use a field called "%s" until it is renamed',
    (name) => {
      expect(problem(() => compileCondition(`a == 1 && ${name} == 2`))).toEqual({
        message: expect.stringMatching(`"${name}" is a reserved word of CEL[^]*rename: \\{ ${name}: `),
        offset: 10,
      });
    },
  );

  test('can compare type(a) with string, even if a field is called string', () => {
    expect(result('type(a) == string', '{"a":"x"}')).toBe('true');
  });

  test('requires the fields that it uses, except those that it tests with has()', () => {
    expect(compileExpression('a > 1 && b.c == d["e"] && items.all(x, x > f) && int(g) > 0 && a == 2').fields).toEqual([
      'a',
      'b',
      'd',
      'items',
      'f',
      'g',
    ]);
    expect(compileExpression('!has(a) || a > 3').fields).toEqual([]);
    expect(compileExpression('has(a.b)').fields).toEqual(['a']);
  });
});

describe('the value of an expression', () => {
  test.each([
    ['int(age)', '{"age":"42"}', '42'],
    ['int(age) + 1', '{"age":"-5"}', '-4'],
    ['double(x)', '{"x":"1.5"}', '1.5'],
    ['int(double(ft) * 0.3048)', '{"ft":"1026"}', '312'],
    ['string(n)', '{"n":12345678901234567890}', '"12345678901234567890"'],
    ['int(n)', '{"n":12345678901234567890}', '12345678901234567890'],
    ['int(n)', '{"n":"+0000000000000000000007"}', '7'],
    ['n', '{"n":12345678901234567890}', '12345678901234567890'],
    ['n', '{"n":9007199254740993}', '9007199254740993'],
    ['{"a": b, "c": [b, "x", null]}', '{"b":1}', '{"a":1,"c":[1,"x",null]}'],
    ['a.b', '{"a":{"b":{"c":[1]}}}', '{"c":[1]}'],
    ['first + " " + last', '{"first":"A","last":"B"}', '"A B"'],
    ['has(a) ? a : "none"', '{}', '"none"'],
    ['timestamp(t)', '{"t":"2020-01-01T00:00:00Z"}', '"2020-01-01T00:00:00.000Z"'],
    ['uint(a)', '{"a":"5"}', '5'],
    ['name.lowerAscii()', '{"name":"ANN"}', '"ann"'],
  ])('is correct: %s for the record %s is %s', (source, record, expected) => {
    expect(result(source, record)).toBe(expected);
  });

  test.each([
    ['int(a)', '{"a":""}', 'expected a whole number, found ""'],
    ['int(a)', '{"a":"12.7"}', 'expected a whole number, found "12.7"'],
    [
      'int(a)',
      '{"a":"89111702272002019559"}',
      'expected a whole number from -9223372036854775808 to 9223372036854775807, found "89111702272002019559"',
    ],
    ['uint(a)', '{"a":"-5"}', 'expected a whole number from 0 to 18446744073709551615, found "-5"'],
    ['uint(a)', '{"a":-5}', 'expected a whole number from 0 to 18446744073709551615, found "-5"'],
    ['int(a)', '{"a":"0x10"}', 'expected a whole number, found "0x10"'],
    ['int(a)', '{"a":null}', 'found int(null)'],
    ['double(a)', '{"a":""}', 'expected a number, found ""'],
    ['double(a)', '{"a":" 8"}', 'expected a number, found " 8"'],
    ['double(a)', '{"a":"0x10"}', 'expected a number, found "0x10"'],
    ['double(a)', '{"a":"Infinity"}', 'expected a number, found "Infinity"'],
    ['double(a)', '{"a":"1,5"}', 'expected a number, found "1,5"'],
    ['a / b', '{"a":1.5,"b":0.0}', 'the expression gave Infinity, which JSON cannot hold as a number'],
    ['1 / 0', '{}', 'division by zero'],
    ['age >= 18', '{"age":"20"}', '(a CSV cell is text: convert it, as in int(age))'],
    ['age >= 18', '{"age":null}', '(a field is null, for example because the answer lacks it: test it first, as in has(age) && age >= 18)'],
    ['!paid', '{"paid":null}', 'has(age) && age >= 18'],
    ['paid ? 1 : 2', '{"paid":null}', 'has(age) && age >= 18'],
    ['price * 2', '{"price":3.5}', '(int and double do not mix: convert them, as in double(price) * 2.0)'],
    ['a + 1', '{}', 'the record has no field "a"'],
    ['has(a) || b.c == 1', '{"b":{}}', 'there is no key "c"'],
    ['a.b.c', '{"a":{"b":{}}}', 'there is no key "c"'],
    ['a[0] == 1', '{"a":[]}', 'the list has no element [0]'],
    ['a[3] == 1', '{"a":[1]}', 'the list has no element [3]'],
    ['a && true', '{"a":"x"}', 'expected true or false beside && and ||, found string'],
    ['a ? 1 : 2', '{"a":"x"}', 'expected true or false before ?, found string'],
    ['toString', '{}', 'the record has no field "toString"'],
  ])('fails the record if it cannot be computed: %s for the record %s', (source, record, message) => {
    expect(() => result(source, record)).toThrow(expect.objectContaining({ kind: 'template', message: expect.stringContaining(message) }));
  });

  test('fails the record if it is used as a condition and is neither true nor false', () => {
    expect(() => compileCondition('a').evaluate(toFields({ a: 'yes' }), clock)).toThrow('"a" gave neither true nor false');
  });
});

describe('an invalid expression', () => {
  test.each([
    ['status =', 7],
    ['status == "a', 10],
    ['(a == 1', 7],
    ['a == 1 &&', 9],
    ['', 0],
    ['a b', 2],
    ['größe == 1', 2],
    ['foo(a)', 0],
    ['a == 1 && foo(b)', 10],
    ['a.b.nope()', 0],
    ['1 + "x"', 0],
    ['cel.bind(x, 1, x)', 9],
  ])("is refused, with the error's position: %s at character %i", (source, offset) => {
    expect(problem(() => compileExpression(source))).toEqual({
      message: expect.stringMatching(/^(?:not a CEL expression: |CEL has no )/),
      offset,
    });
  });

  test.each([
    ['a and b', 2, 'found and\nwrite && instead of and'],
    ['a OR b', 2, 'found OR\nwrite || instead of OR'],
    ['not a', 4, 'found a\nwrite ! instead of not'],
    ['a === b', 2, 'expected == to compare, found ==='],
    ['a !== b', 2, 'expected != to compare, found !=='],
    ['(a', 2, 'expected ), found the end'],
    ['a[0:2]', 3, 'expected ], found :'],
    ['a.', 2, 'expected a name, found the end'],
    ['a == ', 5, 'expected a value, found the end'],
    ['a ?? b', 3, 'expected a value, found ?'],
    ['if(a, 1, 2)', 0, 'CEL has no function "if"\nwrite CONDITION ? VALUE : OTHER_VALUE'],
    ['[1, 2].join(",")', 0, 'expected list<string>.join() or list<string>.join(string), found list.join(string)'],
  ])('says what to write instead of %s', (source, offset, message) => {
    expect(problem(() => compileExpression(source))).toEqual({ message: expect.stringContaining(message), offset });
  });

  test.each([
    ['a == 1 and b', 'and\nwrite && instead of and', 7],
    ["name like 'x'", 'like', 5],
    ["a == 'x')", ')', 8],
    ["a 'x y'", "'x y'", 2],
  ])('is refused, and the message quotes the whole unexpected word: %s', (source, found, offset) => {
    const message = `not a CEL expression: expected the end of the expression, or an operator such as == or &&, found ${found}`;
    expect(problem(() => compileExpression(source))).toEqual({ message, offset });
  });

  test.each([
    ['status = "done"', 7],
    ['a == 1 && b=null', 11],
  ])('is refused, and the message suggests == instead of =: %s', (source, offset) => {
    expect(problem(() => compileExpression(source))).toEqual({ message: 'not a CEL expression: expected == to compare, found =', offset });
  });

  test.each([
    ['double(price) * 2', 'double * int (int and double do not mix: convert them, as in double(price) * 2.0)'],
    ['"total " + int(n)', 'string + int (text and numbers do not mix: convert one of them, as in int("5") or string(5))'],
    ['true + 1', 'bool + int'],
  ])('is refused, and the message says how to convert the operands: %s', (source, message) => {
    expect(problem(() => compileExpression(source))).toMatchObject({ message: `not a CEL expression: no such overload: ${message}` });
  });

  test.each([
    ['{{id}} == 1', 'id == 1', 0],
    ['a && {{ id }} == {{b}}', 'a && id == b', 5],
    ['int({{age}})', 'int(age)', 4],
  ])('is refused, and the message suggests removing the braces: %s', (source, meant, offset) => {
    expect(problem(() => compileExpression(source))).toEqual({
      message: `expected fields without braces, as in: ${meant}`,
      offset,
    });
  });

  test.each(['a == "{{id}}" &&', '{{id}} =', 'a = 1'])('is refused with no mention of braces if something else is wrong: %s', (source) => {
    expect(problem(() => compileExpression(source))).toMatchObject({ message: expect.stringMatching(/^not a CEL expression: /) });
  });

  test.each([
    ['1 + 1', 'int'],
    ['"a" + "b"', 'string'],
    ['[1]', 'list<int>'],
  ])('is refused as a condition if its result is not boolean: %s', (source, type) => {
    expect(problem(() => compileCondition(source))).toEqual({
      message: `expected a condition that is true or false, found one that gives ${type}`,
      offset: undefined,
    });
  });

  test.each([
    ['a chain of operators', Array(20_000).fill('a == 1').join(' && '), undefined],
    ['a chain of !', `${'!'.repeat(20_000)}a`, undefined],
    ['brackets', `${'('.repeat(300)}1${')'.repeat(300)}`, 250],
  ])('is refused if it is nested too deeply: %s', (_name, source, offset) => {
    expect(problem(() => compileExpression(source))).toEqual({
      message: expect.stringMatching(/^expected a shorter expression: this one has too many nested operators\ncompute parts of it/),
      offset,
    });
  });

  test('is refused with a message that never mentions the internal names record__, has__ and matches__', () => {
    for (const source of ['foo(a)', '1 + a.b()', 'a ? 1 : "x"', 'has(1)', 'has(a, b)', 'has(a + b)', '1.matches(a)', '"a".matches(1)']) {
      expect(JSON.stringify(problem(() => compileExpression(source)))).not.toMatch(/record__|has__|matches__/);
    }
  });
});
