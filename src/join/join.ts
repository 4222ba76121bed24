import * as z from 'zod';
import { detailsOf } from '../core/error-code.ts';
import { AutomateError, Failure } from '../core/failure.ts';
import { type BuildContext, defineNode, type Node } from '../core/node.ts';
import { charset, fieldName } from '../core/options/names.ts';
import { copyOf, type Fields, withNulls } from '../core/record.ts';
import { didYouMean, listedNames } from '../core/text/suggest.ts';
import { describedAs, dictionary } from '../core/value/dictionary.ts';
import { parseJson } from '../core/value/json.ts';
import { membersOf, textOf, type Value, type ValuePath } from '../core/value/value.ts';
import { JoinedRows, readJoinedHead } from './joined-file.ts';
import type { Rows } from './rows.ts';

const column = z.string().min(1, 'expected the name of a column, found an empty string');

const member = z.strictObject({
  column: column.describe('the column of the file'),
  replace: z.boolean().optional().describe('if true, the field may replace a column of the input; otherwise a warning says so'),
});

const pairs = dictionary(fieldName, column, 'expected a mapping of fields to columns, such as id: customer');

const joinOptions = z.strictObject({
  file: z
    .string()
    .min(1)
    .describe('the file with the columns to add: CSV, TSV, JSON, NDJSON or Excel, also with .gz; its path is relative to the flow'),
  encoding: charset.optional().describe('encoding of the file, such as windows-1252 (default: utf-8)'),
  delimiter: z
    .string()
    .optional()
    .describe('delimiter of a CSV file (default: a comma, or else the semicolon, tab or | of the header; a tab for TSV)'),
  header_line: z
    .int()
    .min(1)
    .optional()
    .describe('line of the header in a CSV file, or row in an Excel file (default: the first that is not empty)'),
  records: z.string().optional().describe('path of the list of records in a JSON file, such as data.items (default: the whole file)'),
  sheet: z.string().optional().describe('sheet of an Excel file (default: the first one)'),
  on: describedAs(
    pairs.refine((written) => Object.keys(written).length > 0, {
      error: 'expected at least one field and its column, such as id: customer',
    }),
    z.record(fieldName, column),
  ).describe('what must be equal: a mapping of fields of the record to columns of the file; an empty value matches nothing'),
  ignore: z
    .array(z.enum(['case', 'accents'], { error: 'expected case or accents' }))
    .default([])
    .describe('what does not count in a comparison: case, accents, or both'),
  map: z
    .union(
      [
        z.array(column),
        dictionary(fieldName, z.union([column, member], { error: 'expected a column, or { column: NAME, replace: true }' })),
      ],
      {
        error: 'expected a list of columns, or a mapping of field names to columns',
      },
    )
    .describe('the columns to add: a list, or a mapping of field names to columns'),
  many: z
    .enum(['error', 'first', 'all'])
    .default('error')
    .describe('if several rows match: error lets the record fail, first takes the first one, all gives one record for each'),
  missing: z
    .enum(['keep', 'error', 'drop'])
    .default('keep')
    .describe('if no row matches: keep gives empty fields, error lets the record fail, drop leaves the record out'),
});

export const join = defineNode({
  name: 'join',
  summary: 'Join: adds columns from a second file',
  example: `- type: join
  file: owners.csv
  on: { domain: website }
  map: { owner: owner_name, team: team }`,
  options: joinOptions,
  build: buildJoin,
});

type Options = z.output<typeof joinOptions>;

/** A field, the column that fills it, and the place of the column's name in the flow. */
interface Filled {
  readonly field: string;
  readonly column: string;
  readonly replaces: boolean;
  readonly at: ValuePath;
  /** The place of the column's name, if the column is a member of the mapping. */
  readonly columnAt: ValuePath;
}

function buildJoin(options: Options, context: BuildContext): Node | undefined {
  const filled = filledBy(options.map);
  const keys = membersOf(options.on);
  const wanted = [...keys.map(([, name]) => name), ...filled.map(({ column }) => column)];
  const file = openedHead(options, wanted, context);
  if (!file) return undefined;
  const joined = new JoinedRows(
    {
      name: options.file,
      reading: file.reading,
      keyFields: keys.map(([field]) => field),
      keyColumns: keys.map(([, name]) => name),
      ignore: new Set(options.ignore),
      fields: filled.map(({ field }) => field),
      columns: filled.map(({ column }) => column),
      most: mostRows[options.many],
    },
    file.shared,
  );
  const fields = filled.map(({ field }) => field);
  const lookUp = lookUpIn(joined, options, fields);
  return {
    reads: keys.map(([field]) => ({ field, at: ['on', field], isName: true })),
    columns: (before) => [...new Set([...before, ...fields])],
    mapped: filled.flatMap(({ field, column, replaces, at }) =>
      replaces ? [] : [{ field, member: { path: column }, file: options.file, at }],
    ),
    typedFields: file.textCells ? [] : fields,
    filters: options.missing === 'drop',
    joined,
    rowsAtOnce: (record) => lookUp(record, joined.ready as Rows).rows,
    async run(record, run) {
      const { rows, found, failure } = lookUpOrFail(record, joined.ready ?? (await rowsNow(joined)));
      run.report({ type: 'joined', found });
      if (failure) throw failure;
      return rows;
    },
  };

  /** A record that several rows match was found, although it fails. */
  function lookUpOrFail(record: Fields, rows: Rows) {
    try {
      return { ...lookUp(record, rows), failure: undefined };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { rows: [], found: error instanceof SeveralRows, failure: error };
    }
  }
}

