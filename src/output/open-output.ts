import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { OutputSpace } from '../files/folder.ts';
import { isNoFile } from '../files/stat.ts';
import { errorColumns, otherFields } from '../records/errors-file.ts';
import { createWriter, type Format, traitsOf } from '../records/formats.ts';
import type { Checkpoint } from './journal/journal.ts';
import { type OldOutput, OldRows } from './old-rows.ts';
import { FileOutput, type FileOutputParts } from './output.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';
import {
  createClosedSink,
  createStreamSink,
  type FileSinkOptions,
  isRegularFile,
  openFileDevice,
  openFileSink,
  type Sink,
  streamDevice,
} from './sink.ts';
import { SpillFiles } from './spill.ts';

interface OutputRun extends Omit<FileOutputParts, 'records' | 'errors' | 'spillFiles' | 'old'> {
  readonly inputFormat: Format;
  /** The input's columns are empty for JSON. */
  readonly columns: { readonly input: readonly string[]; readonly output: readonly string[] };
  readonly csvSafe: boolean;
  readonly space?: OutputSpace;
  /** The existing output into which a retry inserts its rows. */
  readonly old?: OldOutput;
  /** True if the run was already complete and its files must stay unchanged. */
  readonly isComplete: boolean;
}

/**
 * Truncates an existing file after the rows that the checkpoint confirms. Deletes an errors file that is not in the checkpoint; the first
 * failure then creates a new one.
 */
export async function openOutput(plan: OutputPlan, run: OutputRun): Promise<FileOutput> {
  const { from, csvSafe, space } = run;
  const writers = {
    records: createWriter(plan.format, run.columns.output, { csvSafe, hasTextCells: traitsOf(run.inputFormat).hasHeader }),
    // csvSafe is not applied to the errors file, because a retry reads it as input.
    errors: createWriter(plan.errorsFormat, columnsOfErrors(run)),
  };
  const spillFiles = new SpillFiles(() => spillPath(plan.out), space);
  const { records, errors } = run.isComplete ? closedSinks(from) : await openSinks(plan, from, { space, spillFiles });
  return new FileOutput({
    ...run,
    records: { sink: records, writer: writers.records },
    errors: { ...errors, writer: writers.errors },
    spillFiles,
    old: run.old && new OldRows(run.old, from.copied ?? 0),
  });
}

interface Sinks {
  readonly records: Sink;
  readonly errors: Omit<FileOutputParts['errors'], 'writer'>;
}

function closedSinks({ out }: Checkpoint): Sinks {
  const sink = createClosedSink(out);
  return { records: sink, errors: { isBegun: false, open: async () => sink } };
}

interface SinkParts {
  readonly space: OutputSpace | undefined;
  readonly spillFiles: SpillFiles;
}

async function openSinks(plan: OutputPlan, from: Checkpoint, { space, spillFiles }: SinkParts): Promise<Sinks> {
  const isBegun = from.records + from.beyond.length > 0 || from.out.bytes > 0;
  const records = await openRowsSink(plan, { space, spillFiles, keep: isBegun ? from.out : undefined });
  const { errors = devNull, errorsFormat } = plan;
  const writtenErrors = from.errors?.bytes && isFileOrFree(errors) ? from.errors : undefined;
  if (!writtenErrors && errors !== '-' && isRegularFile(errors)) await rm(errors);
  const open = async () =>
    errors === '-'
      ? createStreamSink(process.stdout, 'stdout', errorsFormat)
      : openFileSink(errors, { ...errorsFormat, isNew: true, keep: writtenErrors, space });
  return { records, errors: { isBegun: writtenErrors !== undefined, open } };
}

type RowsFile = Pick<OutputPlan, 'out' | 'format' | 'isText'>;

export function openRowsSink(file: RowsFile, parts: SinkParts & Pick<FileSinkOptions, 'keep'>): Promise<Sink> {
  return traitsOf(file.format).text === undefined ? openWorkbook(file, parts) : openRecords(file, parts);
}

async function openWorkbook({ out, isText = false }: RowsFile, { space, spillFiles }: SinkParts): Promise<Sink> {
  const { createXlsxSink } = await import('./xlsx-sink.ts');
  const [name, device] = out === '-' ? ['stdout', streamDevice(process.stdout)] : [out, await openFileDevice(out, { space })];
  return createXlsxSink(name, device, spillFiles.newText(), { isText });
}

async function openRecords({ out, format }: RowsFile, { keep, space }: Pick<FileSinkOptions, 'keep' | 'space'>): Promise<Sink> {
  return out === '-' ? createStreamSink(process.stdout, 'stdout', format) : openFileSink(out, { ...format, keep, space });
}

/** Later JSON records can have fields that the first records lack. All such fields share one column. */
function columnsOfErrors({ inputFormat, columns: { input } }: OutputRun): string[] {
  if (traitsOf(inputFormat).hasHeader) return [...input, ...errorColumns];
  return [...input, ...errorColumns, otherFields];
}

/** Stores waiting rows that would take too much memory. It is next to the output, because that disk needs space for these rows anyway. */
function spillPath(out: string): string {
  const [folder, name] = out === '-' || isNoFile(out) ? [tmpdir(), 'automate'] : [dirname(out), basename(out)];
  return join(folder, `.${name}.${randomUUID()}.part`);
}
