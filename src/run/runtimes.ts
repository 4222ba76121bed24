import type { Plan } from '../core/plan.ts';
import type { GivenVariables } from '../core/run-options.ts';
import type { PayingKey } from '../credits/rest.ts';
import { SerialKeys } from '../engine/serial.ts';
import type { ServedFlow } from './flow-folder.ts';
import { FlowRuntime, type SharedParts } from './flow-runtime.ts';

export interface RuntimeRequest {
  readonly flow: ServedFlow;
  readonly given: GivenVariables;
  plan(): Promise<Plan>;
  /** Undefined for calls from the web page or the command line. */
  readonly key: PayingKey | undefined;
}

/** The maximum number of open runtimes for calls that set variables. */
const maxGiven = 64;

/** Older runtimes are replaced, because the secrets that they have loaded might have changed. */
const maxAgeMs = 60_000;

/** An idle runtime gives back its reserved credits after this time. */
const idleMs = 200;

interface OpenRuntime {
  readonly flow: ServedFlow;
  readonly given: GivenVariables;
  readonly runtime: Promise<FlowRuntime>;
  readonly untilMs: number;
  calls: number;
  idle?: NodeJS.Timeout;
}

/** One runtime for each combination of flow, API key and variables. They stay open between calls. */
export class Runtimes {
  readonly #shared: SharedParts;
  readonly #now: () => number;
  readonly #runtimes = new Map<string, OpenRuntime>();
  readonly #closing = new Set<Promise<void>>();
  /** The keys of calls under way, by the flow's id. */
  readonly #serialKeys = new Map<string, SerialKeys>();

  constructor(shared: SharedParts, now: () => number) {
    this.#shared = shared;
    this.#now = now;
  }

  /** Throws if the flow does not compile, the runtime does not open, or `work` throws. */
  async within<Result>(request: RuntimeRequest, work: (runtime: FlowRuntime) => Promise<Result>): Promise<Result> {
    const open = this.#runtimeOf(request);
    open.calls++;
    clearTimeout(open.idle);
    try {
      return await work(await open.runtime);
    } finally {
      open.calls--;
      this.#giveBackLater(open);
      this.#forgetOld();
    }
  }

  async close(): Promise<void> {
    for (const open of this.#runtimes.values()) this.#close(open);
    this.#runtimes.clear();
    await Promise.all(this.#closing);
  }

  #runtimeOf({ flow, given, plan, key }: RuntimeRequest): OpenRuntime {
    const name = `${key?.id ?? ''} ${flow.id} ${given.length > 0 ? JSON.stringify(given) : ''}`;
    const found = this.#runtimes.get(name);
    if (found && found.flow === flow && this.#now() < found.untilMs) return found;
    if (found) this.#close(found);
    if (given.length > 0) this.#forgetOtherGiven();
    const serialKeys = this.#keysOf(flow);
    const runtime = plan().then((found) => FlowRuntime.open({ plan: found, file: flow.path, serialKeys }, this.#shared, key));
    const open: OpenRuntime = { flow, given, runtime, untilMs: this.#now() + maxAgeMs, calls: 0 };
    this.#runtimes.set(name, open);
    runtime.catch(() => this.#runtimes.get(name) === open && this.#runtimes.delete(name));
    return open;
  }

  #keysOf({ id }: ServedFlow): SerialKeys {
    const keys = this.#serialKeys.get(id) ?? new SerialKeys();
    this.#serialKeys.set(id, keys);
    return keys;
  }

  #giveBackLater(open: OpenRuntime): void {
    if (open.calls > 0) return;
    open.idle = setTimeout(() => {
      const runtime = open.runtime.catch(() => undefined);
      const given = runtime.then((opened) => (open.calls === 0 ? opened?.giveBack() : undefined));
      given.catch((error: unknown) => this.#shared.say((error as Error).message));
    }, idleMs);
    open.idle.unref();
  }

  #forgetOld(): void {
    for (const [name, open] of this.#runtimes) {
      if (open.calls > 0 || this.#now() < open.untilMs) continue;
      this.#runtimes.delete(name);
      this.#close(open);
    }
  }

  /** If the maximum number of runtimes with variables from callers is open, closes the oldest idle one. */
  #forgetOtherGiven(): void {
    const some = [...this.#runtimes].filter(([, open]) => open.given.length > 0);
    const oldest = some.length < maxGiven ? undefined : some.find(([, { calls }]) => calls === 0);
    if (!oldest) return;
    this.#runtimes.delete(oldest[0]);
    this.#close(oldest[1]);
  }

  /** Closes a runtime as soon as the calls that use it have ended. */
  #close(open: OpenRuntime): void {
    const closed = this.#closed(open)
      .catch((error: unknown) => this.#shared.say((error as Error).message))
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  async #closed(open: OpenRuntime): Promise<void> {
    while (open.calls > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    await (await open.runtime.catch(() => undefined))?.close();
  }
}
