import { Readable } from 'node:stream';
import { invalidOption } from '../../core/failure.ts';
import { type Format, formatNames, formatOfName, formatOfPath } from '../../io/records/format.ts';
import type { Position } from '../../io/records/readers/record-reader.ts';
import { inputFormatOf, openSource, type Source } from '../../io/records/readers/source.ts';
import { tellFormat } from '../../io/records/readers/stdin-format.ts';
import { openJoined } from './joined-input.ts';

/** The options of an input. */
export interface InputOptions {
  /** A file, or `-` for stdin. */
  readonly in: string;
  /** Further files with the same columns, which are read after it; absent for a single input. */
  readonly moreIn?: readonly string[];
  readonly inFormat?: string;
  readonly delimiter?: string;
  readonly encoding?: string;
  /** The path of the list of records in a JSON object. */
  readonly records?: string;
  /** The name of a sheet of a workbook. */
  readonly sheet?: string;
  /** True for one record without fields, and no input. */
  readonly noInput?: boolean;
  /** Maximum size of a record; absent for that of the readers. */
  readonly maxRecordBytes?: number;
}

/** The paths of the inputs, in their order. */
export function inputPaths({ in: input, moreIn = [] }: Pick<InputOptions, 'in' | 'moreIn'>): readonly string[] {
  return [input, ...moreIn];
}

/** The names of the inputs in messages. */
export function inputLabel(options: Pick<InputOptions, 'in' | 'moreIn' | 'noInput'>): string {
  if (options.noInput) return 'none';
  return options.in === '-' ? 'stdin' : inputPaths(options).join(', ');
}

/**
 * The options with the format that stdin tells, unless one is named. `found`: receives the format.
 * The problems of a flow must not wait for stdin: they are reported before.
 */
export async function withToldFormat<Options extends InputOptions>(options: Options, found?: (format: string) => void): Promise<Options> {
  if (options.in !== '-' || options.noInput || options.inFormat !== undefined) return options;
  const { kind, gzip } = await tellFormat(process.stdin, { encoding: options.encoding, isWrapped: options.records !== undefined });
  const inFormat = `${kind}${gzip ? '.gz' : ''}`;
  found?.(inFormat);
  return { ...options, inFormat };
}

/** The format of a name such as `csv`. `option`: the option that names it. Throws an AutomateError (`usage`) for any other name. */
export function namedFormat(option: 'inFormat' | 'outFormat', name: string | undefined): Format | undefined {
  if (name === undefined) return undefined;
  const format = formatOfName(name);
  if (!format) throw invalidOption(option, `expected ${formatNames.join(', ')}, found "${name}"`);
  return format;
}

/** The format of a file, or the one found in stdin. Throws an AutomateError (`usage`) if neither its name nor an option gives it. */
export function inputFormat(options: InputOptions): Format {
  return inputFormatOf({ path: options.in, format: namedFormat('inFormat', options.inFormat) });
}

/** Opens the inputs at their beginning, or after the records that are done. */
export function openInput(options: InputOptions, from?: Position): Promise<Source> {
  if (!options.moreIn) return openOne(options, from);
  return openJoined(inputPaths(options), (path, start) => openOne({ ...options, in: path }, start), from);
}

function openOne(options: InputOptions, from: Position | undefined): Promise<Source> {
  const format = namedFormat('inFormat', options.inFormat);
  return openSource({
    path: options.in,
    stdin: options.noInput ? Readable.from([Buffer.from('{}\n')]) : process.stdin,
    ...(format ? { format } : {}),
    ...(options.delimiter === undefined ? {} : { delimiter: options.delimiter }),
    ...(options.encoding === undefined ? {} : { encoding: options.encoding }),
    ...(options.records === undefined ? {} : { records: options.records }),
    ...(options.sheet === undefined ? {} : { sheet: options.sheet }),
    maxRecordBytes: options.maxRecordBytes,
    ...(from && from.offset > 0 ? { from } : {}),
  });
}

/** True if all fields of an input are texts. False without a known format: opening it reports that. */
export function hasTextCells(options: Pick<InputOptions, 'inFormat'> & { readonly in?: string }): boolean {
  const format = options.inFormat === undefined ? formatOfPath(options.in ?? '') : formatOfName(options.inFormat);
  return format !== undefined && isTable(format);
}

/** True for a format with a header row. */
export function isTable({ kind }: Format): boolean {
  return kind === 'csv' || kind === 'tsv' || kind === 'xlsx';
}

/** The fields that an input's records have. */
export interface InputFields {
  /** The columns; absent for JSON, in which each record may have other fields. */
  readonly columns?: readonly string[];
  /** All fields of the first records of JSON; absent for a table, and without a record. */
  readonly firstFields?: readonly string[] | undefined;
  readonly error?: unknown;
}

/** The columns of an input. An error of the input is returned, so that the problems of a flow are reported first. */
export async function columnsOf(options: InputOptions): Promise<InputFields> {
  try {
    const source = await openInput(options);
    await source.close();
    return isTable(source.format) ? { columns: source.columns ?? [] } : { firstFields: source.firstFields };
  } catch (error) {
    return { error };
  }
}
