import { basename, dirname, extname, join } from 'node:path';
import { invalidOption } from '../core/failure.ts';
import type { OutputOptions } from '../core/run-options.ts';
import { isNoFile } from '../files/stat.ts';
import { extensionOf, type Format, formatOfPath } from '../records/format.ts';
import { namedFormat } from '../records/inputs.ts';
import { unknownFormat } from '../records/source.ts';
import { refuseExisting } from './sink.ts';

/** The paths and formats of the files that a run writes. */
export interface OutputPlan {
  /** The path of the output; `-` for stdout. */
  readonly out: string;
  /** True if the output goes to stdout, a pipe or a device. The run then cannot be resumed, because such an output cannot be truncated. */
  readonly isStreamed: boolean;
  readonly format: Format;
  /** True if all cells of a workbook become text; undefined for other formats. */
  readonly isText?: boolean;
  /** The path of the errors file; undefined if failed records are not written. */
  readonly errors: string | undefined;
  readonly errorsFormat: Format;
  /** True for files in automate's own home folder; undefined for other files. */
  readonly isOwn?: boolean;
}

/**
 * True if a later run can continue the output after an interruption. An Excel workbook cannot be continued, because the file is readable
 * only if it is complete.
 */
export function canResume({ isStreamed, format }: Pick<OutputPlan, 'isStreamed' | 'format'>): boolean {
  return !isStreamed && format.kind !== 'xlsx';
}

/**
 * Plans a flow's output and its errors file, which has the input's format. If the input is a workbook, the errors file is CSV, because rows
 * cannot be appended to a workbook. Throws an AutomateError (`usage`) if the format of the output is unknown, or if an option does not apply
 * to it.
 */
export function planOutput(flow: string, options: OutputOptions, inputFormat: Format): OutputPlan {
  const input: Format = inputFormat.kind === 'xlsx' ? { kind: 'csv', gzip: false } : inputFormat;
  const { out } = options;
  const isStreamed = !isFileOrFree(out);
  const byName = (path: string) => formatOfPath(path) ?? { kind: input.kind, gzip: /\.gz$/i.test(path) };
  const format = namedFormat('outFormat', options.outFormat) ?? (isStreamed ? byName(out) : fileFormat(out));
  const named = options.errors ?? defaultErrors(flow, options, input);
  const errors = named === 'none' ? undefined : named;
  const errorsFormat = errors === undefined ? input : byName(errors);
  if (errorsFormat.kind === 'xlsx')
    throw invalidOption('errors', `expected a file to which rows can be added, such as .csv, found ${errors}`);
  if (format.kind !== 'xlsx' && options.outTypes !== undefined)
    throw invalidOption('outTypes', `expected an Excel workbook (.xlsx) as the output, found ${format.kind}`);
  return { out, isStreamed, format, ...(options.outTypes === 'text' && { isText: true }), errors, errorsFormat };
}

function fileFormat(out: string): Format {
  const format = formatOfPath(out);
  if (format) return format;
  throw unknownFormat(out, 'out');
}

/**
 * Returns the default path of the errors file, next to the output and with a similar name. If the output is a stream, the file is in the
 * current folder, and its name comes from the flow.
 */
function defaultErrors(flow: string, { in: input, out }: OutputOptions, format: Format): string {
  const ending = `.errors${extensionOf(format, input)}`;
  if (!isFileOrFree(out)) return basename(flow, extname(flow)) + ending;
  const named = formatOfPath(out);
  return join(dirname(out), basename(out, named && extensionOf(named, out)) + ending);
}

/** True if the path leads to a regular file or to nothing. It is false for stdout, pipes and devices. */
export function isFileOrFree(path: string): boolean {
  return path !== '-' && !isNoFile(path);
}

/** Throws an AutomateError if the output or the errors file already exists. */
export async function refuseExistingFiles(plan: OutputPlan): Promise<void> {
  if (plan.out !== '-') await refuseExisting(plan.out, 'out');
  await refuseExistingErrors(plan);
}

/** Throws an AutomateError if the errors file already exists. */
export async function refuseExistingErrors(plan: OutputPlan): Promise<void> {
  if (plan.errors === undefined || plan.errors === '-') return;
  await refuseExisting(plan.errors, 'errors');
}
