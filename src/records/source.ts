import type { Readable } from 'node:stream';
import { compilePath, otherSyntax, type Path } from '../core/answer/path.ts';
import type { InputHint } from '../core/error-code.ts';
import { AutomateError, invalidOption } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { type ToldDelimiter, tellDelimiter } from './delimiter.ts';
import type { FormatOption, TableForm, TextInput } from './format.ts';
import { type Format, formatNames, formatOfPath, formats, textKinds, traitsOf, usualFormat } from './formats.ts';
import { BoundedReader, type Head, readHead, textAfter } from './head.ts';
import { type Input, openInput, refuseMissing } from './input.ts';
import { beginning, inputError, longNameError, type Position, type RecordReader, type TableHeader } from './record-reader.ts';
import { tellFormat } from './stdin-format.ts';
import { checkedUtf8, encodingOf, gunzip, transcode, withoutCtrlZ } from './utf8.ts';

export interface SourceOptions extends TableForm {
  /** `-` for stdin. */
  readonly path: string;
  /** If undefined, it follows from the file name's extension. */
  readonly format?: Format;
  /** A single character, `tab` or `\t`. If undefined, it is a comma, or a tab for TSV. */
  readonly delimiter?: string;
  /** A label such as `latin1` (encoding.spec.whatwg.org); undefined for UTF-8. */
  readonly encoding?: string;
  /** Path of the list in a JSON object, such as `data.items`. Undefined if the whole JSON text is a list. */
  readonly records?: string;
  /** In a workbook; undefined for the first visible sheet. */
  readonly sheet?: string;
  /** The position to resume reading; undefined for the beginning. */
  readonly from?: Position;
  readonly stdin: NodeJS.ReadableStream;
  /** For messages. The default is `<stdin>`. */
  readonly stdinName?: string;
  /** Undefined for the default maximum. */
  readonly maxRecordBytes?: number;
}

/** `warning`: a likely mistake in the file, at a place that the text names. */
export type InputNote =
  | { readonly of: 'delimiter'; readonly name: string; readonly delimiter: string }
  | { readonly of: 'warning'; readonly warning: AutomateError };

export interface RecordSource {
  readonly format: Format;
  /** The columns of a table; undefined for a format without a header. */
  readonly header: readonly string[] | undefined;
  /** Names that were given to columns because the header has none for them. */
  readonly givenNames?: readonly string[];
  /** Without a header, the first record's fields. Undefined if there are no records. */
  readonly columns: readonly string[] | undefined;
  /** Without columns, all fields in the records read so far. Undefined if no record could be read. */
  readonly firstFields: readonly string[] | undefined;
  /** Notes for the user about the input. More can follow while it is read. */
  readonly notes: readonly InputNote[];
  /** Reads at most one chunk ahead. Called only once. Throws an AutomateError (`input`) if the rest cannot be read or has changed. */
  read(): AsyncGenerator<readonly Item[]>;
  /** Undefined for a stream. */
  readonly totalBytes: number | undefined;
  /** Returns the number of bytes that have been read so far. */
  readBytes(): number;
  /** Total size of the files before the current one. Only for an input of several files. */
  earlierBytes?(): number;
  /** Stops reading, even while the input is waiting for more bytes. */
  close(): Promise<void>;
}

/** Reads up to the first record. Throws an AutomateError (`usage`) if an option is invalid, or (`input`) if the input cannot be read. */
export async function openSource(options: SourceOptions): Promise<RecordSource> {
  const format = await formatOf(options);
  refuseUseless(options, format);
  const { headerLine, noHeader, ragged, trim } = options;
  if (headerLine !== undefined && noHeader) throw invalidOption('noHeader', 'expected a header in a given line or no header, found both');
  const records = recordsPath(options);
  if (traitsOf(format).openArchive) return openArchive(options, format);
  const encoding = encodingOf(options.encoding ?? 'utf-8');
  const delimiter = options.delimiter === undefined ? undefined : separatorOf('delimiter', options.delimiter);
  const input = await openInput(options.path, options.stdin, options.stdinName);
  const text = {
    input,
    format,
    encoding,
    delimiter,
    records,
    headerLine,
    noHeader,
    ragged,
    trim,
    ...escapeOf(options),
    maxRecordBytes: options.maxRecordBytes,
  };
  try {
    return await openText(text, options.from);
  } catch (error) {
    await input.close();
    throw error;
  }
}

