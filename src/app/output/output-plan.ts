import { basename, dirname, extname, join } from 'node:path';
import { invalidOption } from '../../core/failure.ts';
import { isNoFile } from '../../io/files/stat.ts';
import { refuseExisting } from '../../io/output/sink.ts';
import { extensionOf, type Format, formatOfPath } from '../../io/records/format.ts';
import { unknownFormat } from '../../io/records/readers/source.ts';
import { namedFormat } from '../input/input.ts';

/** The places and formats of a run's output. */
export interface OutputPlan {
  /** `-` is stdout. */
  readonly out: string;
  /** True for stdout, a pipe or a device: nothing in it can be cut off, so it cannot be resumed. */
  readonly isStreamed: boolean;
  readonly format: Format;
  /** Undefined if failed records are not kept. */
  readonly errors: string | undefined;
  readonly errorsFormat: Format;
  /** True for files that automate keeps in its own home folder; absent for all others. */
  readonly isOwn?: boolean;
}

/** True for an output that an interrupted run leaves so that another can go on with it. A workbook can be read only when it is whole. */
export function canResume({ isStreamed, format }: Pick<OutputPlan, 'isStreamed' | 'format'>): boolean {
  return !isStreamed && format.kind !== 'xlsx';
}

/** The options for the places of a run's output. */
export interface OutputOptions {
  readonly in: string;
  readonly out: string;
  readonly outFormat?: string;
  readonly errors?: string;
}

/**
 * Plans the output of a flow, with its errors file beside it in the input's format: CSV if that is a workbook, which cannot be added to.
 * Throws an AutomateError (`usage`) for an output of unknown format.
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
  if (errorsFormat.kind === 'xlsx') throw invalidOption('errors', `expected a file that can grow, such as .csv, found ${errors}`);
  return { out, isStreamed, format, errors, errorsFormat };
}

function fileFormat(out: string): Format {
  const format = formatOfPath(out);
  if (format) return format;
  throw unknownFormat(out, 'out');
}

/** Beside the output and named after it; for a stream in the current folder and named after the flow. */
function defaultErrors(flow: string, { in: input, out }: OutputOptions, format: Format): string {
  const ending = `.errors${extensionOf(format, input)}`;
  if (!isFileOrFree(out)) return basename(flow, extname(flow)) + ending;
  const named = formatOfPath(out);
  return join(dirname(out), basename(out, named && extensionOf(named, out)) + ending);
}

/** True if a path has a regular file, or a place for one; false for stdout, pipes and devices. */
export function isFileOrFree(path: string): boolean {
  return path !== '-' && !isNoFile(path);
}

/** Refuses to overwrite an existing output or errors file. */
export async function refuseExistingFiles(plan: OutputPlan): Promise<void> {
  if (plan.out !== '-') await refuseExisting(plan.out, 'out');
  await refuseExistingErrors(plan);
}

/** Refuses to overwrite an existing errors file. */
export async function refuseExistingErrors(plan: OutputPlan): Promise<void> {
  if (plan.errors === undefined || plan.errors === '-') return;
  await refuseExisting(plan.errors, 'errors');
}
