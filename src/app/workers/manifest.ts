import type { Plan } from '../../core/plan.ts';
import type { Format } from '../../io/records/format.ts';
import { compileFlow, type FlowFileOptions } from '../flow/flow-file.ts';
import { type SetFields, withSetFields } from '../flow/set-fields.ts';
import type { ClaimedRun } from '../run-request.ts';
import { version } from '../version.ts';

/** Everything that a worker needs to know about a run, as JSON. It holds no secret. */
export interface Manifest {
  /** The version of automate that runs it. */
  readonly version: string;
  /** The run's UUID. */
  readonly run: string;
  readonly flow: { readonly file: string; readonly text: string; readonly options: FlowFileOptions };
  readonly set: SetFields;
  /** The environment of its credentials. */
  readonly env: string;
  /** A file with certificate authorities; in a queue, its text. */
  readonly cacert: string | undefined;
  /** The format and the columns of the output. */
  readonly format: Format;
  readonly columns: readonly string[];
  readonly csvSafe: boolean;
  /** True if the run continues although no server answers. */
  readonly keepsGoing: boolean;
  /** True if the run wants to know of every attempt. */
  readonly wantsAttempts: boolean;
}

/** The manifest of a run. `cacert`: the authorities as the workers find them. */
export function manifestOf({ request, claim, source }: ClaimedRun, wantsAttempts: boolean, cacert = request.options.cacert): Manifest {
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
    format: files.format,
    columns: plan.columns(source.columns ?? []),
    csvSafe: options.csvSafe ?? false,
    keepsGoing: options.keepGoing ?? false,
    wantsAttempts,
  };
}

/** The plan of a manifest. */
export async function planOf({ flow, set }: Manifest): Promise<Plan> {
  return withSetFields(await compileFlow(flow.text, flow.file, flow.options), set);
}
