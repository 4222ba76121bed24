import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { Fields } from '../../src/core/record.ts';
import { ExactNumber, jsonOf, type Value } from '../../src/core/value/value.ts';
import { errorFields } from '../../src/records/errors-file.ts';
import { createWriter, formatOfName } from '../../src/records/formats.ts';
import { itemsOf, openText } from './reading.ts';

type Row = readonly (readonly [string, Value])[];

function writer(format: string, columns?: string[], options = {}) {
  return createWriter(formatOfName(format) ?? { kind: 'csv', gzip: false }, columns, options);
}

/** Returns the text of an output whose rows arrive in chunks. */
function written(format: string, columns: string[] | undefined, chunks: Row[][], options = {}): string {
  const { begin, write, end } = writer(format, columns, options);
  let isFirst = true;
  let text = begin();
  for (const rows of chunks) {
    text += write(
      rows.map((row) => new Map(row)),
      isFirst,
    );
    isFirst = false;
  }
  return text + end(!isFirst);
}

describe('the CSV writer', () => {
  const line = (value: Value, options = {}) =>
    written(
      'csv',
      ['x', 'y'],
      [
        [
          [
            ['x', value],
            ['y', 'z'],
          ],
        ],
      ],
      options,
    ).slice('x,y\n'.length);

  test.each<[Value, string]>([
    ['plain text', 'plain text'],
    ['', ''],
    [' ', ' '],
    ['a,b', '"a,b"'],
    ['a "b"', '"a ""b"""'],
    ['a\nb', '"a\nb"'],
    ['a\rb', '"a\rb"'],
    ['a\tb', 'a\tb'],
    [null, ''],
    [true, 'true'],
    [1.5, '1.5'],
    [new ExactNumber('12345678901234567890'), '12345678901234567890'],
    [{ a: [1, 'b'] }, '"{""a"":[1,""b""]}"'],
    ['=1+1', '=1+1'],
  ])('writes the cell %j as %j', (value, cell) => {
    expect(line(value)).toBe(`${cell},z\n`);
  });

  test('writes cells in the order of the columns, and an empty cell for a missing field', () => {
    expect(
      written(
        'csv',
        ['a', 'b'],
        [
          [
            [
              ['b', '2'],
              ['a', '1'],
            ],
          ],
          [[['b', '4']]],
        ],
      ),
    ).toBe('a,b\n1,2\n,4\n');
  });

  test('writes only the header if there are no records', () => {
    expect(written('csv', ['a', 'b'], [])).toBe('a,b\n');
    expect(written('csv', undefined, [])).toBe('');
  });

  test('quotes an empty cell if it is the only cell in its row', () => {
    expect(written('csv', ['a'], [[[['a', '']], [['a', null]], [['a', 'x']]]])).toBe('a\n""\n""\nx\n');
  });

  test('separates cells with tabs if the format is TSV', () => {
    expect(
      written(
        'tsv',
        ['a', 'b'],
        [
          [
            [
              ['a', 'x,y'],
              ['b', 'x\ty'],
            ],
          ],
        ],
      ),
    ).toBe('a\tb\nx,y\t"x\ty"\n');
  });

  test.each(['=1+1', '+1', '-1', '@sum', '\tx'])('writes %j with a leading apostrophe if csvSafe is set', (value) => {
    expect(line(value, { csvSafe: true })).toBe(`'${value},z\n`);
  });

  test('adds the apostrophe of csvSafe to column names, too, but not to numbers and harmless text', () => {
    expect(line('\rx', { csvSafe: true })).toBe('"\'\rx",z\n');
    expect(line(-1, { csvSafe: true })).toBe('-1,z\n');
    expect(line(new ExactNumber('-1.50'), { csvSafe: true })).toBe('-1.50,z\n');
    expect(line('a=1', { csvSafe: true })).toBe('a=1,z\n');
    expect(written('csv', ['@id', 'b'], [], { csvSafe: true })).toBe("'@id,b\n");
  });

  test('refuses a record with a field that has no column', () => {
    const { misfit } = writer('csv', ['a', 'b']);
    expect(misfit(new Map([['b', 1]]))).toBeUndefined();
    expect(
      misfit(
        new Map([
          ['a', 1],
          ['__proto__', 1],
        ]),
      ),
    ).toMatchObject({
      kind: 'output',
      message: expect.stringMatching(/^the record has a field "__proto__" for which the output has no column\n/),
    });
  });
});

test.each(['', '\ud800'])('a CSV file omits a column called %j, because that name could not be read back', (name) => {
  expect(written('csv', ['a', name, 'b'], [[[['b', 1]]]])).toBe('a,b\n,1\n');
  expect(writer('csv', ['a', name, 'b']).misfit(new Map([[name, 1]]))?.message).toContain('which CSV cannot store');
});

