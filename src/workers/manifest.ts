import * as z from 'zod';
import { invalidOption, usageError } from '../core/failure.ts';
import type { SharedRows } from '../core/node.ts';
import { concurrency } from '../core/options/amounts.ts';
import { name } from '../core/options/names.ts';
import { allSteps, dataFilesOf, joinedFilesOf, type Plan, usesFiles } from '../core/plan.ts';
import type { RunOptions } from '../core/run-options.ts';
import { formatCount } from '../core/text/number.ts';
import { isRemote } from '../core/tools.ts';
import { version } from '../core/version.ts';
import { withSetFields } from '../flow/set-fields.ts';
import type { AnswerSettings } from '../http/answers/kept-answers.ts';
import type { ExtraAuthorities } from '../http/authorities.ts';
import type { RunFilesOptions } from '../http/transfers/run-files.ts';
import { formatKinds } from '../records/formats.ts';
import { compileFlow, type FlowFileOptions } from '../run/flow-file.ts';
import type { OpenRun } from '../run/run-request.ts';

/** Maximum size of the manifest of a queued run, as JSON in bytes. A worker must not unpack more, because a few bytes can become gigabytes. */
export const maxManifestBytes = 16 * 1024 * 1024;

/** Maximum size of the files that belong to a queued flow, such as schemas. They travel with it. */
const maxFileBytes = 1_000_000;

const pairs = z.array(z.tuple([z.string(), z.string()])).readonly();

/** The environment is part of the manifest itself. */
const flowOptions = z.strictObject({
  allowHttp: z.boolean(),
  textCells: z.boolean(),
  name: z.string().optional(),
  var: pairs.optional(),
  concurrency: concurrency.optional(),
  intervalMs: z.number().min(0).optional(),
  files: z.record(z.string(), z.string()).default({}),
  // Required, because a flow must not use the connections that are saved on the worker's machine instead.
  saved: z.record(z.string(), z.record(z.string(), z.unknown())),
});

/**
 * Everything that a worker of a queue may be told about a run, as JSON. It contains no secrets and no files. Other keys are refused, because
 * whoever holds the queue key could use them against the worker's machine.
 */
const queueManifest = z.strictObject({
  version: z.literal(version),
  run: z.string(),
  flow: z.strictObject({ file: z.string(), text: z.string(), options: flowOptions }),
  set: pairs,
  env: name,
  /** Certificate authorities as text, because the worker can be on a different machine. */
  cacert: z.strictObject({ pem: z.string() }).optional(),
  format: z.strictObject({
    kind: z.enum(formatKinds),
    gzip: z.boolean(),
    delimiter: z.string().optional(),
    bom: z.literal(true).optional(),
  }),
  columns: z.array(z.string()).readonly(),
  csvSafe: z.boolean(),
  /** True if the input is a table. See `hasTextCells` in `WriterOptions`. */
  hasTextCells: z.boolean(),
  isLimited: z.boolean(),
  /** True if the run continues even if no server responds. */
  keepsGoing: z.boolean(),
  wantsAttempts: z.boolean(),
});

/** The parts of a manifest that differ between the child processes of a run and the workers of a queue. */
interface MachineParts {
  readonly cacert?: ExtraAuthorities;
  /** Undefined in a run with a queue. */
  readonly files?: Pick<RunFilesOptions, 'folder' | 'reserved'>;
  /** Undefined in a run that neither keeps answers nor uses kept ones. */
  readonly answers?: AnswerSettings;
  /** The rows of joined files, by the ids of their nodes. Undefined in a run with a queue. */
  readonly sharedRows?: Readonly<Record<string, SharedRows>>;
}

/** Contains no secrets. */
export type Manifest = Omit<z.output<typeof queueManifest>, 'cacert'> & MachineParts;

export function manifestOf({ request, claim, source, session }: OpenRun, wantsAttempts: boolean, parts: MachineParts): Manifest {
  const { plan, options, files } = request;
  const { origin } = plan;
  if (!origin) throw new Error('the plan has no origin');
  const { env, allowHttp, textCells, name, var: given, concurrency, intervalMs } = origin.options as FlowFileOptions & { env: string };
  const saved = Object.fromEntries(plan.savedConnections) as Manifest['flow']['options']['saved'];
  return {
    version,
    run: claim.run,
    flow: {
      file: origin.file,
      text: origin.text,
      options: {
        allowHttp,
        textCells,
        name,
        var: given?.map(([...pair]) => pair),
        concurrency,
        intervalMs,
        files: Object.fromEntries(plan.files),
        saved,
      },
    },
    set: (options.set ?? []).map(([...pair]) => pair),
    env,
    ...parts,
    format: files.format,
    columns: plan.columns(source.columns ?? []),
    csvSafe: options.csvSafe ?? false,
    hasTextCells: source.header !== undefined,
    isLimited: session.ledger.isLimited,
    keepsGoing: options.keepGoing ?? false,
    wantsAttempts,
  };
}

