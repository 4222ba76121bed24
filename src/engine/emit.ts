import { Unfinished } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';

/** Takes output records as they come, in their order. */
export type RowSink = (rows: readonly Fields[]) => Promise<void> | void;

/** Ends a node because records that it emitted have failed at a later node. */
export class LaterFailure extends Error {
  constructor(readonly reason: unknown) {
    super();
  }
}

/** The later nodes, as a node that streams sees them. */
export interface LaterNodes {
  /** Maximum of records in the later nodes, so that they fill batches together; 0 if the later nodes take one part at a time. */
  readonly max: number;
  /** Resolves when the rows of earlier records have been taken; absent for the first record. */
  readonly before: Promise<void> | undefined;
  readonly take: RowSink;
  /** Brings a part through the later nodes; `part` counts from 0. Its output goes to `take`, in parts or as the answer. */
  pass(rows: readonly Fields[], part: number, take: RowSink): Promise<readonly Fields[]>;
}

interface Part {
  readonly rows: number;
  readonly ended: Promise<void>;
}

/** Passes on what a node emits before it is done. Parts pass the later nodes side by side, and are taken in their order. */
export class Emitter {
  readonly #later: LaterNodes;
  readonly #turn: Promise<void> | undefined;
  readonly #parts: Part[] = [];
  #last: Promise<void>;
  #count = 0;
  /** Records in the later nodes. */
  #inside = 0;
  #failure: LaterFailure | undefined;

  constructor(later: LaterNodes) {
    this.#later = later;
    this.#turn = later.before?.catch(() => {
      throw new Unfinished();
    });
    this.#last = this.#turn ?? Promise.resolve();
    this.#last.catch(() => undefined);
  }

  /** Resolves when the node may emit more. Throws LaterFailure once an earlier part has failed. */
  async emit(rows: readonly Fields[]): Promise<void> {
    const { max } = this.#later;
    // A failure in the later nodes ends this node before it pays for many more calls.
    if (max === 0) await this.#turn;
    while (this.#parts.length > 0 && this.#inside >= max) await this.#oldest();
    if (this.#failure) throw this.#failure;
    this.#last = this.#passed(rows, this.#last);
    this.#inside += rows.length;
    this.#parts.push({ rows: rows.length, ended: this.#last.catch((reason) => this.#fail(reason)) });
  }

  /** Resolves when everything emitted has been taken. Throws LaterFailure. */
  async drained(): Promise<void> {
    await this.#last.catch((reason) => this.#fail(reason));
    if (this.#failure) throw this.#failure;
  }

  /** Resolves when everything emitted has ended, taken or not. */
  async ended(): Promise<void> {
    await Promise.all(this.#parts.map(({ ended }) => ended));
  }

  async #oldest(): Promise<void> {
    const part = this.#parts.shift() as Part;
    await part.ended;
    this.#inside -= part.rows;
  }

  #fail(reason: unknown): void {
    this.#failure ??= new LaterFailure(reason);
  }

  async #passed(rows: readonly Fields[], previous: Promise<void>): Promise<void> {
    const { pass, take } = this.#later;
    const takeInTurn = async (out: readonly Fields[]) => {
      await previous;
      await take(out);
    };
    await takeInTurn(rows.length === 0 ? [] : await pass(rows, this.#count++, takeInTurn));
  }
}
