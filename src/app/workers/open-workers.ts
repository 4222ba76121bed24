import { fileURLToPath } from 'node:url';
import type { Trace } from '../../core/action.ts';
import type { Passage, PassageTools } from '../../engine/passage/passage.ts';
import { UnitPassage } from '../../engine/passage/unit-passage.ts';
import { Pool } from '../../io/workers/pool.ts';
import { isTable } from '../input/input.ts';
import { pricesOf } from '../ports/run-ledger.ts';
import type { WorkerFigures } from '../progress/run-progress.ts';
import type { OpenRun } from '../run-request.ts';
import { childArgument } from './child-argument.ts';
import { RunDesk } from './desk.ts';
import { manifestOf } from './manifest.ts';

/** The workers of a run. */
export interface Workers {
  readonly figures: WorkerFigures;
  passage(tools: PassageTools): Passage;
  /** Ends the workers that a failed run has left. */
  kill(): void;
}

/** Starts child processes that pass the records of a run. */
export function openWorkers(run: OpenRun, children: number, attempt: Trace | undefined, warn: (message: string) => void): Workers {
  const { session, source, request } = run;
  const { ports, ledger } = session;
  const desk = new RunDesk({
    clock: ports.clock,
    ledger,
    spending: ports.spending,
    prices: pricesOf(request.plan, request.options.env),
    workers: children,
    pause: (gate, waitMs, except) => pool.pause(gate, waitMs, except),
    report: ports.report,
    warn,
    attempt,
  });
  const pool = new Pool({
    children,
    command: [...process.execArgv, programPath(), childArgument],
    manifest: manifestOf(run, attempt !== undefined),
    isTable: isTable(source.format),
    desk,
  });
  return {
    passage: (tools) => new UnitPassage(request.plan, pool, ports.clock, tools),
    figures: {
      get now() {
        return pool.living;
      },
      get most() {
        return pool.most;
      },
      get lost() {
        return pool.lost;
      },
      get maybeSpent() {
        return desk.maybeSpent;
      },
    },
    kill: () => pool.kill(),
  };
}

/** The program that starts a child: the installed command, whatever has loaded this module. */
function programPath(): string {
  return fileURLToPath(new URL('../bin/automate.js', import.meta.url));
}
