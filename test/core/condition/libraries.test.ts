import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileAnswerExpression, compileExpression } from '../../../src/core/condition/condition.ts';
import { loadDates } from '../../../src/core/condition/dates.ts';
import { giveHash } from '../../../src/core/condition/hashes.ts';
import { loadPatternEngine } from '../../../src/core/condition/pattern.ts';
import { parseJson } from '../../../src/core/value/json.ts';
import type { Value } from '../../../src/core/value/value.ts';
import { createFakeClock } from '../../helpers/fake-clock.ts';
import { toFields } from '../../helpers/run-flow.ts';

beforeAll(async () => {
  await loadPatternEngine();
  await loadDates();
  giveHash((algorithm, of) => createHash(algorithm).update(of).digest('hex'));
});

const evaluate = (source: string, record: Record<string, Value> = {}) =>
  compileExpression(source).evaluate(toFields(record), createFakeClock());

/** The value of a call whose first argument is the field `x`. */
const called = (x: Value, call: (x: string) => string) => evaluate(call('x'), { x });

const failsWith = (act: () => unknown, message: string) =>
  expect(act).toThrow(expect.objectContaining({ kind: 'template', message: expect.stringContaining(message) }));

describe('hashes', () => {
  test('of text and bytes, in lower-case hexadecimal digits', () => {
    expect(evaluate('hash.md5("abc")')).toBe('900150983cd24fb0d6963f7d28e17f72');
    expect(evaluate('hash.sha1("abc")')).toBe('a9993e364706816aba3e25717850c26c9cd0d89d');
    expect(evaluate('hash.sha256("Zoë")')).toBe(createHash('sha256').update('Zoë').digest('hex'));
    expect(evaluate('hash.sha512(b"\\xff")')).toBe(createHash('sha512').update(Buffer.of(255)).digest('hex'));
    expect(evaluate('hash.sha256(bytes("abc")) == hash.sha256("abc")')).toBe(true);
  });

  test('are no function of other values', () => {
    failsWith(() => evaluate('hash.sha256(x)', { x: 17 }), 'found hash.sha256(int)');
    failsWith(() => evaluate('hash.sha256(x)', { x: null }), 'a field is null');
  });
});

describe('functions of text', () => {
  test.each([
    ['Straße', 'strasse'],
    ['STRAẞE', 'strasse'],
    ['Ærøskøbing', 'aeroskobing'],
    ['ǼǾ', 'aeo'],
    ['Œuvre', 'oeuvre'],
    ['Łódź', 'lodz'],
    ['Đakovo', 'dakovo'],
    ['Ðuro Þór', 'duro thor'],
    ['Iıİi', 'iiii'],
    ['São Tomé, Ñandú, Việt Nam, Škoda', 'sao tome, nandu, viet nam, skoda'],
    ['ﬁne №５ ㎏ ™', 'fine no5 kg tm'],
    ['Ёлка й', 'елка и'],
  ])('fold %s to %s', (text, folded) => {
    expect(called(text, (x) => `text.fold(${x})`)).toBe(folded);
  });

  test('lower, upper and squeeze follow Unicode', () => {
    expect(evaluate('text.lower("ÄÖÜ Σ")')).toBe('äöü σ');
    expect(evaluate('text.upper("straße é")')).toBe('STRASSE É');
    expect(called(' \u00a0a\u2003\t b\u0085\r\nc\u3000', (x) => `text.squeeze(${x})`)).toBe('a b c');
    expect(called('\ufeffa\u200b', (x) => `text.squeeze(${x})`)).toBe('\ufeffa\u200b');
  });

  test('encode everything but the unreserved characters', () => {
    expect(evaluate(`url.encode("a b&c=d/é!'()*~-._+😀")`)).toBe('a%20b%26c%3Dd%2F%C3%A9%21%27%28%29%2A~-._%2B%F0%9F%98%80');
    failsWith(() => called('a\ud800', (x) => `url.encode(${x})`), 'is no valid Unicode text');
  });

  test('make the same UUID of the same text', () => {
    expect(evaluate('uuid.of("https://www.example.com/")')).toBe('3d3ed9d2-aa3d-5fa6-90e8-ed662e90f559');
    expect(evaluate('uuid.of("www.example.com")')).toBe('b63cdfa4-3df9-568e-97ae-006c5b8fd652');
    expect(evaluate('uuid.of("é") == uuid.of("é")')).toBe(true);
  });
});