async function openArchive({ path, stdin, stdinName, ...options }: SourceOptions, format: Format): Promise<RecordSource> {
  const input = await openInput(path, stdin, stdinName);
  const opened = await traitsOf(format).openArchive?.(input, options);
  if (!opened) throw new Error(`no archive: ${format.kind}`);
  return { ...opened, format, header: opened.columns, firstFields: opened.columns, notes: [] };
}

const expectedFor: Readonly<Record<FormatOption, string>> = {
  sheet: 'expected an Excel workbook (.xlsx)',
  delimiter: 'expected CSV or TSV',
  records: 'expected JSON',
  encoding: 'expected a text file',
  headerLine: 'expected CSV, TSV or an Excel workbook',
  noHeader: 'expected CSV, TSV or an Excel workbook',
  ragged: 'expected CSV or TSV',
  escape: 'expected CSV or TSV',
  trim: 'expected CSV or TSV',
};

/** Throws an AutomateError (`usage`) if an option is set that does not apply to the format. */
function refuseUseless(options: SourceOptions, format: Format): void {
  const { takes } = traitsOf(format);
  for (const [option, expected] of Object.entries(expectedFor) as [FormatOption, string][]) {
    const found = option === 'encoding' ? 'an Excel workbook, which states its own encoding' : format.kind;
    if (options[option] && !takes.includes(option)) throw invalidOption(option, `${expected}, found ${found}`);
  }
}

interface InputText extends TableForm {
  readonly input: Input;
  readonly format: Format;
  readonly encoding: string;
  /** Undefined to recognize it in CSV. */
  readonly delimiter: string | undefined;
  /** Lead to the list of records in a JSON object; empty if the object's values are the records; undefined if the whole text is a list. */
  readonly records: readonly string[] | undefined;
  readonly maxRecordBytes: number | undefined;
}

async function openText(text: InputText, from: Position | undefined): Promise<RecordSource> {
  const { input, format } = text;
  const isResumed = from !== undefined && from.offset > 0;
  const { delimiter, isRecognized, doubted, chunks, skipped } = await separated(text);
  const start = skipped === 0 ? beginning : { offset: skipped, line: 1, records: 0 };
  const notes: InputNote[] = isRecognized ? [{ of: 'delimiter', name: input.name, delimiter }] : [];
  if (doubted !== undefined) notes.push({ of: 'warning', warning: doubtfulDelimiter(text, doubted) });
  const warn = (line: number, message: string, hint?: InputHint) =>
    notes.push({ of: 'warning', warning: inputError(input.name, message, { line, hint }) });
  const createReader = await readerOf({ ...text, delimiter, warn });
  const head = await readHead(createReader(start), chunks, isResumed && !canSeek(text));
  const header = head.reader.header?.();
  const rest = isResumed ? await resumeAt(text, head, createReader(from, header), { ...from, before: start.offset }) : head;
  const columns = header?.columns.map(({ name }) => name);
  const other = delimiterInName(text, columns);
  if (other !== undefined) notes.push({ of: 'warning', warning: doubtfulDelimiter(text, other) });
  const names = allNames(head);
  const long = longNameError(names ?? [], input.name);
  if (long) throw long;
  let isClosed = false;
  return {
    format,
    header: traitsOf(format).hasHeader ? (columns ?? []) : undefined,
    columns: columns ?? firstNames(head.items),
    givenNames: header?.given,
    firstFields: columns ?? names,
    read,
    notes,
    totalBytes: input.totalBytes,
    readBytes: input.readBytes,
    async close() {
      isClosed = true;
      await input.close();
    },
  };

  async function* read(): AsyncGenerator<readonly Item[]> {
    try {
      yield* readItems(rest);
    } catch (error) {
      if (!isClosed) throw error;
    } finally {
      // A change of the file is also the most likely reason for an error while it is read.
      if (!isClosed) input.refuseChange();
    }
  }
}

