import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { isNoFile, realFile, statOf } from '../../io/files/stat.ts';
import type { Checkpoint, Journal } from '../../io/journal/journal.ts';
import { createOutput, type FileOutput } from '../../io/output/output.ts';
import { createStreamSink, isRegularFile, openFileSink, refuseExisting } from '../../io/output/sink.ts';
import { createSpillFiles } from '../../io/output/spill.ts';
import { errorColumns, otherFields } from '../../io/records/errors.ts';
import { extensionOf, type Format, formatOfPath } from '../../io/records/format.ts';
import { createWriter } from '../../io/records/writers/writer.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import { isTable, namedFormat } from '../input-options.ts';

/** Where a run writes, and how. */
export interface OutputPlan {
  /** `-` is stdout. */
  readonly out: string;
  /** Whether it is stdout, a pipe or a device: nothing in it can be cut off, so nothing can be gone on with. */
  readonly isStreamed: boolean;
  readonly format: Format;
  readonly errors: string;
  readonly errorsFormat: Format;
}

/** The options that say where a run writes. */
export interface OutputOptions {
  readonly in: string;
  readonly out: string;
  readonly outFormat?: string;
  readonly errors?: string;
}

/** Works out where a run writes: the output in the input's format unless said otherwise, the errors beside the output. */
export function planOutput(options: OutputOptions, input: Format): OutputPlan {
  const named = namedFormat('--out-format', options.outFormat);
  const byName = (path: string) => formatOfPath(path) ?? { kind: input.kind, gzip: /\.gz$/i.test(path) };
  const format = named ?? byName(options.out);
  const errors = options.errors ?? defaultErrors(options, input);
  const isStreamed = !isFileOrFree(options.out);
  return { out: options.out, isStreamed, format, errors, errorsFormat: byName(errors) };
}

function defaultErrors({ in: input, out }: OutputOptions, format: Format): string {
  const extension = extensionOf(format, input);
  const isStream = isNameless(input);
  const name = isStream ? `errors${extension}` : `${basename(input).replace(/\.[^.]+(?:\.gz)?$/i, '')}.errors${extension}`;
  const beside = out === '-' || isNoFile(out) ? input : out;
  return beside === input && isStream ? name : join(dirname(beside), name);
}

/** Whether an input has no name of its own: stdin, a pipe, a device, or what the system calls an open file, such as `<(command)` in a shell. */
function isNameless(input: string): boolean {
  return input === '-' || isNoFile(input) || /^\/(?:dev\/(?:stdin$|fd\/)|proc\/[^/]+\/fd\/)/.test(input);
}

/** A file that a run reads or writes, and what it is to the run. */
export interface NamedFile {
  readonly what: string;
  readonly path: string | undefined;
  /** Where another path can be named. */
  readonly option?: string;
}

/** Refuses to write over the input, or two things into one file. Throws an AutomateError (`usage`). */
export function refuseSameFiles(files: readonly NamedFile[]): void {
  const known = new Map<string, NamedFile>();
  for (const file of files) {
    if (file.path === undefined || file.path === '-') continue;
    const found = statOf(file.path);
    const identity = found?.isFile() ? `${found.dev}/${found.ino}` : realPath(file.path);
    const other = known.get(identity);
    const mend = file.option === undefined ? '' : `; name another with ${file.option}`;
    const isDevice = found !== undefined && !found.isFile() && !found.isDirectory();
    if (other && !isDevice) throw new AutomateError('usage', `${file.what} ${file.path} is ${other.what}${mend}`);
    known.set(identity, file);
  }
}

/** Of a file that is not there yet. One that is there can have several names, and is known by its number. */
function realPath(path: string): string {
  const file = realFile(path);
  const folder = dirname(file);
  return join(existsSync(folder) ? realpathSync(folder) : resolve(folder), basename(file));
}

/** Whether a file is at a path, or may be made there: stdout, pipes and devices are none. */
export function isFileOrFree(path: string): boolean {
  return path !== '-' && !isNoFile(path);
}

/** Refuses to write over existing files, unless that was said. */
export async function refuseExistingFiles(plan: OutputPlan): Promise<void> {
  if (plan.out !== '-') await refuseExisting(plan.out, 'name another with --out, or overwrite it with --force');
  await refuseExistingErrors(plan);
}

/** Refuses to write over errors that nobody may have read. */
export async function refuseExistingErrors(plan: OutputPlan): Promise<void> {
  if (plan.errors === '-') return;
  await refuseExisting(
    plan.errors,
    'it may hold failed records of an earlier run: name another with --errors, or overwrite it with --force',
  );
}

/** What an output needs to know of its run. */
export interface OutputRun {
  readonly inputFormat: Format;
  readonly inputColumns: readonly string[];
  readonly outputColumns: readonly string[];
  readonly redactor: Redactor;
  readonly csvSafe: boolean;
  readonly journal: Journal | undefined;
  readonly from: Checkpoint;
  credits(): number;
}

/** Opens the output: new, or as it was at the checkpoint. The errors file is opened with the first failure; one of an earlier run is gone by then. */
export async function openOutput(plan: OutputPlan, run: OutputRun): Promise<FileOutput> {
  const { from, journal, csvSafe } = run;
  const isBegun = from.records + from.beyond.length > 0;
  const sink =
    plan.out === '-'
      ? createStreamSink(process.stdout, 'stdout', plan.format)
      : await openFileSink(plan.out, { ...plan.format, keep: isBegun ? from.out : undefined });
  const keptErrors = from.errors?.bytes && isFileOrFree(plan.errors) ? from.errors : undefined;
  if (!keptErrors && plan.errors !== '-' && isRegularFile(plan.errors)) await rm(plan.errors);
  return createOutput({
    records: { sink, writer: createWriter(plan.format, run.outputColumns, { csvSafe }) },
    errors: {
      // An input like any other: its cells are what was read.
      writer: createWriter(plan.errorsFormat, columnsOfErrors(run)),
      isBegun: keptErrors !== undefined,
      open: async () =>
        plan.errors === '-'
          ? createStreamSink(process.stdout, 'stdout', plan.errorsFormat)
          : openFileSink(plan.errors, { ...plan.errorsFormat, isNew: true, keep: keptErrors }),
    },
    redactor: run.redactor,
    parts: createSpillFiles(() => partPath(plan.out)),
    journal,
    from,
    credits: run.credits,
  });
}

/** Those of a JSON input are only what its first record has. */
function columnsOfErrors({ inputFormat, inputColumns }: OutputRun): string[] {
  if (isTable(inputFormat)) return [...inputColumns, ...errorColumns];
  return [...inputColumns, ...errorColumns, otherFields];
}

/** Beside the output there is room for it. */
function partPath(out: string): string {
  const [folder, name] = out === '-' || isNoFile(out) ? [tmpdir(), 'automate'] : [dirname(out), basename(out)];
  return join(folder, `.${name}.${randomUUID()}.part`);
}