describe('number.parse', () => {
  test.each<[string, string, number]>([
    ['1.234,56', '1.234,56', 1234.56],
    ['1234,56', '1.234,56', 1234.56],
    ['1.234.567', '1.234,56', 1234567],
    ['-1.234,5', '1.234,56', -1234.5],
    ['−12', '1.234,56', -12],
    ['+7', '1.234,56', 7],
    ['0,05', '1.234,56', 0.05],
    ['1,234.56', '1,234.56', 1234.56],
    ['1,234,567.8', '1,234.56', 1234567.8],
    ['1 234,56', '1 234,56', 1234.56],
    ['1\u00a0234,56', '1 234,56', 1234.56],
    ['1\u202f234\u202f567', '1 234,56', 1234567],
    ['1 234,56', '1\u00a0234,56', 1234.56],
    ["1'234.56", "1'234.56", 1234.56],
    ['1’234.56', "1'234.56", 1234.56],
    ['1234.5', '1234.5', 1234.5],
    ['12', '1234.5', 12],
    ['1,5', '1234,5', 1.5],
    ['1.234.567', '1.234.567', 1234567],
    ['17', '1234', 17],
    ['0.125', '0.125', 0.125],
  ])('reads %s, written like %s, as %d', (text, example, number) => {
    expect(evaluate('number.parse(x, e)', { x: text, e: example })).toBe(number);
  });

  test.each([
    ['1.23', '1.234,56'],
    ['1.2345,6', '1.234,56'],
    ['1234.567', '1.234,56'],
    ['1,234.56', '1.234,56'],
    ['1,234', '1234.5'],
    ['1,', '1.234,56'],
    ['', '1.234,56'],
    [' 1', '1.234,56'],
    ['1 €', '1.234,56'],
    ['--1', '1.234,56'],
    ['1e3', '1234.5'],
    ['1.5', '1234'],
    ['٣', '1234'],
    ['9'.repeat(400), '1234'],
  ])('fails the record for %j, written like %s', (text, example) => {
    failsWith(() => evaluate('number.parse(x, e)', { x: text, e: example }), `is no number of the form ${example}`);
  });

  test.each(['abc', '', '1.234', '12,34,567.8', '1.234.56', '1..2', '€1'])('refuses the example %j before the run', (example) => {
    expect(() => compileExpression(`number.parse(x, ${JSON.stringify(example)})`)).toThrow(
      expect.objectContaining({ name: 'ExpressionError', offset: 16 }),
    );
  });
});

