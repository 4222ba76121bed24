import type { Problem } from '../problem.ts';

/** The limits of places. */
export interface PlacesOptions {
  /** Maximum of requests in places at once. */
  readonly max: number;
  /** Maximum of requests that wait for a place. A key of which none waits may always wait. */
  readonly maxWaiting: number;
  /** True if a key that has three quarters of the places does not wait for more. */
  readonly refusesLargest: boolean;
  /** The problem of a request that gets neither a place nor a wait. */
  readonly full: () => Problem;
}

/** A request of an owner, by default for as long as the server allows. */
export interface PlaceRequest {
  /** The id of an API key; empty for the page. */
  readonly owner: string;
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal;
  /** The longest wait for a place; absent for no limit. */
  readonly waitMs?: number;
}

/** The share of the places that a key has at most while another waits. */
const largestShare = 0.75;

/** A request that waits for a place. */
class Waiting {
  /** Resolves once it has a place. Rejects if it is refused. */
  readonly entered: Promise<void>;
  enter = () => {};
  refuse = (_problem: Problem) => {};

  constructor(readonly owner: string) {
    this.entered = new Promise((resolve, reject) => {
      this.enter = resolve;
      this.refuse = reject;
    });
  }
}

/**
 * Places for requests that are worked on at once, shared fairly between API keys: a key takes at most three quarters of the places while
 * another waits, and a free place goes to the waiting key that has the fewest.
 */
export class Places {
  readonly #options: PlacesOptions;
  readonly #taken = new Map<string, number>();
  #waiting: Waiting[] = [];
  #count = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /** Does some work in a place. Throws a Problem if there is none, and what the work throws. */
  async within<Result>(request: PlaceRequest, work: () => Promise<Result>): Promise<Result> {
    if (this.#count >= this.#options.max || this.#waiting.length > 0) await this.#wait(request);
    else this.#take(request.owner);
    try {
      return await work();
    } finally {
      this.#leave(request.owner);
    }
  }

  /** Waits for a place. */
  async #wait({ owner, gone, waitMs }: PlaceRequest): Promise<void> {
    const { max, maxWaiting, refusesLargest, full } = this.#options;
    const isLargest = refusesLargest && (this.#taken.get(owner) ?? 0) >= max * largestShare;
    const isFull = this.#waiting.length >= maxWaiting && this.#waiting.some((one) => one.owner === owner);
    if (isLargest || isFull || gone.aborted) throw full();
    const waiting = new Waiting(owner);
    this.#waiting.push(waiting);
    const leave = () => {
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
      waiting.refuse(full());
    };
    gone.addEventListener('abort', leave, { once: true });
    const timer = waitMs === undefined ? undefined : setTimeout(leave, waitMs);
    await waiting.entered.finally(() => {
      clearTimeout(timer);
      gone.removeEventListener('abort', leave);
    });
  }

  #take(owner: string): void {
    this.#count++;
    this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1);
  }

  #leave(owner: string): void {
    this.#count--;
    const left = (this.#taken.get(owner) ?? 1) - 1;
    if (left > 0) this.#taken.set(owner, left);
    else this.#taken.delete(owner);
    const taken = ({ owner: one }: Waiting) => this.#taken.get(one) ?? 0;
    const [next] = [...this.#waiting].sort((one, other) => taken(one) - taken(other));
    if (!next || this.#count >= this.#options.max) return;
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#take(next.owner);
    next.enter();
  }
}
