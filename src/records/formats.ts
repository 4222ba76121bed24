import { cellsOf, createCsvWriter, tableRows } from './csv-writer.ts';
import type { RecordFormat, RecordWriter, WriterOptions } from './format.ts';
import { jsonRows, jsonWriter, ndjsonRows, ndjsonWriter } from './json/json-writer.ts';
import { createXlsxWriter } from './xlsx/xlsx-writer.ts';

/** All formats of records. A new one is an entry here, with files for its reader and writer. */
export const formats = {
  csv: separated({ names: ['csv'], mediaTypes: ['text/csv'], delimiter: ',', hasOtherDelimiters: true }),
  tsv: separated({ names: ['tsv'], mediaTypes: ['text/tab-separated-values'], delimiter: '\t' }),
  json: {
    names: ['json'],
    mediaTypes: ['application/json'],
    hasHeader: false,
    takes: ['encoding', 'records'],
    isBegunBy: (characters) => characters.startsWith('['),
    text: {
      async reader({ name, records }) {
        const { JsonReader } = await import('./json/json-reader.ts');
        return (from) => new JsonReader(name, from, records);
      },
      rows: jsonRows,
      columns: () => undefined,
    },
    writer: () => jsonWriter,
  },
  ndjson: {
    names: ['ndjson', 'jsonl'],
    mediaTypes: ['application/x-ndjson', 'application/jsonl'],
    hasHeader: false,
    takes: ['encoding'],
    isBegunBy: (characters) => characters.startsWith('{'),
    text: {
      async reader({ name }) {
        const { NdjsonReader } = await import('./json/ndjson-reader.ts');
        return (from) => new NdjsonReader(name, from);
      },
      rows: ndjsonRows,
      columns: () => undefined,
    },
    writer: () => ndjsonWriter,
  },
  xlsx: {
    names: ['xlsx'],
    mediaTypes: ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    hasHeader: true,
    takes: ['sheet', 'headerLine', 'noHeader'],
    // A zip archive that is not empty.
    firstBytes: 'PK\x03\x04',
    openArchive: async (input, options) => (await import('./xlsx/xlsx-source.ts')).openXlsx(input, options),
    writer: (columns, { hasTextCells = false }) => createXlsxWriter(columns, hasTextCells),
  },
} as const satisfies Readonly<Record<string, RecordFormat>>;

type Separated = Pick<RecordFormat, 'names' | 'mediaTypes' | 'hasOtherDelimiters'> & { readonly delimiter: string };

/** CSV and TSV. Text that begins like no other format is CSV. */
function separated({ delimiter, ...named }: Separated) {
  return {
    ...named,
    hasHeader: true,
    delimiter,
    takes: ['delimiter', 'encoding', 'headerLine', 'noHeader', 'ragged', 'escape', 'trim'],
    text: {
      async reader(input) {
        const { CsvReader } = await import('./csv-reader.ts');
        return (from, header) => new CsvReader(input, from, header);
      },
      rows: (text, columns) => tableRows(cellsOf(text, delimiter), columns),
      columns: (header) => cellsOf(header.replace(/^\ufeff/, ''), delimiter)[0],
    },
    writer: (columns, { csvSafe = false, bom = false }) => createCsvWriter(columns, { delimiter, csvSafe, bom }),
  } as const satisfies RecordFormat;
}

export type FormatName = keyof typeof formats;

export const formatKinds = Object.keys(formats) as FormatName[];

/** A format in the form in which files and messages have it. */
export interface Format {
  readonly kind: FormatName;
  readonly gzip: boolean;
  /** Of CSV or TSV, if it is not the usual one. */
  readonly delimiter?: string;
  /** CSV or TSV begins with a byte order mark. */
  readonly bom?: true;
}

export function traitsOf({ kind, delimiter }: Pick<Format, 'kind' | 'delimiter'>): RecordFormat {
  const traits: RecordFormat = formats[kind];
  return delimiter === undefined || traits.delimiter === undefined ? traits : separated({ ...traits, delimiter });
}

/** The format if nothing tells another. */
export const usualFormat: Format = { kind: 'csv', gzip: false };

/** For a file to which rows can be appended: CSV in place of an archive. */
export function appendable(format: Format): Format {
  return traitsOf(format).text ? format : usualFormat;
}

type TextName = { [Name in FormatName]: (typeof formats)[Name] extends { readonly text: object } ? Name : never }[FormatName];

export const textKinds = formatKinds.filter((kind): kind is TextName => traitsOf({ kind }).text !== undefined);

/** `columns` is undefined if there are no records. */
export function createWriter(format: Format, columns: readonly string[] = [], options: WriterOptions = {}): RecordWriter {
  return traitsOf(format).writer(columns, { bom: format.bom, ...options });
}

/** Each may be followed by `.gz` if the format is text. */
export const formatNames: readonly string[] = formatKinds.flatMap((kind) => formats[kind].names);

/** Accepts names such as `csv` or `ndjson.gz`. */
export function formatOfName(name: string): Format | undefined {
  const [, base = '', gz] = /^(.*?)(\.gz)?$/is.exec(name) ?? [];
  const kind = formatKinds.find((kind) => (formats[kind].names as readonly string[]).includes(base.toLowerCase()));
  if (kind === undefined || (gz !== undefined && !traitsOf({ kind }).text)) return undefined;
  return { kind, gzip: gz !== undefined };
}

export function formatOfPath(path: string): Format | undefined {
  const extension = writtenExtension(path);
  return extension === undefined ? undefined : formatOfName(extension);
}

/** For example `.ndjson.gz`. Keeps another extension of `path` for the same format, such as `.jsonl` for NDJSON. */
export function extensionOf({ kind, gzip }: Format, path: string): string {
  const ofPath = formatOfPath(path);
  if (ofPath?.kind === kind && ofPath.gzip === gzip) return `.${writtenExtension(path)}`;
  return `.${kind}${gzip ? '.gz' : ''}`;
}

function writtenExtension(path: string): string | undefined {
  return /\.([^./\\]+(?:\.gz)?)$/i.exec(path)?.[1];
}