describe('half of a surrogate pair in a record', () => {
  const broken: Row = [
    ['a', 'x\ud800'],
    ['b\udfff', '😀'],
  ];

  test.each(['csv', 'tsv'])('is refused in %s, because UTF-8 cannot encode it', (format) => {
    const { misfit } = writer(format, ['a', 'b', 'b\udfff']);
    const message = (row: Row) => misfit(new Map(row))?.message.split('\n')[0];
    expect(misfit(new Map(broken))?.kind).toBe('output');
    expect(message(broken)).toBe('the value of the field "a" contains a broken character (a lone surrogate), which CSV cannot store');
    expect(message(broken.slice(1))).toBe(
      'the name of the field "b\\udfff" contains a broken character (a lone surrogate), which CSV cannot store',
    );
    expect(message([['a', '😀']])).toBeUndefined();
    expect(message([['a', { '\ud800': ['\udfff'] }]])).toBeUndefined();
    expect(written(format, ['a'], [[[['a', ['\udfff']]]]])).toContain('\\udfff');
  });

  test.each(['json', 'ndjson'])('is written as an escape sequence in %s', (format) => {
    expect(written(format, undefined, [[broken]])).toContain('{"a":"x\\ud800","b\\udfff":"😀"}');
    expect(writer(format).misfit(new Map(broken))).toBeUndefined();
  });

  test('is written as an escape sequence if it is in a message and the errors file is a table', () => {
    const failure = new Failure('mapping', 'no field "\ud800" 😀');
    const item = { number: 1, fields: new Map(), end: { offset: 0, line: 0 }, failure };
    expect(new Map(errorFields(item, failure, true)).get('_error_message')).toBe('no field "\\ud800" 😀');
    expect(errorFields(item, failure, false)[0]?.[1]).toMatchObject({ message: 'no field "\ud800" 😀' });
  });
});

describe('the JSON writer', () => {
  const rows: Row[] = [
    [
      ['a', 1],
      ['__proto__', 'x'],
    ],
    [
      ['a', new ExactNumber('1.50')],
      ['7', null],
    ],
    [],
  ];

  test('writes one object per line if the format is NDJSON', () => {
    expect(written('ndjson', undefined, [rows])).toBe('{"a":1,"__proto__":"x"}\n{"a":1.50,"7":null}\n{}\n');
    expect(written('ndjson', undefined, [])).toBe('');
  });

  test('writes an array if the format is JSON', () => {
    const text = '[\n{"a":1,"__proto__":"x"},\n{"a":1.50,"7":null},\n{}\n]\n';
    expect(written('json', undefined, [rows])).toBe(text);
    expect(
      written(
        'json',
        undefined,
        rows.map((row) => [row]),
      ),
    ).toBe(text);
    expect(written('json', undefined, [])).toBe('[]\n');
  });

  test('accepts records with any fields', () => {
    for (const format of ['json', 'ndjson']) expect(writer(format, ['a']).misfit(new Map([['b', 1]]))).toBeUndefined();
  });
});

const nasty = [
  '',
  ' ',
  '"',
  '""',
  ',',
  '\n',
  '\r',
  '\r\n',
  '\t',
  '\0',
  '\ufeff',
  '\ufeffx',
  "'",
  '=1',
  '\\',
  '\u2028',
  '😀',
  '__proto__',
  'null',
  'a"b',
  '"a',
  'a"',
  '",',
  '"\n',
];
const text = fc.oneof(
  { weight: 3, arbitrary: fc.array(fc.constantFrom(...nasty, 'a'), { maxLength: 4 }).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);
const chunkSize = fc.integer({ min: 1, max: 7 });

describe('a record in a written file', () => {
  test.each(['csv', 'tsv'])('can be read back unchanged if the format is %s', (format) => {
    const tables = fc
      .uniqueArray(
        text.filter((name) => name !== '' && !name.startsWith('_error')),
        { minLength: 1, maxLength: 4 },
      )
      .chain((columns) =>
        fc.record({
          columns: fc.constant(columns),
          rows: fc.array(fc.tuple(...columns.map((name) => fc.tuple(fc.constant(name), text))), { maxLength: 5 }),
        }),
      );
    return fc.assert(
      fc.asyncProperty(tables, chunkSize, async ({ columns, rows }, chunkSize) => {
        const source = openText(
          format,
          written(
            format,
            columns,
            rows.map((row) => [row]),
          ),
          { chunkSize },
        );
        expect((await source).columns).toEqual(columns);
        expect((await itemsOf(source)).map(({ fields, failure }) => failure ?? [...fields])).toEqual(rows);
      }),
      { numRuns: 80 },
    );
  });

  test.each(['ndjson', 'json'])('can be read back unchanged, with all types, if the format is %s', (format) => {
    // No name is an integer, because JavaScript objects list integer names first, whatever their position in the text.
    const name = text.filter((name) => !name.startsWith('_error') && !/^\d+$/.test(name));
    const value = fc.oneof(
      text,
      fc.jsonValue({ maxDepth: 2 }),
      fc.bigInt().map((digits) => parsed(String(digits))),
    ) as fc.Arbitrary<Value>;
    const rows = fc.array(fc.uniqueArray(fc.tuple(name, value), { selector: ([name]) => name, maxLength: 4 }), { maxLength: 5 });
    return fc.assert(
      fc.asyncProperty(rows, chunkSize, async (rows, chunkSize) => {
        const items = await itemsOf(openText(format, written(format, undefined, [rows]), { chunkSize }));
        expect(items.map(({ fields, failure }) => failure ?? membersOf(fields))).toEqual(rows.map((row) => membersOf(new Map(row))));
      }),
      { numRuns: 60 },
    );
  });
});

function parsed(digits: string): Value {
  return String(Number(digits)) === digits ? Number(digits) : new ExactNumber(digits);
}

function membersOf(fields: Fields): string[] {
  return [...fields].map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`);
}
