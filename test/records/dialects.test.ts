import { describe, expect, test } from 'vitest';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import { openText, problem, shown } from './reading.ts';

// Options for CSV files that do not follow RFC 4180.

const csv = (text: string, options = {}) => shown(openText('csv', text, options));

describe('--ragged', () => {
  test('fills short rows with empty cells, and leaves out empty cells after the last column', async () => {
    const text = 'id,name,city\n1\n2,Bob\n3,Cy,Rome,,\n4,Di,Oslo,,x\n5,Ed,Ulm,""\n,\n';
    for (const chunkSize of [1, 100]) {
      expect(await csv(text, { ragged: true, chunkSize })).toEqual([
        { id: '1', name: '', city: '' },
        { id: '2', name: 'Bob', city: '' },
        { id: '3', name: 'Cy', city: 'Rome' },
        'line 5: expected 3 cells, found 5 (extra: "", "x")',
        { id: '5', name: 'Ed', city: 'Ulm' },
        { id: '', name: '', city: '' },
      ]);
    }
    expect((await csv(text)).filter((row) => typeof row === 'string')).toHaveLength(6);
  });

  test('counts the columns in the header, or without one in the first row', async () => {
    expect(await csv('id,,\n1\n2,x\n', { ragged: true })).toEqual([
      { id: '1' },
      'line 3: expected 1 cell, found 2 (extra: "x"): give the column a name in the header, or clear the cell',
    ]);
    expect(await csv('1,2\n3\n4,5,\n6,7,8\n', { ragged: true, noHeader: true })).toEqual([
      { column_1: '1', column_2: '2' },
      { column_1: '3', column_2: '' },
      { column_1: '4', column_2: '5' },
      'line 4: expected 2 cells, found 3 (extra: "8")',
    ]);
  });

  test('lets the delimiter be recognized although the first row has another number of cells', async () => {
    expect(await csv('id;name;city\n1;Ada\n', { ragged: true })).toEqual([{ id: '1', name: 'Ada', city: '' }]);
    expect(await csv('id;name;;\n1;Ada\n')).toEqual([{ id: '1', name: 'Ada' }]);
  });

  test('keeps the failures of an errors file', async () => {
    const [record] = await csv('id,_error_class,_error_message,_error_record\n1,input,bad\n', { ragged: true });
    expect(record).toContain('could not be read in an earlier run');
  });

  test('is refused for other formats', async () => {
    expect(await problem(openText('json', '[]', { ragged: true }))).toBe('usage: --ragged: expected CSV or TSV, found json');
  });
});

test('the delimiter of a header with line breaks in quotes is recognized in small chunks', async () => {
  for (const chunkSize of [1, 4, 100]) expect(await csv('"a\n";b\n1;2\n', { chunkSize })).toEqual([{ 'a\n': '1', b: '2' }]);
});

describe('--escape', () => {
  const backslash = { escape: '\\' };

  test('reads a quote that a backslash precedes, as MySQL and PHP write it', async () => {
    const text = 'id,text\n1,"say \\"hi\\", ""you"""\n2,"6\\""\n3,"C:\\temp\\n\\\\"\n4,"a\nb"\n5,x\\"y\n';
    for (const chunkSize of [1, 2, 3, 100]) {
      expect(await csv(text, { ...backslash, chunkSize })).toEqual([
        { id: '1', text: 'say "hi", "you"' },
        { id: '2', text: '6"' },
        { id: '3', text: 'C:\\temp\\n\\' },
        { id: '4', text: 'a\nb' },
        { id: '5', text: 'x\\"y' },
      ]);
    }
  });

  test('holds while the delimiter is recognized, and for other characters', async () => {
    expect(await csv('"a \\", b";c\n"1\\"2";"3;"\n', backslash)).toEqual([{ 'a ", b': '1"2', c: '3;' }]);
    expect(await csv('a,b\n"1^"2",é\n', { escape: '^' })).toEqual([{ a: '1"2', b: 'é' }]);
    expect(await csv('a\n"1""2"\n', { escape: '"' })).toEqual([{ a: '1"2' }]);
  });

  test.each(['', '\\\\', '\n'])('is refused if it is %j', async (other) => {
    expect(await problem(openText('csv', 'a\n', { escape: other }))).toBe(
      `usage: --escape: expected one character, such as \\, found ${JSON.stringify(other)}`,
    );
  });
});

describe('--trim', () => {
  test('leaves out blanks around cells, before quotes are looked at', async () => {
    const text =
      '\ufeff id , "first name"\t,city \n1 , " Ann, A. "  , New York \n \t \n 2,"Bob" ,""\n3 , "say "hi" ,  \n4,"" x,"a" b \n5,"c""d" ,"e\n "';
    for (const chunkSize of [1, 2, 3, 7, 100]) {
      expect(await csv(text, { trim: true, chunkSize })).toEqual([
        { id: '1', 'first name': ' Ann, A. ', city: 'New York' },
        { id: '2', 'first name': 'Bob', city: '' },
        { id: '3', 'first name': '"say "hi"', city: '' },
        { id: '4', 'first name': '"" x', city: '"a" b' },
        { id: '5', 'first name': 'c"d', city: 'e\n ' },
      ]);
    }
  });

  test('works with tabs and semicolons as delimiters, and with --escape', async () => {
    expect(await shown(openText('tsv', 'a\tb\tc\n 1 \t\t "x" \n', { trim: true }))).toEqual([{ a: '1', b: '', c: 'x' }]);
    expect(await csv('a; b\n "1;" ; 2\n', { trim: true })).toEqual([{ a: '1;', b: '2' }]);
    expect(await csv('a, b\n "1\\"" , 2\n', { trim: true, escape: '\\' })).toEqual([{ a: '1"', b: '2' }]);
  });

  test('leaves out many blanks after a quote, wherever a chunk ends', async () => {
    const text = `a,b\n"1"${' '.repeat(40)},"2"${' '.repeat(40)}\n`;
    for (const chunkSize of [1, 5, 30]) expect(await csv(text, { trim: true, chunkSize })).toEqual([{ a: '1', b: '2' }]);
  });
});

