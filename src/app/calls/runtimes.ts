import type { Plan } from '../../core/plan.ts';
import type { PayingKey } from '../../io/ledger/rest.ts';
import type { GivenVariables } from '../flow/flow-file.ts';
import type { ServedFlow } from '../flow/flow-folder.ts';
import { FlowRuntime, type SharedParts } from '../flow-runtime.ts';

/** The runtime that a call needs. */
export interface RuntimeRequest {
  readonly flow: ServedFlow;
  /** The variables of the flow that the call sets. */
  readonly given: GivenVariables;
  /** Compiles the flow with them. */
  plan(): Promise<Plan>;
  /** The key that pays; absent for the page and the command line. */
  readonly key: PayingKey | undefined;
}

/** Maximum of runtimes that are kept for calls with variables of their own. */
const maxGiven = 64;

/** A runtime is opened again after this time: its secrets may have changed. */
const maxAgeMs = 60_000;

/** A runtime without a call gives back the credits that it holds after this time. */
const idleMs = 200;

/** The runtime of a flow that is open for calls. */
interface OpenRuntime {
  readonly flow: ServedFlow;
  readonly given: GivenVariables;
  readonly runtime: Promise<FlowRuntime>;
  readonly untilMs: number;
  calls: number;
  /** The timer after which a runtime without a call gives back its credits. */
  idle?: NodeJS.Timeout;
}

/** The open runtimes of all flows, by key and variables. They stay open between calls. */
export class Runtimes {
  readonly #shared: SharedParts;
  readonly #now: () => number;
  readonly #runtimes = new Map<string, OpenRuntime>();
  readonly #closing = new Set<Promise<void>>();

  constructor(shared: SharedParts, now: () => number) {
    this.#shared = shared;
    this.#now = now;
  }

  /** Does the work of a call with its runtime. Throws what the plan and the opening of the runtime throw, and what the work throws. */
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

  /** Waits for the calls under way and closes the runtimes. */
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
    const runtime = plan().then((found) => FlowRuntime.open(found, flow.path, this.#shared, key));
    const open: OpenRuntime = { flow, given, runtime, untilMs: this.#now() + maxAgeMs, calls: 0 };
    this.#runtimes.set(name, open);
    runtime.catch(() => this.#runtimes.get(name) === open && this.#runtimes.delete(name));
    return open;
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

  /** Closes the oldest runtime without a call if a caller's values would leave too many open. */
  #forgetOtherGiven(): void {
    const some = [...this.#runtimes].filter(([, open]) => open.given.length > 0);
    const oldest = some.length < maxGiven ? undefined : some.find(([, { calls }]) => calls === 0);
    if (!oldest) return;
    this.#runtimes.delete(oldest[0]);
    this.#close(oldest[1]);
  }

  /** Closes a runtime once its calls have ended. */
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
