import { randomUUID } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { AutomateError } from '../../core/failure.ts';
import { isNoFile, realFile, statOf } from '../../io/files/stat.ts';
import type { Checkpoint, Journal } from '../../io/journal/journal.ts';
import { FileOutput } from '../../io/output/output.ts';
import { createStreamSink, isRegularFile, openFileSink, refuseExisting } from '../../io/output/sink.ts';
import { SpillFiles } from '../../io/output/spill.ts';
import { errorColumns, otherFields } from '../../io/records/errors.ts';
import { extensionOf, type Format, formatOfPath } from '../../io/records/format.ts';
import { createWriter } from '../../io/records/writers/writer.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import { isTable, namedFormat } from '../input-options.ts';

/** The places and formats of a run's output. */
export interface OutputPlan {
  /** `-` is stdout. */
  readonly out: string;
  /** True for stdout, a pipe or a device: nothing in it can be cut off, so it cannot be resumed. */
  readonly isStreamed: boolean;
  readonly format: Format;
  readonly errors: string;
  readonly errorsFormat: Format;
}

/** The options for the places of a run's output. */
export interface OutputOptions {
  readonly in: string;
  readonly out: string;
  readonly outFormat?: string;
  readonly errors?: string;
}

/** Plans the output in the input's format, unless an option or the name says otherwise, and the errors file next to it. */
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
  const isStream = hasNoName(input);
  const name = isStream ? `errors${extension}` : `${basename(input).replace(/\.[^.]+(?:\.gz)?$/i, '')}.errors${extension}`;
  const beside = out === '-' || isNoFile(out) ? input : out;
  return beside === input && isStream ? name : join(dirname(beside), name);
}

/** True for stdin, a pipe, a device, or a path of an open file, such as the shell's `<(command)`. */
function hasNoName(input: string): boolean {
  return input === '-' || isNoFile(input) || /^\/(?:dev\/(?:stdin$|fd\/)|proc\/[^/]+\/fd\/)/.test(input);
}

/** A file that a run reads or writes. */
export interface NamedFile {
  /** Its role, for messages. */
  readonly what: string;
  readonly path: string | undefined;
  /** The option that names another path. */
  readonly option?: string;
}

/** Refuses to overwrite the input, or to write two outputs into one file. Throws an AutomateError (`usage`). */
export function refuseSameFiles(files: readonly NamedFile[]): void {
  const byIdentity = new Map<string, NamedFile>();
  for (const file of files) {
    if (file.path === undefined || file.path === '-') continue;
    const found = statOf(file.path);
    const identity = found?.isFile() ? `${found.dev}/${found.ino}` : realPath(file.path);
    const other = byIdentity.get(identity);
    const advice = file.option === undefined ? '' : `; name another with ${file.option}`;
    const isDevice = found !== undefined && !found.isFile() && !found.isDirectory();
    if (other && !isDevice) throw new AutomateError('usage', `${file.what} ${file.path} is ${other.what}${advice}`);
    byIdentity.set(identity, file);
  }
}

/** The path of a file that does not exist yet. An existing one may have several names, so its inode identifies it. */
function realPath(path: string): string {
  const file = realFile(path);
  const folder = dirname(file);
  return join(existsSync(folder) ? realpathSync(folder) : resolve(folder), basename(file));
}

/** True if a path has a regular file, or a place for one; false for stdout, pipes and devices. */
export function isFileOrFree(path: string): boolean {
  return path !== '-' && !isNoFile(path);
}

/** Refuses to overwrite an existing output or errors file. */
export async function refuseExistingFiles(plan: OutputPlan): Promise<void> {
  if (plan.out !== '-') await refuseExisting(plan.out, 'name another with --out, or overwrite it with --force');
  await refuseExistingErrors(plan);
}

/** Refuses to overwrite an existing errors file. */
export async function refuseExistingErrors(plan: OutputPlan): Promise<void> {
  if (plan.errors === '-') return;
  await refuseExisting(
    plan.errors,
    'it may hold failed records of an earlier run: name another with --errors, or overwrite it with --force',
  );
}

/** The facts about a run that its output depends on. */
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

/** Opens the output: new, or cut back to the checkpoint. Deletes an errors file that the checkpoint does not have; the first failure creates a new one. */
export async function openOutput(plan: OutputPlan, run: OutputRun): Promise<FileOutput> {
  const { from, journal, csvSafe } = run;
  const isBegun = from.records + from.beyond.length > 0;
  const sink =
    plan.out === '-'
      ? createStreamSink(process.stdout, 'stdout', plan.format)
      : await openFileSink(plan.out, { ...plan.format, keep: isBegun ? from.out : undefined });
  const writtenErrors = from.errors?.bytes && isFileOrFree(plan.errors) ? from.errors : undefined;
  if (!writtenErrors && plan.errors !== '-' && isRegularFile(plan.errors)) await rm(plan.errors);
  return new FileOutput({
    records: { sink, writer: createWriter(plan.format, run.outputColumns, { csvSafe }) },
    errors: {
      // Without csvSafe: the errors file is an input for the next run.
      writer: createWriter(plan.errorsFormat, columnsOfErrors(run)),
      isBegun: writtenErrors !== undefined,
      open: async () =>
        plan.errors === '-'
          ? createStreamSink(process.stdout, 'stdout', plan.errorsFormat)
          : openFileSink(plan.errors, { ...plan.errorsFormat, isNew: true, keep: writtenErrors }),
    },
    redactor: run.redactor,
    spillFiles: new SpillFiles(() => spillPath(plan.out)),
    journal,
    from,
    credits: run.credits,
  });
}

/** Later records of a JSON input may have fields that the first one lacks: they get a column together. */
function columnsOfErrors({ inputFormat, inputColumns }: OutputRun): string[] {
  if (isTable(inputFormat)) return [...inputColumns, ...errorColumns];
  return [...inputColumns, ...errorColumns, otherFields];
}

/** Next to the output, whose disk has space for it. */
function spillPath(out: string): string {
  const [folder, name] = out === '-' || isNoFile(out) ? [tmpdir(), 'automate'] : [dirname(out), basename(out)];
  return join(folder, `.${name}.${randomUUID()}.part`);
}