/** For a record outside a run, which no earlier reading of the file has stopped. */
async function rowsNow(joined: JoinedRows): Promise<Rows> {
  try {
    return await joined.current();
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    throw new Failure('mapping', error.message.replaceAll(joined.path, joined.name), { sent: false });
  }
}

function filledBy(map: Options['map']): Filled[] {
  if (Array.isArray(map)) {
    return map.map((column, index) => ({ field: column, column, replaces: false, at: ['map', index], columnAt: ['map', index] }));
  }
  return membersOf(map).map(([field, written]) => {
    const { column, replace = false } = typeof written === 'string' ? { column: written } : written;
    const at = ['map', field];
    return { field, column, replaces: replace, at, columnAt: typeof written === 'string' ? at : [...at, 'column'] };
  });
}

/** Checks the file's columns. Undefined if a problem was reported. */
function openedHead(
  { file: name, encoding, delimiter, header_line: headerLine, records, sheet, on, map }: Options,
  wanted: readonly string[],
  context: BuildContext,
) {
  const key = JSON.stringify(['join', name, encoding, delimiter, headerLine, records, sheet, wanted]);
  const reading = (path: string) => ({ path, encoding, delimiter, headerLine, records, sheet });
  const { sharedRows: shared } = context;
  if (shared === 'none') {
    context.problem(['file'], `the rows of ${name} were not sent with the flow`);
    return undefined;
  }
  const { path, head } = context.readBeside(name, key, async (path) => ({ path, head: await readJoinedHead(reading(path), wanted) }));
  if ('error' in head) {
    const { option = '' } = detailsOf(head.error, 'invalid-option') ?? {};
    context.problem([optionNames[option] ?? 'file'], head.error.message.replaceAll(path, name));
    return undefined;
  }
  const { columns } = head;
  const places = [
    ...membersOf(on).map(([field, column]) => ({ column, at: ['on', field] })),
    ...filledBy(map).map(({ column, columnAt: at }) => ({ column, at })),
  ];
  const missing = places.filter(({ column }) => columns && !columns.includes(column));
  for (const { column, at } of missing) {
    const known = columns as readonly string[];
    context.problem(at, `${name} has no column "${column}"${didYouMean(column, known) || `; it has ${listedNames(known)}`}`);
  }
  return missing.length > 0 ? undefined : { reading: reading(path), shared, textCells: head.textCells };
}

const optionNames: Readonly<Record<string, string>> = {
  encoding: 'encoding',
  delimiter: 'delimiter',
  headerLine: 'header_line',
  records: 'records',
  sheet: 'sheet',
};

const mostRows = { error: 2, first: 1, all: Number.POSITIVE_INFINITY };

class SeveralRows extends Failure {}

function lookUpIn(joined: JoinedRows, { file, on, many, missing }: Options, fields: readonly string[]) {
  const columns = membersOf(on);
  return (record: Fields, rows: Rows): { readonly rows: readonly Fields[]; readonly found: boolean } => {
    const key = joined.keyOf(record);
    const found = key === undefined ? [] : rows.find(key, mostRows[many]);
    if (found.length === 0) {
      if (missing === 'error') throw new Failure('mapping', nothingFound(record, key), { sent: false });
      return { rows: missing === 'drop' ? [] : [withNulls(record, fields)], found: false };
    }
    if (many === 'error' && found.length > 1)
      throw new SeveralRows('mapping', `${file} has several rows with ${sought(record)} (many: error)`, { sent: false });
    return { rows: found.map((row) => withRow(record, row)), found: true };
  };

  function withRow(record: Fields, row: string): Fields {
    const values = parseJson(row) as Value[];
    const result = copyOf(record);
    for (let at = 0; at < fields.length; at++) result.set(fields[at] as string, values[at] as Value);
    return result;
  }

  function nothingFound(record: Fields, key: string | undefined): string {
    if (key !== undefined) return `${file} has no row with ${sought(record)}`;
    const empty = columns.flatMap(([field]) => (textOf(record.get(field) ?? null) === '' ? [`"${field}"`] : []));
    return `${empty.join(' and ')} ${empty.length === 1 ? 'is' : 'are'} empty, so no row of ${file} can match`;
  }

  function sought(record: Fields): string {
    return columns.map(([field, column]) => `${column} ${JSON.stringify(textOf(record.get(field) ?? null))}`).join(' and ');
  }
}
