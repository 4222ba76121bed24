import { fileURLToPath } from 'node:url';
import type { Clock } from '../core/ports.ts';
import { pricesOf } from '../credits/prices.ts';
import { SharedStarts } from '../engine/shared-starts.ts';
import { UnitPassage } from '../engine/unit-passage.ts';
import { isTable } from '../records/inputs.ts';
import { filesOf } from '../run/open-run.ts';
import type { OpenRun, WorkerFollower, Workers } from '../run/run-request.ts';
import { childArgument } from './child-argument.ts';
import { RunDesk } from './desk.ts';
import { manifestOf } from './manifest.ts';
import { Children } from './processes/children.ts';
import { Pool } from './processes/pool.ts';

/** `shared` are the child processes that all runs share. */
export interface ChildrenFollower extends Pick<WorkerFollower, 'attempt' | 'warn'> {
  readonly shared: Children | undefined;
}

/** Serves one run, or all runs of a server. `paused` is called when a child reports a pause of a gate (the rate limiter of an API). */
export function startChildren(children: number, clock: Clock, paused?: (gate: string, waitMs: number) => void): Children {
  const command = [...process.execArgv, programPath(), childArgument];
  return new Children({ children, command, starts: new SharedStarts(clock), ...(paused && { paused }) });
}

/** `shared` are the child processes that all runs of this process share, or undefined to start new ones. */
export async function openWorkers(run: OpenRun, count: number, { attempt, warn, shared }: ChildrenFollower): Promise<Workers> {
  const { session, source, request } = run;
  const { ports, ledger } = session;
  const { folder, reserved } = await filesOf(run);
  const children = shared ?? startChildren(count, ports.clock);
  const desk = new RunDesk({
    ledger,
    spending: ports.spending,
    saveNames: ports.saveNames,
    prices: pricesOf(request.plan, request.options.env),
    workers: () => children.count,
    report: ports.report,
    warn,
    attempt,
  });
  const manifest = manifestOf(run, attempt !== undefined, { cacert: request.options.cacert, files: { folder, reserved } });
  const pool = new Pool({ children, manifest, isTable: isTable(source.format), desk, newText: () => run.output.newText() });
  return {
    passage: (tools) => new UnitPassage(request.plan, pool, ports.clock, tools),
    figures: desk.figuresOf(pool),
    kill() {
      pool.kill();
      if (!shared) children.close();
    },
  };
}

/** Always the installed command, no matter which program has loaded this module. */
function programPath(): string {
  return fileURLToPath(new URL('../bin/automate.js', import.meta.url));
}