/** For a file with the name of a TSV, whose only column seems to be a whole row of a CSV. In a CSV, delimiters are recognized earlier. */
function delimiterInName({ format, delimiter }: InputText, columns: readonly string[] = []): string | undefined {
  if (delimiter !== undefined || columns.length !== 1 || traitsOf(format).hasOtherDelimiters) return undefined;
  return /[,;|]/.exec(columns[0] as string)?.[0];
}

function doubtfulDelimiter({ input, format, headerLine = 1 }: InputText, delimiter: string): AutomateError {
  const name = delimiter === '\t' ? 'a tab' : `"${delimiter}"`;
  const read = traitsOf(format).delimiter === '\t' ? 'tabs' : 'commas';
  const message = `${input.name}:${headerLine}: ${read} separate the cells, although the header contains ${name}`;
  return new AutomateError('input', message, { code: 'other-delimiter', details: { delimiter } });
}

/** Only the delimiter of CSV is recognized. */
async function separated(text: InputText): Promise<ToldDelimiter> {
  const chunks = readText(text, 0);
  const traits = traitsOf(text.format);
  const { delimiter = traits.delimiter ?? ',' } = text;
  if (traits.hasOtherDelimiters) return tellDelimiter(chunks, text);
  return { delimiter, isRecognized: false, chunks, skipped: 0 };
}

async function* readItems({ reader, items, chunks, isEnded }: Head): AsyncGenerator<readonly Item[]> {
  if (items.length > 0) yield items.splice(0);
  if (isEnded) return;
  throwFault(reader);
  for await (const chunk of chunks) {
    const more = await reader.write(chunk);
    if (more.length > 0) yield more;
    throwFault(reader);
  }
  const last = await reader.end();
  if (last.length > 0) yield last;
}

/** Throws a reader's error after its records at once, because the next chunk of a pipe may never arrive. */
function throwFault(reader: RecordReader): void {
  const fault = reader.fault?.();
  if (fault) throw fault;
}

/** `before`: bytes of text that the head lacks. */
async function resumeAt(
  text: InputText,
  head: Head,
  reader: RecordReader,
  { offset, before }: Position & { readonly before: number },
): Promise<Head> {
  if (!canSeek(text)) return { reader, items: [], chunks: textAfter(offset - before, head), isEnded: false };
  await head.chunks.return(undefined);
  return { reader, items: [], chunks: readText(text, offset), isEnded: false };
}

/** Requires that offsets in the text are also offsets in the file. */
function canSeek({ input, format, encoding }: InputText): boolean {
  return input.isSeekable && encoding === 'utf-8' && !format.gzip;
}

function readText({ input, format, encoding }: InputText, start: number): AsyncGenerator<Buffer> {
  const bytes = input.bytes(start);
  const unzipped = format.gzip ? gunzip(bytes, input.name) : bytes;
  return withoutCtrlZ(encoding === 'utf-8' ? checkedUtf8(unzipped, input.name, start) : transcode(unzipped, encoding, input.name));
}

async function readerOf({ input, format, maxRecordBytes: max, ...text }: InputText & Pick<TextInput, 'delimiter' | 'warn'>) {
  const create = await traitsOf(format).text?.reader({ name: input.name, ...text });
  if (!create) throw new Error(`no text: ${format.kind}`);
  return (from: Position, header?: TableHeader): RecordReader => {
    const reader = create(from, header);
    return max === undefined ? reader : new BoundedReader(reader, { name: input.name, max, from });
  };
}