/** Throws an AutomateError (`usage`) if the manifest asks for anything that a worker of a queue does not do. */
export function checkedManifest(found: unknown, run: string): Manifest {
  const { data, error } = queueManifest.safeParse(found);
  if (!data) throw usageError(issueText(error.issues[0]));
  if (data.run !== run) throw usageError('its manifest belongs to a different run');
  const own = process.env.AUTOMATE_ENV;
  if (own && own !== data.env) throw usageError(`it is for the environment ${data.env}, and this worker is only for ${own} (AUTOMATE_ENV)`);
  return data;
}

/** The message leaves out the value, because it can be from a record. */
function issueText(issue: z.core.$ZodIssue | undefined): string {
  const path = issue?.path.join('.') ?? '';
  if (issue?.code !== 'unrecognized_keys') return `its manifest is not valid${path === '' ? '' : `: unexpected value of "${path}"`}`;
  const key = [...issue.path, issue.keys[0]].join('.');
  return `its manifest asks for "${key}", which workers of a queue do not accept`;
}

export async function planOf({ flow, set, env, sharedRows = {} }: Manifest): Promise<Plan> {
  return withSetFields(await compileFlow(flow.text, flow.file, { ...flow.options, env, sharedRows }), set);
}

/** The reason why queue workers refuse a flow. The run checks first; each worker checks again, as somebody else might have queued it. */
export function queueNeed(plan: Plan): string | undefined {
  return processNeed(plan) ?? machineNeed(plan);
}

/** The reason why a flow must run in one process: a public server, which accepts only one request at a time, or `serial_by`. */
export function processNeed(plan: Plan): string | undefined {
  if (asksPublicServer(plan)) return 'expected a flow that does not use a public server, which accepts only one request at a time';
  return serialNeed(plan);
}

function serialNeed({ serialOrder }: Plan): string | undefined {
  if (!serialOrder) return undefined;
  return `expected a flow without serial_by: only one process can let records with the same ${serialOrder.label} go one after another`;
}

/** Throws an AutomateError (`usage`) if the flow cannot run in the workers that the options ask for. */
export function refuseWorkers(plan: Plan, { workers, queue }: Pick<RunOptions, 'workers' | 'queue'>): void {
  const [option, need] = queue === undefined ? ['workers', serialNeed(plan)] : ['queue', queueNeed(plan)];
  if ((workers ?? queue) !== undefined && need !== undefined) throw invalidOption(option, need);
}

export function asksPublicServer(plan: Plan): boolean {
  return allSteps(plan.steps).some(({ node }) => node.action?.lookup?.publicServer !== undefined);
}

/**
 * Returns the reason why a flow must run on this machine; undefined if other machines can run it. Such a flow sends or saves files, starts
 * a program, uses a person's login, or reads data or a certificate from a file.
 */
function machineNeed(plan: Plan): string | undefined {
  if (usesFiles(plan)) return 'expected a flow that does not send or save files';
  if (plan.tools.some(({ connection }) => !isRemote(connection.server)))
    return 'expected a flow whose MCP servers are reached over HTTP, found one that is started by a command';
  const login = plan.credentials.find((use) => use.login);
  if (login) return `expected a flow without a browser login, whose tokens only one machine can renew, found ${login.name}`;
  const bytes = [...plan.files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > maxFileBytes) return `expected at most 1 MB of files that belong to the flow, found ${formatCount(bytes)} bytes`;
  const file = dataFilesOf(plan)[0] ?? joinedFilesOf(plan)[0]?.name ?? plan.certificates[0]?.cert;
  return file === undefined ? undefined : `expected a flow that does not read files on this machine, found ${file}`;
}

/** The databases in which the children of a run find the rows of joined files. */
export function sharedRowsOf({ steps }: Plan): NonNullable<Manifest['sharedRows']> {
  return Object.fromEntries(
    allSteps(steps).flatMap(({ id, node }) => {
      const rows = node.joined?.shared();
      return rows ? [[id, rows]] : [];
    }),
  );
}
