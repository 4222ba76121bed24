import type { ProblemResponse } from '../problem.ts';

interface SlotLimits {
  readonly max: number;
  /** Beyond this number, a request can wait only if its API key has no other waiting request. */
  readonly maxWaiting: number;
  /** True to refuse a request, instead of letting it wait, when its API key already uses three quarters of the slots. */
  readonly refusesLargest: boolean;
  /** Returns the Problem for a request that can neither start nor wait. */
  readonly full: () => ProblemResponse;
}

/** A slot is the permission to be processed. */
interface PlaceRequest {
  /** The id of the API key; empty for the web page. */
  readonly owner: string;
  readonly gone: AbortSignal;
  /** Maximum time in ms to wait for a slot; undefined if there is no limit. */
  readonly waitMs?: number;
}

/** The largest share of the slots that one API key may use while another key waits. */
const largestShare = 0.75;

class Waiting {
  readonly entered: Promise<void>;
  enter = () => {};
  refuse = (_problem: ProblemResponse) => {};

  constructor(readonly owner: string) {
    this.entered = new Promise((resolve, reject) => {
      this.enter = resolve;
      this.refuse = reject;
    });
  }
}

/** While another key waits, a key uses at most three quarters of the slots. A free slot goes to the waiting key that uses the fewest. */
export class RequestSlots {
  readonly #options: SlotLimits;
  readonly #taken = new Map<string, number>();
  #waiting: Waiting[] = [];
  #count = 0;

  constructor(options: SlotLimits) {
    this.#options = options;
  }

  /** Throws a Problem if the request gets no slot. Rethrows errors of `work`. */
  async within<Result>(request: PlaceRequest, work: () => Promise<Result>): Promise<Result> {
    if (this.#count >= this.#options.max || this.#waiting.length > 0) await this.#wait(request);
    else this.#take(request.owner);
    try {
      return await work();
    } finally {
      this.#leave(request.owner);
    }
  }

  /** Waits until a slot is free. Throws a Problem if the request is not allowed to wait for one. */
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
