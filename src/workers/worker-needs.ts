import { invalidOption } from '../core/failure.ts';
import { allSteps, dataFilesOf, type Plan, usesFiles } from '../core/plan.ts';
import type { RunOptions } from '../core/run-options.ts';
import { isRemote } from '../core/tools.ts';

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
  const file = dataFilesOf(plan)[0] ?? plan.certificates[0]?.cert;
  return file === undefined ? undefined : `expected a flow that does not read files on this machine, found ${file}`;
}
