import type { Plan } from '../../core/plan.ts';
import type { Format } from '../../io/records/format.ts';
import type { RunFilesOptions } from '../../io/transfers/run-files.ts';
import { compileFlow, type FlowFileOptions } from '../flow/flow-file.ts';
import { type SetFields, withSetFields } from '../flow/set-fields.ts';
import { isTable } from '../input/input.ts';
import type { OpenRun } from '../run-request.ts';
import { version } from '../version.ts';

/** Everything that a worker needs to know about a run, as JSON. Contains no secrets. */
export interface Manifest {
  /** The version of automate that the coordinator uses. */
  readonly version: string;
  /** The run's UUID. */
  readonly run: string;
  readonly flow: { readonly file: string; readonly text: string; readonly options: FlowFileOptions };
  readonly set: SetFields;
  /** The environment of the run's credentials. */
  readonly env: string;
  /** Path of a file with certificate authorities. In a queue, this is the file's text instead, because workers can be on other machines. */
  readonly cacert: string | undefined;
  /** The format of the output. `columns` are its columns. */
  readonly format: Format;
  readonly columns: readonly string[];
  /** The files that records may send and save; none in a run with a queue. */
  readonly files: Pick<RunFilesOptions, 'folder' | 'reserved'>;
  readonly csvSafe: boolean;
  /** True if the input is a table. See `hasTextCells` in `WriterOptions`. */
  readonly hasTextCells: boolean;
  /** True if the credits of the run are limited. */
  readonly isLimited: boolean;
  /** True if the run continues even if no server responds. */
  readonly keepsGoing: boolean;
  /** True if workers must report every attempt to send a request. */
  readonly wantsAttempts: boolean;
}

/** Returns the manifest of a run. `cacert` and `files` must already have the form that the workers need. */
export function manifestOf(
  { request, claim, source, session }: OpenRun,
  wantsAttempts: boolean,
  { cacert, files: runFiles }: Pick<Manifest, 'cacert' | 'files'>,
): Manifest {
  const { plan, options, files } = request;
  const { origin } = plan;
  if (!origin) throw new Error('the plan has no origin');
  const compiled = origin.options as FlowFileOptions & { readonly env: string };
  return {
    version,
    run: claim.run,
    flow: { ...origin, options: { ...compiled, saved: Object.fromEntries(plan.savedConnections) as FlowFileOptions['saved'] } },
    set: options.set ?? [],
    env: compiled.env,
    cacert,
    files: runFiles,
    format: files.format,
    columns: plan.columns(source.columns ?? []),
    csvSafe: options.csvSafe ?? false,
    hasTextCells: isTable(source.format),
    isLimited: session.ledger.isLimited,
    keepsGoing: options.keepGoing ?? false,
    wantsAttempts,
  };
}

/** Compiles the plan of the run that a manifest describes. */
export async function planOf({ flow, set }: Manifest): Promise<Plan> {
  return withSetFields(await compileFlow(flow.text, flow.file, flow.options), set);
}
