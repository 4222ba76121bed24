import { basename, dirname, extname, join } from 'node:path';
import { invalidOption } from '../core/failure.ts';
import type { OutputOptions } from '../core/run-options.ts';
import { isNoFile, realFile } from '../files/stat.ts';
import { appendable, extensionOf, type Format, formatOfPath, traitsOf } from '../records/formats.ts';
import { namedFormat } from '../records/inputs.ts';
import { separatorOf, unknownFormat } from '../records/source.ts';
import { refuseExisting } from './sink.ts';

export interface OutputPlan {
  /** `-` for stdout. */
  readonly out: string;
  /** The output is stdout, a pipe or a device. Such a run cannot be resumed, because its output cannot be truncated. */
  readonly isStreamed: boolean;
  readonly format: Format;
  /** All cells of a workbook become text. */
  readonly isText?: boolean;
  /** Undefined if failed records are not written. */
  readonly errors: string | undefined;
  readonly errorsFormat: Format;
  /** The file for rows of the old output whose records are no longer in the input; undefined if nobody asks for it. */
  readonly gone?: { readonly out: string; readonly format: Format };
  /** The files are in automate's own home folder. */
  readonly isOwn?: boolean;
}

/** False for an Excel workbook, too, because the file is readable only if it is complete. */
export function canResume({ isStreamed, format }: Pick<OutputPlan, 'isStreamed' | 'format'>): boolean {
  return !isStreamed && traitsOf(format).text !== undefined;
}

/**
 * The errors file has the input's format, or CSV for a workbook, to which no rows can be appended. Throws an AutomateError (`usage`) if the
 * output's format is unknown or an option does not apply to it.
 */
export function planOutput(flow: string, options: OutputOptions, inputFormat: Format): OutputPlan {
  const input = appendable(inputFormat);
  const { out } = options;
  const isStreamed = !isFileOrFree(out);
  const byName = (path: string) => formatOfPath(path) ?? { kind: input.kind, gzip: /\.gz$/i.test(path) };
  const format = withStyle(namedFormat('outFormat', options.outFormat) ?? (isStreamed ? byName(out) : fileFormat(out)), options);
  const named = options.errors ?? defaultErrors(flow, options, input);
  const errors = named === 'none' ? undefined : named;
  const errorsFormat = withStyle(errors === undefined ? input : byName(errors), options);
  if (!traitsOf(errorsFormat).text)
    throw invalidOption('errors', `expected a file to which rows can be added, such as .csv, found ${errors}`);
  if (traitsOf(format).text && options.outTypes !== undefined)
    throw invalidOption('outTypes', `expected an Excel workbook (.xlsx) as the output, found ${format.kind}`);
  const style = options.outDelimiter === undefined ? 'outBom' : 'outDelimiter';
  if (options[style] && ![format, errorsFormat].some(isSeparated))
    throw invalidOption(style, `expected CSV or TSV as the output, found ${format.kind}`);
  return { out, isStreamed, format, ...(options.outTypes === 'text' && { isText: true }), errors, errorsFormat, ...gonePlan(options) };
}

function gonePlan(options: OutputOptions): Pick<OutputPlan, 'gone'> {
  const { gone: out } = options;
  if (out === undefined) return {};
  const format = formatOfPath(out);
  if (!format) throw invalidOption('gone', unknownFormat(out, 'out').message);
  if (!isFileOrFree(out)) throw invalidOption('gone', `expected a file, which can be replaced at the end of the run, found ${out}`);
  return { gone: { out, format: withStyle(format, options) } };
}

function isSeparated(format: Format): boolean {
  return traitsOf(format).delimiter !== undefined;
}

function withStyle(format: Format, { outDelimiter, outBom }: OutputOptions): Format {
  if (!isSeparated(format)) return format;
  return {
    ...format,
    ...(outDelimiter !== undefined && { delimiter: separatorOf('outDelimiter', outDelimiter) }),
    ...(outBom && { bom: true }),
  };
}

function fileFormat(out: string): Format {
  const format = formatOfPath(out);
  if (format) return format;
  throw unknownFormat(out, 'out');
}

/** Next to the output, with a similar name. For a stream, it is in the current folder and named after the flow. */
function defaultErrors(flow: string, { in: input, out }: OutputOptions, format: Format): string {
  const ending = `.errors${extensionOf(format, input)}`;
  if (!isFileOrFree(out)) return basename(flow, extname(flow)) + ending;
  const named = formatOfPath(out);
  return join(dirname(out), basename(out, named && extensionOf(named, out)) + ending);
}

export function answersPath(out: string): string {
  return `${realFile(out)}.automate-answers`;
}

/** False for stdout, pipes and devices. */
export function isFileOrFree(path: string): boolean {
  return path !== '-' && !isNoFile(path);
}

export async function refuseExistingFiles(plan: OutputPlan): Promise<void> {
  if (plan.out !== '-') await refuseExisting(plan.out, 'out');
  await refuseExistingErrors(plan);
}

export async function refuseExistingErrors(plan: OutputPlan): Promise<void> {
  if (plan.errors === undefined || plan.errors === '-') return;
  await refuseExisting(plan.errors, 'errors');
}
