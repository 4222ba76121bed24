import { Unfinished } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';

/** Receives a record's output rows in order, as they are emitted. */
export type RowSink = (rows: readonly Fields[]) => Promise<void> | void;

/** Ends a node whose emitted rows have failed at a later node. `reason` is the error of these rows. */
export class LaterFailure extends Error {
  constructor(readonly reason: unknown) {
    super();
  }
}

interface LaterNodes {
  /**
   * Maximum number of rows that are in the later nodes at the same time, so that these can fill their batches. If 0, the rows of one `emit`
   * must leave the later nodes before the rows of the next one enter.
   */
  readonly max: number;
  /** Resolves when the rows made from the previous row have left the later nodes; undefined for the first row. */
  readonly before: Promise<void> | undefined;
  readonly take: RowSink;
  /** `part` is the 0-based index of the `emit`. Passes rows that the later nodes emit to `take`, and returns the other rows. */
  pass(rows: readonly Fields[], part: number, take: RowSink): Promise<readonly Fields[]>;
}

interface RowPart {
  readonly rows: number;
  readonly ended: Promise<void>;
}

/** The rows of several `emit` calls go through the later nodes concurrently, but leave them in order. */
export class Emitter {
  readonly #later: LaterNodes;
  readonly #turn: Promise<void> | undefined;
  readonly #parts: RowPart[] = [];
  #last: Promise<void>;
  #count = 0;
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

  /** Emits rows, and resolves when the node may emit more. Throws LaterFailure if rows that were emitted earlier have failed. */
  async emit(rows: readonly Fields[]): Promise<void> {
    const { max } = this.#later;
    // Waits, so that a failure in the later nodes can end this node before it pays for further calls.
    if (max === 0) await this.#turn;
    while (this.#parts.length > 0 && this.#inside >= max) await this.#oldest();
    if (this.#failure) throw this.#failure;
    this.#last = this.#passed(rows, this.#last);
    this.#inside += rows.length;
    this.#parts.push({ rows: rows.length, ended: this.#last.catch((reason) => this.#fail(reason)) });
  }

  /** Resolves when all emitted rows have left the later nodes. Throws LaterFailure if any of them failed. */
  async drained(): Promise<void> {
    await this.#last.catch((reason) => this.#fail(reason));
    if (this.#failure) throw this.#failure;
  }

  /** Resolves when the later nodes have finished with all emitted rows, even if rows have failed. */
  async ended(): Promise<void> {
    await Promise.all(this.#parts.map(({ ended }) => ended));
  }

  async #oldest(): Promise<void> {
    const part = this.#parts.shift() as RowPart;
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
