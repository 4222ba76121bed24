import type { ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import type { PayingKey } from '../credits/rest.ts';
import { Gates } from '../engine/gates.ts';
import { createClock } from '../files/clock.ts';
import { makeFolder } from '../files/folder.ts';
import { Routes } from '../http/routes.ts';
import { FlowFolder } from '../run/flow-folder.ts';
import type { SharedParts } from '../run/flow-runtime.ts';
import type { Metrics } from '../run/metrics.ts';
import { reservedFiles, reservedFlows } from '../run/reserved-paths.ts';
import type { RunWorkers } from '../workers/workers-of-run.ts';
import type { Caller } from './caller.ts';
import { ServedCalls } from './calls.ts';
import { Idempotency } from './idempotency.ts';
import { RequestSlots } from './keys/request-slots.ts';
import type { ServerKeys } from './keys/server-keys.ts';
import { ProblemResponse } from './problem.ts';
import { cutOff } from './runs/run-streams.ts';
import { type RunLimits, Runs } from './runs/runs.ts';
import type { ServedRun } from './runs/served-run.ts';
import { payerOf } from './runs/stored-run.ts';
import type { ServerDatabase } from './store/database.ts';
import { type Deliveries, openDeliveries } from './store/deliveries.ts';
import type { UsageCounts } from './store/usage.ts';

interface ServerLimits extends RunLimits {
  readonly maxUpload: number;
}

interface ServerOptions {
  /** If undefined, this process runs the nodes itself. */
  readonly workers?: RunWorkers;
  readonly dir: string;
  /** Path of automate's home folder, which contains credentials, keys and runs. */
  readonly home: string;
  readonly limits: ServerLimits;
  readonly allowHttp: boolean;
  readonly cacert: string | undefined;
  readonly env: string | undefined;
  readonly files: string | undefined;
  /** The files that the server itself reads, such as its TLS key. Flows can neither send nor overwrite them. */
  readonly ownFiles?: readonly string[];
  readonly database: ServerDatabase;
  readonly keys: ServerKeys;
  readonly metrics?: Metrics;
  say(text: string): void;
}

const maxListeners = 32;

export class Server {
  readonly flows: FlowFolder;
  readonly calls: ServedCalls;
  readonly runs: Runs;
  readonly shared: SharedParts;
  readonly limits: ServerLimits;
  readonly idempotency: Idempotency;
  /** Limits how many plans (forecasts of runs) are made at the same time, because each takes much CPU time. */
  readonly plans = new RequestSlots({
    ...{ max: 4, maxWaiting: 64, refusesLargest: false },
    full: () => new ProblemResponse('queue-full', 'expected at most 4 plans at once, and 64 waiting', {}, { 'retry-after': '10' }),
  });
  readonly keys: ServerKeys;
  readonly deliveries: Deliveries;
  readonly #waits = new Set<() => void>();
  #isEnding = false;
  readonly #listeners = new Map<string, Set<ServerResponse>>();

  constructor(options: ServerOptions) {
    const { workers, dir, home, limits, database, keys, allowHttp, cacert, env, files, ownFiles = [], metrics, say } = options;
    const clock = createClock();
    const gates = workers?.gates ?? new Gates(clock);
    const routes = new Routes({ cacert, environment: process.env, warn: say });
    const quotaOf = (key: PayingKey) => (keys.directory.key(key.id) ?? key).quota;
    const withoutFiles = files === undefined;
    const reserved = [reservedFlows(dir), ...reservedFiles(ownFiles, 'a file that the server reads')];
    this.shared = {
      gates,
      workers,
      routes,
      allowHttp,
      cacert,
      env,
      flows: resolve(dir),
      files,
      reserved,
      withoutFiles,
      quotaOf,
      metrics,
      say,
    };
    this.limits = limits;
    this.idempotency = new Idempotency(database, clock.wallNow);
    this.flows = new FlowFolder(dir, { allowHttp, env, withoutFiles, caller: 'later' });
    this.calls = new ServedCalls(this.shared, clock.now, (key, work) => key && keys.usage.count(key.id, work));
    const folder = join(home, 'serve', 'runs');
    makeFolder(folder);
    this.keys = keys;
    this.deliveries = openDeliveries(database, this.shared);
    this.runs = new Runs(folder, this.shared, limits, {
      answerBytes: () => this.idempotency.answerBytes,
      paid: (run, work) => {
        const payer = payerOf(run);
        if (payer) keys.countRun(payer.id, work);
      },
      ended: (run) => this.deliveries.ended(run),
    });
  }

  /** `month` is a month such as 2026-11. */
  usageOf(key: string, month: string): UsageCounts {
    const { usage, usageStore } = this.keys;
    const days = [...usageStore.read({ month, key }), ...usage.pending().filter((one) => one.key === key && one.day.startsWith(month))];
    const sum = (count: keyof UsageCounts) => days.reduce((total, day) => total + day[count], 0);
    return { requests: sum('requests'), refused: sum('refused'), records: sum('records'), credits: sum('credits') };
  }

  /** `outcome` is `ok`, or the name of a problem. If the database cannot be written, warns and continues. */
  audit({ key }: Caller, { ip: address }: { readonly ip: string }, what: string, target: string, outcome = 'ok'): void {
    try {
      this.keys.audit.add({ who: key?.id ?? 'session', what, target, address, outcome });
    } catch (error) {
      this.shared.say((error as Error).message);
    }
  }

  /** Resolves when the run has ended, when `ms` have passed, or when the server is ending, whichever comes first. */
  async endOf(run: ServedRun, ms: number): Promise<void> {
    if (!run.isOpen || this.#isEnding) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        stop();
        clearTimeout(timer);
        this.#waits.delete(end);
        resolve();
      };
      const stop = run.events.listen(({ event }) => event === 'end' && end());
      const timer = setTimeout(end, ms);
      this.#waits.add(end);
    });
  }

  /** Clients that wait for a run get its current state. */
  endWaits(): void {
    this.#isEnding = true;
    for (const end of [...this.#waits]) end();
  }

  /** Counts a client until its connection ends. Throws a Problem: `stopping`, or `rate-limited` if the API key has too many listeners. */
  listen({ key }: Caller, response: ServerResponse): void {
    if (this.#isEnding) throw new ProblemResponse('stopping', 'the server is stopping', {}, { 'retry-after': '10' });
    const id = key?.id ?? '';
    const listeners = this.#listeners.get(id) ?? new Set();
    if (listeners.size >= maxListeners)
      throw new ProblemResponse('rate-limited', `expected at most ${maxListeners} listeners at once`, {}, { 'retry-after': '5' });
    this.#listeners.set(id, listeners.add(response));
    response.once('close', () => listeners.delete(response));
  }

  /** Ends event streams, by default all. `which` is true for the ids of their API keys; the id is empty for the web page. */
  endListeners(which: (key: string) => boolean = () => true): void {
    for (const [key, listeners] of this.#listeners) if (which(key)) for (const response of listeners) cutOff(response);
  }
}
