import { fileURLToPath } from 'node:url';
import { entryOf } from '../core/map-entry.ts';
import type { Clock, ReservedStarts } from '../core/ports.ts';
import { pricesOf } from '../credits/prices.ts';
import { UnitPassage } from '../engine/unit-passage.ts';
import { filesOf } from '../run/open-run.ts';
import type { OpenRun, WorkerFollower, Workers } from '../run/run-request.ts';
import { childArgument } from './child-argument.ts';
import { manifestOf, sharedRowsOf } from './manifest.ts';
import { Children, type ChildrenOptions } from './processes/children.ts';
import { Pool } from './processes/pool.ts';
import { RunDesk } from './run-desk.ts';

/** Serves one run, or all runs of a server. `paused` is called when a child reports a pause of a gate (the rate limiter of an API). */
export function startChildren(children: number, clock: Clock, paused?: ChildrenOptions['paused']): Children {
  const command = [...process.execArgv, programPath(), childArgument];
  return new Children({ children, command, starts: new SharedStarts(clock), paused });
}

/** `shared` are the child processes that all runs of this process share, or undefined to start new ones. */
export async function openChildWorkers(
  run: OpenRun,
  count: number,
  { attempt, warn }: Pick<WorkerFollower, 'attempt' | 'warn'>,
  shared: Children | undefined,
): Promise<Workers> {
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
  const manifest = manifestOf(run, attempt !== undefined, {
    cacert: request.options.cacert,
    files: { folder, reserved },
    answers: run.answers?.settings,
    sharedRows: sharedRowsOf(request.plan),
  });
  const pool = new Pool({ children, manifest, hasHeader: source.header !== undefined, desk, newText: () => run.output.newText() });
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

/** A call's start is reserved at most this many ms ahead, so that other processes can also start calls in the meantime. */
const aheadMs = 500;

interface SharedGate {
  /** For each process that has a rate, the time in ms between two starts. */
  readonly rates: Map<object, number>;
  /** Earliest start that is not yet reserved. It becomes earlier if a lower rate has ended since the last reservation. */
  nextMs: number;
  /** The interval in ms that was kept free after the last reserved start. */
  lastIntervalMs: number;
  pausedUntilMs: number;
}

/** Several processes share gates. Each start is one interval after the previous one, and is reserved for only one process. @internal */
export class SharedStarts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #gates = new Map<string, SharedGate>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Reserves up to `wanted` starts at a gate for one process. The lowest rate of all processes applies. */
  reserve(name: string, process: object, interval: number, wanted: number): ReservedStarts {
    const gate = this.#gateOf(name);
    gate.rates.set(process, interval);
    const intervalMs = Math.max(...gate.rates.values());
    const now = this.#clock.now();
    const firstMs = Math.max(now, gate.nextMs - Math.max(0, gate.lastIntervalMs - intervalMs), gate.pausedUntilMs);
    if (firstMs - now > aheadMs) return { count: 0, inMs: firstMs - now - aheadMs, intervalMs };
    const count = Math.min(wanted, Math.max(1, Math.floor(aheadMs / intervalMs)));
    gate.nextMs = firstMs + count * intervalMs;
    gate.lastIntervalMs = intervalMs;
    return { count, inMs: firstMs - now, intervalMs };
  }

  /** Without a gate, ends the process's rates at all gates. */
  release(process: object, name?: string): void {
    if (name !== undefined) this.#gates.get(name)?.rates.delete(process);
    else for (const { rates } of this.#gates.values()) rates.delete(process);
  }

  /** No starts are reserved for `waitMs`. */
  pause(name: string, waitMs: number): void {
    const gate = this.#gateOf(name);
    gate.pausedUntilMs = Math.max(gate.pausedUntilMs, this.#clock.now() + waitMs);
  }

  #gateOf(name: string): SharedGate {
    return entryOf(this.#gates, name, () => ({ rates: new Map(), nextMs: 0, lastIntervalMs: 0, pausedUntilMs: 0 }));
  }
}