describe('date.parse', () => {
  const parsed = (text: string, pattern: string, zone?: string) =>
    evaluate(zone === undefined ? 'date.parse(t, p)' : 'date.parse(t, p, z)', { t: text, p: pattern, z: zone ?? '' });

  test.each([
    ['25.11.2026', 'dd.MM.yyyy', '2026-11-25T00:00:00.000Z'],
    ['5.1.2026', 'd.M.yyyy', '2026-01-05T00:00:00.000Z'],
    ['25.11.2026', 'd.M.yyyy', '2026-11-25T00:00:00.000Z'],
    ['01/02/49', 'MM/dd/yy', '2049-01-02T00:00:00.000Z'],
    ['01/02/50', 'MM/dd/yy', '1950-01-02T00:00:00.000Z'],
    ['01/02/00', 'MM/dd/yy', '2000-01-02T00:00:00.000Z'],
    ['01/02/99', 'MM/dd/yy', '1999-01-02T00:00:00.000Z'],
    ['20260228', 'yyyyMMdd', '2026-02-28T00:00:00.000Z'],
    ['29.02.2024', 'dd.MM.yyyy', '2024-02-29T00:00:00.000Z'],
    ['29.02.2000', 'dd.MM.yyyy', '2000-02-29T00:00:00.000Z'],
    ['Nov 5, 2026', 'MMM d, yyyy', '2026-11-05T00:00:00.000Z'],
    ['25-NOV-26', 'dd-MMM-yy', '2026-11-25T00:00:00.000Z'],
    ['5 May 2026', 'd MMMM yyyy', '2026-05-05T00:00:00.000Z'],
    ['Wed, 25 Nov 2026', 'EEE, d MMM yyyy', '2026-11-25T00:00:00.000Z'],
    ['Wednesday 25.11.2026', 'EEEE dd.MM.yyyy', '2026-11-25T00:00:00.000Z'],
    ['2026-11-25T23:59:58.123Z', "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", '2026-11-25T23:59:58.123Z'],
    ['2026-11-25 09:05 +05:30', 'yyyy-MM-dd HH:mm XXX', '2026-11-25T03:35:00.000Z'],
    ['2026-11-25 9:05', 'yyyy-MM-dd H:mm', '2026-11-25T09:05:00.000Z'],
    ['11/25/2026 12:30 AM', 'MM/dd/yyyy hh:mm a', '2026-11-25T00:30:00.000Z'],
    ['11/25/2026 12:30 PM', 'MM/dd/yyyy hh:mm a', '2026-11-25T12:30:00.000Z'],
    ['11/25/2026 1:30\u202fpm', 'MM/dd/yyyy h:mm a', '2026-11-25T13:30:00.000Z'],
    ["25 o'clock 11 2026", "dd 'o''clock' MM yyyy", '2026-11-25T00:00:00.000Z'],
    ["25'11'2026", "dd''MM''yyyy", '2026-11-25T00:00:00.000Z'],
    ['2026-11', 'yyyy-MM', '2026-11-01T00:00:00.000Z'],
    ['0001-01-01', 'yyyy-MM-dd', '0001-01-01T00:00:00.000Z'],
  ])('reads %s, written as %s', (text, pattern, time) => {
    expect(parsed(text, pattern)).toBe(time);
  });

  test.each([
    ['2026-07-01 12:00', 'Europe/Berlin', '2026-07-01T10:00:00.000Z'],
    ['2026-12-01 12:00', 'Europe/Berlin', '2026-12-01T11:00:00.000Z'],
    // The clock goes from 02:00 to 03:00.
    ['2026-03-29 02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-03-08 02:15', 'America/New_York', '2026-03-08T07:15:00.000Z'],
    // The clock goes from 03:00 back to 02:00.
    ['2026-10-25 02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-11-01 01:30', 'America/New_York', '2026-11-01T05:30:00.000Z'],
    // This clock is moved by half an hour.
    ['2026-10-04 02:10', 'Australia/Lord_Howe', '2026-10-03T15:40:00.000Z'],
    ['2026-01-01 00:00', 'Asia/Kathmandu', '2025-12-31T18:15:00.000Z'],
    ['2026-01-01 00:00', '+02:00', '2025-12-31T22:00:00.000Z'],
  ])('reads %s in %s', (text, zone, time) => {
    expect(parsed(text, 'yyyy-MM-dd HH:mm', zone)).toBe(time);
  });

  test('follows the zone in the text', () => {
    expect(parsed('2026-11-25 10:00-08:00', 'yyyy-MM-dd HH:mmXXX', 'Europe/Berlin')).toBe('2026-11-25T18:00:00.000Z');
  });

  test('gives a time that can be compared and calculated with', () => {
    expect(evaluate('date.parse("25.11.2026", "dd.MM.yyyy") < timestamp("2026-11-26T00:00:00Z")')).toBe(true);
    expect(evaluate('date.parse("25.11.2026", "dd.MM.yyyy").getDate()')).toBe(25);
  });

  test.each([
    ['31.02.2026', 'dd.MM.yyyy'],
    ['29.02.2026', 'dd.MM.yyyy'],
    ['29.02.1900', 'dd.MM.yyyy'],
    ['00.01.2026', 'dd.MM.yyyy'],
    ['01.13.2026', 'dd.MM.yyyy'],
    ['1.1.2026', 'dd.MM.yyyy'],
    ['01.01.26', 'dd.MM.yyyy'],
    ['01.01.2026 ', 'dd.MM.yyyy'],
    ['x01.01.2026', 'dd.MM.yyyy'],
    ['01.01.2026 10:00', 'dd.MM.yyyy'],
    ['', 'dd.MM.yyyy'],
    ['01.01.0000', 'dd.MM.yyyy'],
    ['2026-01-01 24:00', 'yyyy-MM-dd HH:mm'],
    ['2026-01-01 10:60', 'yyyy-MM-dd HH:mm'],
    ['2026-01-01 13:00 PM', 'yyyy-MM-dd hh:mm a'],
    ['2026-01-01 00:00 AM', 'yyyy-MM-dd hh:mm a'],
    ['Tue, 25 Nov 2026', 'EEE, d MMM yyyy'],
    ['25 Nof 2026', 'd MMM yyyy'],
    ['2026-01-01 +0100', 'yyyy-MM-dd XXX'],
    ['2026/01/01', 'yyyy-MM-dd'],
  ])('fails the record for %j, written as %s', (text, pattern) => {
    failsWith(() => parsed(text, pattern), `date.parse: ${JSON.stringify(text)} is no date of the form ${pattern}`);
  });

  test.each([
    ['date.parse(x, "YYYY-MM-DD")', '"YYYY" stands for nothing; did you mean yyyy?', 14],
    ['date.parse(x, "dd.MM.yyyy Uhr")', '"U" stands for nothing', 14],
    [`date.parse(x, "yyyy 'Uhr")`, 'an apostrophe is not closed', 14],
    ['date.parse(x, "")', 'it has no letters', 14],
    ['date.parse(x, "HH:mm")', 'it has no year', 14],
    ['date.parse(x, "yyyy-mm-dd")', 'no month (MM; mm are minutes)', 14],
    ['date.parse(x, "yyyy-MM-dd hh:mm")', 'it needs AM or PM (a)', 14],
    ['date.parse(x, "yyyy-MM-dd", "Europe/Berln")', 'did you mean "Europe/Berlin"?', 28],
    ['date.parse(x, "yyyy-MM-dd", "2026-01-01T00:00Z")', 'expected a time zone such as Europe/Berlin', 28],
    ['date.format(now(), "qq")', '"qq" stands for nothing', 19],
    ['date.format(now(), "yyyy", "Mars")', 'expected a time zone', 27],
  ])('refuses a pattern or zone that is none before the run: %s', (source, message, offset) => {
    expect(() => compileExpression(source)).toThrow(
      expect.objectContaining({ name: 'ExpressionError', message: expect.stringContaining(message), offset }),
    );
  });

  test('fails the record for a pattern or zone from a field that is none', () => {
    failsWith(() => parsed('1', 'YYYY'), 'stands for nothing');
    failsWith(() => parsed('2026', 'yyyy', 'Mars'), 'expected a time zone');
  });
});

