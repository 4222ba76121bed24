import { realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AutomateError } from '../core/failure.ts';
import type { Checkpoint, Journal } from '../io/journal.ts';
import { errorColumns } from '../io/records/errors.ts';
import { extensionOf, type Format, formatOfPath } from '../io/records/format.ts';
import { createOutput, type FileOutput } from '../io/records/output.ts';
import { createStreamSink, isRegularFile, openFileSink, refuseExisting } from '../io/records/sink.ts';
import { createWriter } from '../io/records/writer.ts';
import type { Redactor } from '../io/redact.ts';
import { isTable, namedFormat } from './input-options.ts';

/** Where a run writes, and how. */
export interface OutputPlan {
  /** `-` is stdout. */
  readonly out: string;
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
  const plain = { kind: input.kind, gzip: false };
  const format = named ?? (options.out === '-' ? plain : (formatOfPath(options.out) ?? plain));
  const errors = options.errors ?? defaultErrors(options, input);
  return { out: options.out, format, errors, errorsFormat: formatOfPath(errors) ?? plain };
}

function defaultErrors({ in: input, out }: OutputOptions, format: Format): string {
  const extension = extensionOf(format);
  const name = input === '-' ? `errors${extension}` : `${basename(input).replace(/\.[^.]+(?:\.gz)?$/, '')}.errors${extension}`;
  return join(dirname(out === '-' ? input : out), name);
}

/** Refuses to write over the input. */
export async function refuseSameFiles(plan: OutputPlan, input: string): Promise<void> {
  const [from, out, errors] = await Promise.all([input, plan.out, plan.errors].map(realPath));
  if (out !== '-' && out === from) throw new AutomateError('usage', `the output ${plan.out} is the input`);
  if (errors === from) throw new AutomateError('usage', `the errors file ${plan.errors} is the input; name another with --errors`);
  if (errors === out) throw new AutomateError('usage', `the errors file ${plan.errors} is the output; name another with --errors`);
}

async function realPath(path: string): Promise<string> {
  return path === '-'
    ? path
    : realpath(path).catch(async () => join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path)));
}

/** Refuses to write over existing files, unless that was said. */
export async function refuseExistingFiles(plan: OutputPlan): Promise<void> {
  if (plan.out !== '-') await refuseExisting(plan.out, 'name another with --out, or overwrite it with --force');
  await refuseExisting(
    plan.errors,
    'it may hold failed records of an earlier run: name another with --errors, or overwrite it with --force',
  );
}

/** What an output needs to know of its run. */
export interface OutputRun {
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
  const keepBytes = (bytes: number | undefined) => (from.records + from.beyond.length > 0 ? { keepBytes: bytes ?? 0 } : {});
  const sink =
    plan.out === '-'
      ? createStreamSink(process.stdout, 'stdout', plan.format)
      : await openFileSink(plan.out, { ...plan.format, ...keepBytes(from.outBytes) });
  if (from.errorBytes === undefined && (await isRegularFile(plan.errors))) await rm(plan.errors);
  return createOutput({
    records: { sink, writer: createWriter(plan.format, run.outputColumns, { csvSafe }) },
    errors: {
      asColumns: isTable(plan.errorsFormat),
      writer: createWriter(plan.errorsFormat, [...run.inputColumns, ...errorColumns], { csvSafe }),
      open: () => openFileSink(plan.errors, { ...plan.errorsFormat, ...keepBytes(from.errorBytes) }),
    },
    redactor: run.redactor,
    journal,
    from,
    credits: run.credits,
  });
}
