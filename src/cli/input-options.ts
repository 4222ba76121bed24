import { AutomateError } from '../core/failure.ts';
import { type Format, formatNames, formatOfName, formatOfPath } from '../io/records/format.ts';
import { inputFormatOf, openSource, type Position, type Source } from '../io/records/readers/source.ts';

/** The options by which every command names its input. */
export interface InputOptions {
  readonly in: string;
  readonly inFormat?: string;
  readonly delimiter?: string;
  readonly encoding?: string;
}

/** The format that a file name or an option says. Throws an AutomateError (`usage`) for a name that is none. */
export function namedFormat(option: string, name: string | undefined): Format | undefined {
  if (name === undefined) return undefined;
  const format = formatOfName(name);
  if (!format) throw new AutomateError('usage', `${option}: expected ${formatNames.join(', ')}, found "${name}"`);
  return format;
}

/** The input's format. Throws an AutomateError (`usage`) when neither its name nor an option says it. */
export function inputFormat(options: InputOptions): Format {
  return inputFormatOf({ path: options.in, format: namedFormat('--in-format', options.inFormat) });
}

/** Opens the input, at its beginning or behind what is done. */
export function openInput(options: InputOptions, from?: Position): Promise<Source> {
  const format = namedFormat('--in-format', options.inFormat);
  return openSource({
    path: options.in,
    stdin: process.stdin,
    ...(format ? { format } : {}),
    ...(options.delimiter === undefined ? {} : { delimiter: options.delimiter }),
    ...(options.encoding === undefined ? {} : { encoding: options.encoding }),
    ...(from && from.offset > 0 ? { from } : {}),
  });
}

/** Whether an input's fields are all texts. Not known without a format; then its opening will say what is missing. */
export function hasTextCells(options: Pick<InputOptions, 'inFormat'> & { readonly in?: string }): boolean {
  const format = options.inFormat === undefined ? formatOfPath(options.in ?? '') : formatOfName(options.inFormat);
  return format !== undefined && isTable(format);
}

/** Whether a format has a header row. */
export function isTable({ kind }: Format): boolean {
  return kind === 'csv' || kind === 'tsv';
}

/**
 * Only a table tells all of its fields before the first record; a record of JSON may have others than the next.
 * An input that cannot be read hides nothing of the flow.
 */
export async function columnsOf(options: InputOptions): Promise<{ readonly columns?: readonly string[]; readonly error?: unknown }> {
  try {
    const source = await openInput(options);
    await source.close();
    return isTable(source.format) ? { columns: source.columns ?? [] } : {};
  } catch (error) {
    return { error };
  }
}