describe('date.format', () => {
  test.each([
    ['yyyy-MM-dd HH:mm:ss.SSS', '2026-03-05 09:07:03.045'],
    ['yy M d H h', '26 3 5 9 9'],
    ['hh:mm a', '09:07 AM'],
    ['EEE EEEE MMM MMMM', 'Thu Thursday Mar March'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2026-03-05T09:07Z'],
    ["h 'o''clock' ''a''", "9 o'clock 'AM'"],
    ['dd.MM.yyyy', '05.03.2026'],
  ])('writes %s as %s', (pattern, text) => {
    expect(evaluate('date.format(timestamp(t), p)', { t: '2026-03-05T09:07:03.045Z', p: pattern })).toBe(text);
  });

  test.each([
    ['2026-07-01T22:30:00Z', 'Europe/Berlin', '2026-07-02 00:30 12 AM +02:00'],
    ['2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25 02:30 2 AM +01:00'],
    ['2026-01-01T17:00:00Z', 'America/New_York', '2026-01-01 12:00 12 PM -05:00'],
    ['2026-01-01T00:00:00Z', 'Europe/London', '2026-01-01 00:00 12 AM Z'],
    ['2026-01-01T00:00:00Z', 'Asia/Kolkata', '2026-01-01 05:30 5 AM +05:30'],
  ])('writes %s in %s', (time, zone, text) => {
    expect(evaluate('date.format(timestamp(t), "yyyy-MM-dd HH:mm h a XXX", z)', { t: time, z: zone })).toBe(text);
  });

  test('expects a time', () => {
    failsWith(() => evaluate('date.format(t, "yyyy")', { t: '2026-01-01T00:00:00Z' }), 'convert it, as in timestamp(created)');
  });
});

describe('json.text', () => {
  const record = () =>
    parseJson(
      '{"a": 1.50, "big": 12345678901234567890, "o": {"p": 2.0, "l": [1e5, {"q": "é\\""}], "n": null}, "l": [{"v": 1.10}, {"v": 3.0}]}',
    );
  const text = (source: string) => evaluate(source, record() as Record<string, Value>);

  test.each([
    ['json.text(a)', '1.50'],
    ['json.text(big)', '12345678901234567890'],
    ['json.text(o)', '{"p":2.0,"l":[1e5,{"q":"é\\""}],"n":null}'],
    ['json.text(o.p)', '2.0'],
    ['json.text(o["l"][0])', '1e5'],
    ['json.text({"x": a, "y": [big, o.p], "z": "b"})', '{"x":1.50,"y":[12345678901234567890,2.0],"z":"b"}'],
    ['json.text(a > 1.0 ? dyn(a) : dyn("none"))', '1.50'],
    ['json.text(l.filter(e, e.v > 2.0))', '[{"v":3.0}]'],
    ['json.text(l.map(e, e.v))', '[1.10,3.0]'],
    ['json.text(l.map(e, e.v > 2.0, {"w": e.v, "twice": e.v * 2.0}))', '[{"w":3.0,"twice":6}]'],
    ['json.text(l.filter(e, has(e.v)))', '[{"v":1.10},{"v":3.0}]'],
    ['json.text(l.map(e, has(e.w) ? e.w : e.v))', '[1.10,3.0]'],
    ['l.map(e, json.text(e.v)).join(" ")', '1.10 3.0'],
    ['l.filter(e, json.text(e.v) == "1.10")[0].v + 1.0', '2.1'],
    ['l.filter(e, e.v * 2.0 > 5.0 && json.text(e) != "").map(e, e.v / 2.0)[0]', '1.5'],
    ['[a, o.p].exists(e, json . text(e) == "2.0" && e == 2.0)', 'true'],
    ['l.map(e, [e.v].map(f, json.text(f))[0] + json.text(e.v * 2.0)).join(" ")', '1.102.2 3.06'],
    ['json.text(l.filter(e, json.text(e.v) == "1.10"))', '[{"v":1.10}]'],
    ['record.map(k, json.text(record[k])).filter(t, t.startsWith("1.")).join("")', '1.50'],
    ['json.text(record["a"])', '1.50'],
    ['json.text(record.o.l)', '[1e5,{"q":"é\\""}]'],
    ['json.text(record["bi" + "g"])', '12345678901234567890'],
    ['json.text(record.filter(k, k == "a").map(k, record[k]))', '[1.50]'],
    ['json.text([record["a"], dyn(record["a"] * 2.0)])', '[1.50,3]'],
    ['json.text(has(a) ? dyn(a) : dyn("none"))', '1.50'],
    ['json.text(has(record.a) ? dyn(record.a) : dyn("none"))', '1.50'],
    ['json.text(has(o.n) || has(missing) ? dyn("both") : dyn(o.p))', '2.0'],
    ['json.text(l.filter(e, has(a) && has(o.p) && has(record.big) && !has(e.w)))', '[{"v":1.10},{"v":3.0}]'],
    ['json.text("a\\"b")', '"a\\"b"'],
    ['json.text(true)', 'true'],
    ['json.text([1, null])', '[1,null]'],
    ['json.text(a * 2.0)', '3'],
    ['json.text(timestamp("2026-01-01T00:00:00Z"))', '"2026-01-01T00:00:00.000Z"'],
    ['json.text(l[int(o.p) - 1])', '{"v":3.0}'],
    ['hash.md5(json.text(a)) == hash.md5("1.50")', 'true'],
  ])('keeps the digits of numbers: %s', (source, expected) => {
    expect(String(text(source))).toBe(expected);
  });

  test('may test a field of the record with has()', () => {
    expect(compileExpression('has(record.a) ? json.text(record.a) : ""').mismatches).toEqual([]);
    expect(compileExpression('has(record.a.b) ? 1 : 2').mismatches).toEqual([expect.objectContaining({ field: 'a', kind: 'member' })]);
  });

  test('keeps them in expressions about an answer, too', () => {
    const body = parseJson('{"price": 1.50}');
    const expression = compileAnswerExpression('json.text(body.price)', ['body']);
    expect(expression.evaluate(toFields({ body }), createFakeClock())).toBe('1.50');
  });

  test('fails the record for null and for a missing field', () => {
    failsWith(() => text('json.text(o.n)'), 'json.text: expected a value, found null');
    failsWith(() => text('json.text(missing)'), 'missing');
  });
});

describe('a function that does not exist, or is called wrongly', () => {
  test.each([
    ['text.lowr(name)', 'CEL has no "text.lowr"; did you mean "text.lower"?'],
    ['hash.sha265(name)', 'did you mean "hash.sha256"?'],
    ['date.prase(name, "yyyy")', 'did you mean "date.parse"?'],
    ['uuid.off(name)', 'did you mean "uuid.of"?'],
    ['hash.crc32(name)', 'expected hash.md5, hash.sha1, hash.sha256, hash.sha512'],
    ['sha256(name)', 'expected hash.sha256(string)'],
    ['strftime(name)', 'did you mean "date.format"?'],
    ['text.toUpperCase()', 'did you mean "upperAscii"?'],
    ['date.parse(name)', 'expected date.parse(string, string) or date.parse(string, string, string), found date.parse(any)'],
    ['date.parse(name, "yyyy", "UTC", "x")', 'found date.parse(any, string, string, string)'],
    ['hash.sha256(1)', 'expected hash.sha256(string) or hash.sha256(bytes), found hash.sha256(int)'],
    ['text.fold()', 'expected text.fold(string), found text.fold()'],
    ['text.fold(null)', 'expected text.fold(string), found text.fold(null)'],
    ['number.parse(name, 5)', 'expected number.parse(string, string), found number.parse(any, int)'],
    ['json.text()', 'expected json.text(any), found json.text()'],
  ])('is a problem of the flow: %s', (source, message) => {
    expect(() => compileExpression(source)).toThrow(
      expect.objectContaining({ name: 'ExpressionError', message: expect.stringContaining(message) }),
    );
  });

  test.each(['hash.md5', 'text.lower', 'text.upper', 'text.fold', 'text.squeeze', 'url.encode', 'uuid.of', 'json.text'])(
    'fails the record for null: %s',
    (name) => failsWith(() => evaluate(`${name}(x)`, { x: null }), 'null'),
  );

  test('does not take away the names of fields', () => {
    const fields = { text: 'A', url: 'u', date: '2026-01-01T00:00:00Z', number: 2, hash: 'h', json: { a: 1 }, uuid: 'i' };
    expect(evaluate('text.lowerAscii() + url + hash + uuid', fields)).toBe('auhi');
    expect(evaluate('timestamp(date).getFullYear() + number + json.a', fields)).toBe(2029);
    expect(evaluate('["x"].map(text, text.size() == 1 ? url : text)', fields)).toEqual(['u']);
    expect(evaluate('text.lower(text)', fields)).toBe('a');
  });
});