/** Detected from stdin's first bytes. Gzip in stdin is detected even if an option specifies the format. */
async function formatOf(options: SourceOptions): Promise<Format> {
  const { path, format, stdin, encoding, records } = options;
  if (path !== '-') return inputFormatOf(options);
  const told = await tellFormat(stdin as Readable, { encoding, kind: format?.kind, isWrapped: records !== undefined });
  const { kind, gzip } = told ?? usualFormat;
  return { kind, gzip: gzip || (format?.gzip ?? false) };
}

/** From the options or the extension. Throws an AutomateError: `usage` for an unknown extension, `input` if the file does not exist. */
export function inputFormatOf({ path, format }: Pick<SourceOptions, 'path' | 'format'>): Format {
  const found = format ?? formatOfPath(path);
  if (found !== undefined) return found;
  if (path !== '-') refuseMissing(path);
  throw unknownFormat(path, 'in');
}

/** For a file whose extension does not belong to a format. */
export function unknownFormat(path: string, of: 'in' | 'out'): AutomateError {
  const extensions = textKinds.flatMap((kind) => formats[kind].names).map((name) => `.${name}`);
  const old = of === 'in' && /\.(?:xls[bm]?|ods)$/i.test(path) ? '\nopen the workbook in Excel or LibreOffice and save it as .xlsx' : '';
  const message = `${path}: expected a file name that ends in ${extensions.join(', ')}, one of these with .gz, or .xlsx${old}`;
  return new AutomateError('usage', message, { code: 'unknown-format', details: { of, formats: formatNames } });
}

/** The character that the text of an option means. Throws an AutomateError (`usage`) if it cannot separate cells. */
export function separatorOf(option: 'delimiter' | 'outDelimiter', text: string): string {
  if (text === 'tab' || text === '\\t') return '\t';
  if ([...text].length === 1 && !'"\r\n\0'.includes(text)) return text;
  throw invalidOption(option, `expected one character or "tab", found ${JSON.stringify(text)}`);
}

/** A quote before a quote is the usual form. Throws an AutomateError (`usage`) if the text cannot stand before a quote. */
function escapeOf({ escape: written }: SourceOptions): Pick<SourceOptions, 'escape'> {
  if (written === undefined || written === '"') return {};
  if ([...written].length === 1 && !'\r\n\0'.includes(written)) return { escape: written };
  throw invalidOption('escape', `expected one character, such as \\, found ${JSON.stringify(written)}`);
}

/** Empty for `[]`. Throws an AutomateError (`usage`) if the path contains anything other than field names. */
function recordsPath({ records }: SourceOptions): readonly string[] | undefined {
  if (records === undefined) return undefined;
  if (records === '[]') return [];
  const { root, legs } = compiledPath(records);
  const [names = [], ...more] = legs;
  const isOfNames = root === 'body' && names.length > 0 && more.length === 0 && names.every((name) => typeof name === 'string');
  if (!isOfNames) throw otherPath(records);
  return names as readonly string[];
}

function compiledPath(text: string): Path {
  try {
    return compilePath(text);
  } catch (error) {
    // A path that begins with $ names parts of an answer, which a file has not.
    if (text.startsWith('$')) throw otherPath(text);
    throw invalidOption('records', (error as Error).message, error);
  }
}

function otherPath(text: string): AutomateError {
  const [name] = /^\$\w+/.exec(text) ?? [];
  const wayOut = otherSyntax(text) ?? (name && `for a member with that name, write ["${name}"]`);
  return invalidOption('records', `expected the path of the list, such as data.items, found "${text}"${wayOut ? `; ${wayOut}` : ''}`);
}

function firstNames(items: readonly Item[]): string[] | undefined {
  const [first] = items;
  return first && [...(items.find((item) => !item.failure) ?? first).fields.keys()];
}

function allNames({ items, reader, isEnded }: Head): string[] | undefined {
  const read = items.filter((item) => !item.failure);
  const open = isEnded ? [] : (reader.openFields?.() ?? []);
  return read.length === 0 ? undefined : [...new Set([...read.flatMap(({ fields }) => [...fields.keys()]), ...open])];
}
