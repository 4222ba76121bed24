import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { AutomateError, Failure, FlowError, invalidOption } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { type Plan, usesFiles } from '../core/plan.ts';
import type { InputOptions } from '../core/run-options.ts';
import { isInHome } from '../files/home.ts';
import { statOf } from '../files/stat.ts';
import { type Format, formatNames, formatOfName, formatOfPath, traitsOf } from './formats.ts';
import { openJoined } from './joined-input.ts';
import { inputError, type Position } from './record-reader.ts';
import { type InputNote, inputFormatOf, openSource, type RecordSource } from './source.ts';
import { tellFormat } from './stdin-format.ts';

export function inputPaths({ in: input, moreIn = [] }: Pick<InputOptions, 'in' | 'moreIn'>): readonly string[] {
  return [input, ...moreIn];
}

export function inputLabel(options: Pick<InputOptions, 'in' | 'moreIn' | 'noInput'>): string {
  if (options.noInput) return 'none';
  return options.in === '-' ? 'stdin' : inputPaths(options).join(', ');
}

/** Adds stdin's format unless set. Call this after checking the flow: it waits for stdin, and the flow's problems come first. */
export async function withToldFormat<Options extends InputOptions>(options: Options, found?: (format: string) => void): Promise<Options> {
  if (options.in !== '-' || options.noInput || options.inFormat !== undefined) return options;
  const told = await tellFormat(process.stdin, { encoding: options.encoding, isWrapped: options.records !== undefined });
  if (!told) throw inputError('<stdin>', 'expected records, found nothing', { hint: 'other-input' });
  const { kind, gzip } = told;
  const inFormat = `${kind}${gzip ? '.gz' : ''}`;
  found?.(inFormat);
  return { ...options, inFormat };
}

/** `option` contained the name. Throws an AutomateError (`usage`) if it is unknown. */
export function namedFormat(option: 'inFormat' | 'outFormat', name: string | undefined): Format | undefined {
  if (name === undefined) return undefined;
  const format = formatOfName(name);
  if (!format) throw invalidOption(option, `expected ${formatNames.join(', ')}, found "${name}"`);
  return format;
}

/** From the options or the file name. Throws an AutomateError (`usage`) if that is not possible. */
export function inputFormat(options: InputOptions): Format {
  return inputFormatOf({ path: options.in, format: namedFormat('inFormat', options.inFormat) });
}

/** With `from`, reading begins after the records that are already finished. */
export function openInput(options: InputOptions, from?: Position): Promise<RecordSource> {
  if (!options.moreIn) return openOne(options, from);
  return openJoined(inputPaths(options), (path, start) => openOne({ ...options, in: path }, start), {
    from,
    headerLine: options.headerLine,
  });
}

/** Opens the input of a flow, whose records have the names that the flow gives to columns. Throws a FlowError if the header does not fit. */
export async function openFlowInput(plan: Plan, flow: string, options: InputOptions, from?: Position): Promise<RecordSource> {
  return withFlowNames(await openInput(options, from), plan, flow);
}

/** Throws a FlowError, and closes the source, if a table's header does not fit the names that the flow gives to columns. */
export async function withFlowNames(source: RecordSource, plan: Plan, flow: string): Promise<RecordSource> {
  const { names } = plan;
  if (names.isEmpty) return source;
  const { header, columns, firstFields } = source;
  const problems = header ? plan.headerProblems(header) : [];
  if (problems.length > 0) {
    await source.close();
    throw new FlowError(flow, problems);
  }
  const renamed = (item: Item): Item => {
    const twice = header ? undefined : names.twiceIn(item.fields);
    if (twice !== undefined && !item.failure) return { ...item, failure: new Failure('input', twice, { sent: false }) };
    return { ...item, fields: names.fieldsInFlow(item.fields) };
  };
  return {
    ...source,
    header: header && names.allInFlow(header),
    columns: columns && names.allInFlow(columns),
    firstFields: firstFields && names.allInFlow(firstFields),
    async *read() {
      for await (const items of source.read()) yield items.map(renamed);
    },
  };
}

function openOne(options: InputOptions, from: Position | undefined): Promise<RecordSource> {
  const format = namedFormat('inFormat', options.inFormat);
  return openSource({
    path: options.in,
    stdin: options.noInput ? Readable.from([Buffer.from('{}\n')]) : process.stdin,
    format,
    delimiter: options.delimiter,
    encoding: options.encoding,
    records: options.records,
    sheet: options.sheet,
    headerLine: options.headerLine,
    noHeader: options.noHeader,
    ragged: options.ragged,
    escape: options.escape,
    trim: options.trim,
    maxRecordBytes: options.maxRecordBytes,
    from: from && from.offset > 0 ? from : undefined,
  });
}

/** True if all fields are strings, as in CSV. False for an unknown format, which is reported when the input is opened. */
export function hasTextCells(options: Pick<InputOptions, 'inFormat'> & { readonly in?: string }): boolean {
  const format = options.inFormat === undefined ? formatOfPath(options.in ?? '') : formatOfName(options.inFormat);
  return format !== undefined && traitsOf(format).hasHeader;
}

export interface InputFields {
  /** Undefined for JSON, because each record can have different fields. */
  readonly columns?: readonly string[];
  /** Fields of the first records of a JSON input. Undefined for a table, and for an input without records. */
  readonly firstFields?: readonly string[];
  readonly error?: unknown;
  readonly notes?: readonly InputNote[];
}

/** Returns the input's error instead of throwing it, so that the flow's problems can be reported first. */
export async function columnsOf(options: InputOptions): Promise<InputFields> {
  try {
    const source = await openInput(options);
    await source.close();
    const { header, firstFields, notes } = source;
    return header ? { columns: header, notes } : { firstFields, notes };
  } catch (error) {
    return { error };
  }
}

/** Tells the notes about a source that come while its records are read. */
export function tellingNotes(source: RecordSource, tell: (note: InputNote) => void): RecordSource {
  const { notes } = source;
  let told = notes.length;
  const tellNew = () => {
    for (; told < notes.length; told++) tell(notes[told] as InputNote);
  };
  async function* read() {
    for await (const items of source.read()) {
      tellNew();
      yield items;
    }
    tellNew();
  }
  return { ...source, read };
}

interface FilesOptions {
  /** `-` or undefined if the input is not a file. */
  readonly in?: string;
  readonly files?: string;
}

/** For files that records send and save: the folder in the options, or else the input file's. Undefined without either, as for stdin. */
export function filesFolder({ in: input = '-', files }: FilesOptions): string | undefined {
  return files ?? (input === '-' ? undefined : dirname(input));
}

/** Throws an AutomateError (`usage`) if `files` is not the path of a folder, or is in automate's home folder. */
export function refuseNoFolder(files: string | undefined): void {
  if (files === undefined) return;
  if (!statOf(files)?.isDirectory()) throw invalidOption('files', `expected a folder, found ${files}`);
  if (isInHome(join(files, 'any'), process.env))
    throw invalidOption('files', `expected a folder outside automate's home folder, found ${files}`);
}

/** Throws an AutomateError (`usage`) if a flow sends or saves files but there is no folder for them. */
export function refuseWithoutFolder(plan: Plan, options: FilesOptions): void {
  refuseNoFolder(options.files);
  if (!usesFiles(plan) || filesFolder(options) !== undefined) return;
  const message = 'the flow sends or saves files, and without an input file there is no folder for them';
  throw new AutomateError('usage', message, { code: 'no-files-folder', details: {} });
}