/** The notes that a source has after all of its records. */
async function notes(text: string, options: Parameters<typeof openText>[2] = {}): Promise<string[]> {
  const source = await openText('csv', text, options);
  for await (const _ of source.read());
  return source.notes.flatMap((note) => (note.of === 'warning' ? [messageWithAdvice(note.warning)] : []));
}

describe('a note says', () => {
  const chunkSizes = [1, 3, 100_000];

  test.each([
    ['in a cell', 'id,text\n1,"a\nb"\n2,"say \\"hi\\" now"\n', 4],
    ['at the end of a cell', 'id,text\n1,"6\\"",x\n2,"7\\"",y\n', 2],
    ['in the header', 'id,"a \\"b\\" c"\n1,2\n', 1],
  ])('once that \\" is inside quotes: %s', async (_, text, line) => {
    for (const chunkSize of chunkSizes) {
      expect(await notes(text, { chunkSize })).toEqual([
        `<stdin>:${line}: cell 2 has \\" between its quotes, which ends the quotes: inside them, a quote is written ""\nif \\ stands before quotes inside quotes in this file: --escape '\\'`,
      ]);
      expect(await notes(text, { chunkSize, escape: '\\' })).toEqual([]);
    }
  });

  test('that a quote is not closed because \\" is inside quotes', async () => {
    expect(await problem(openText('csv', 'id,text\n1,"6\\""\n'))).toContain(
      "\nif \\ stands before quotes inside quotes in this file: --escape '\\'",
    );
  });

  test.each([
    ['a blank before', 'id,name\n1,x\n2, "Ann"\n', 3, 2, 'before its opening'],
    ['blanks and a delimiter', 'id,name\n1,\t "Smith, J"\n', 2, 2, 'before its opening'],
    ['a blank at the start of a line', 'id,name\n "1",x\n', 2, 1, 'before its opening'],
    ['a blank in the header', 'id, "name"\n1,2\n', 1, 2, 'before its opening'],
    ['blanks after', 'id,name\n"1"  ,x\n', 2, 1, 'after its closing'],
  ])('once that there are blanks outside quotes: %s', async (_, text, line, cell, where) => {
    for (const chunkSize of chunkSizes) {
      expect(await notes(text + text.slice(text.indexOf('\n') + 1), { chunkSize })).toEqual([
        `<stdin>:${line}: cell ${cell} has blanks ${where} quote, so its quotes and blanks are part of the text\nto leave out blanks around cells: --trim`,
      ]);
      expect(await notes(text, { chunkSize, trim: true })).toEqual([]);
    }
  });

  const swallowed = (line: number, lines: string) =>
    `<stdin>:${line}: the quoted cell that begins at line ${line} has swallowed ${lines}; is a quote missing?`;

  test.each([
    ['runs over more than 50 lines', `id,text\n1,"${'a\n'.repeat(51)}"\n`, 2, '51 lines'],
    ['contains rows', 'id,name,city\n1,x,y\n2,"Ann,Paris\n3,Bob,Rome\n4,Cy",Oslo\n', 3, '2 lines'],
    ['contains the row before it', 'name,city\nAda,"Rome\nBob,Oslo\nCy,Ulm"\n', 2, '2 lines'],
    ['contains the opening quote of another one', 'id,name,city\n1,"Ann,Paris\n2,"Bob",Rome\n', 2, '1 line'],
    ['contains rows and the opening quote of another one', 'id,name,city\n1,"Ann,Paris\r\n2,Bob,Rome\r\n3,Cy,"Oslo"\r\n', 2, '2 lines'],
    ['is the first one of its row', 'id,name\n"1,Ann\n2,Bob\n3",Cy\n', 2, '2 lines'],
  ])('once that a quoted cell %s', async (_, text, line, lines) => {
    for (const chunkSize of chunkSizes) expect(await notes(text, { chunkSize })).toEqual([swallowed(line, lines)]);
  });

  test.each([
    ['an address', 'id,name,address\n1,Ann,"1 Main St, Flat 2\nBerlin, Germany"\n2,Bob,"x\ny\nz"\n'],
    ['50 lines', `id,text\n1,"${'a\n'.repeat(50)}"\n`],
    ['lines in the first cell', 'text,id\n"a\nb\nc",2\n'],
    ['JSON in a cell', 'id,json\n1,"{""a"":""say \\""hi\\"", you""}"\n2,"""a\\"""\n'],
    ['a path in a cell', 'id,path\n1,"C:\\"\n2,"D:\\x"\n'],
    ['blanks inside quotes', 'id,name,x\n1," Ann","a, "\n2,"b , ""c""",d "e"\n'],
  ])('nothing about %s', async (_, text) => {
    for (const chunkSize of chunkSizes) expect(await notes(text, { chunkSize })).toEqual([]);
  });
});
