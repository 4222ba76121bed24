import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { devNull, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { isNoFile } from '../../../io/files/stat.ts';
import type { Checkpoint, Journal } from '../../../io/journal/journal.ts';
import { FileOutput } from '../../../io/output/output.ts';
import { createStreamSink, isRegularFile, openFileSink } from '../../../io/output/sink.ts';
import { SpillFiles } from '../../../io/output/spill.ts';
import { errorColumns, otherFields } from '../../../io/records/errors.ts';
import type { Format } from '../../../io/records/format.ts';
import { createWriter } from '../../../io/records/writers/writer.ts';
import type { Redactor } from '../../../io/secrets/redact.ts';
import { isTable } from '../../input-options.ts';
import { isFileOrFree, type OutputPlan } from './output-plan.ts';

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
  costs(): Readonly<Record<string, number>> | undefined;
  publish?: ((saved: Checkpoint) => Promise<void>) | undefined;
}

/** Opens the output: new, or cut back to the checkpoint. Deletes an errors file that the checkpoint does not have; the first failure creates a new one. */
export async function openOutput(plan: OutputPlan, run: OutputRun): Promise<FileOutput> {
  const { from, journal, csvSafe } = run;
  const isBegun = from.records + from.beyond.length > 0;
  const sink =
    plan.out === '-'
      ? createStreamSink(process.stdout, 'stdout', plan.format)
      : await openFileSink(plan.out, { ...plan.format, keep: isBegun ? from.out : undefined });
  const { errors = devNull } = plan;
  const writtenErrors = from.errors?.bytes && isFileOrFree(errors) ? from.errors : undefined;
  if (!writtenErrors && errors !== '-' && isRegularFile(errors)) await rm(errors);
  return new FileOutput({
    records: { sink, writer: createWriter(plan.format, run.outputColumns, { csvSafe }) },
    errors: {
      // Without csvSafe: the errors file is an input for the next run.
      writer: createWriter(plan.errorsFormat, columnsOfErrors(run)),
      isBegun: writtenErrors !== undefined,
      open: async () =>
        errors === '-'
          ? createStreamSink(process.stdout, 'stdout', plan.errorsFormat)
          : openFileSink(errors, { ...plan.errorsFormat, isNew: true, keep: writtenErrors }),
    },
    redactor: run.redactor,
    spillFiles: new SpillFiles(() => spillPath(plan.out)),
    journal,
    from,
    credits: run.credits,
    costs: run.costs,
    publish: run.publish,
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
