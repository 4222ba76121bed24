import type { Plan } from '../core/plan.ts';
import type { GivenVariables } from '../core/run-options.ts';
import type { PayingKey } from '../credits/rest.ts';
import { SerialKeys } from '../engine/serial.ts';
import type { ServedFlow } from './flow-folder.ts';
import { FlowRuntime, type SharedParts } from './flow-runtime.ts';

/** The flow, variables and API key that determine which runtime a call uses. */
export interface RuntimeRequest {
  readonly flow: ServedFlow;
  /** The values of the flow's variables that the caller has set. */
  readonly given: GivenVariables;
  /** Compiles the flow with the caller's variables. */
  plan(): Promise<Plan>;
  /** The API key that pays for the call. It is undefined for calls from the web page or the command line. */
  readonly key: PayingKey | undefined;
}

/** Maximum number of runtimes to keep open for calls that set variables of the flow. */
const maxGiven = 64;

/** Age in ms after which a runtime is replaced by a new one, because the secrets that it has loaded might have changed. */
const maxAgeMs = 60_000;

/** An idle runtime gives back its reserved credits after this time in ms. */
const idleMs = 200;

/** A flow's runtime (compiled flow, secrets and connections) that stays open for further calls. */
interface OpenRuntime {
  readonly flow: ServedFlow;
  readonly given: GivenVariables;
  readonly runtime: Promise<FlowRuntime>;
  readonly untilMs: number;
  calls: number;
  /** Timer that makes an idle runtime give back its reserved credits. */
  idle?: NodeJS.Timeout;
}

/** The open runtimes of all flows, one for each combination of flow, API key and variables. They stay open between calls. */
export class Runtimes {
  readonly #shared: SharedParts;
  readonly #now: () => number;
  readonly #runtimes = new Map<string, OpenRuntime>();
  readonly #closing = new Set<Promise<void>>();
  /** The keys of each flow's calls that are under way, by the flow's id. */
  readonly #serialKeys = new Map<string, SerialKeys>();

  constructor(shared: SharedParts, now: () => number) {
    this.#shared = shared;
    this.#now = now;
  }

  /**
   * Passes the runtime that a call needs to `work`, and returns what `work` returns. Throws if the flow does not compile, the runtime does
   * not open, or `work` throws.
   */
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

  /** Waits until the calls that are under way have ended, and closes the runtimes. */
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

  /** Makes room for a runtime whose caller has set variables: if the maximum number of these is open, closes the oldest idle one. */
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
