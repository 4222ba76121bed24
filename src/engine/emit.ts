import { Unfinished } from '../core/failure.ts';
import type { Fields } from '../core/record.ts';
import type { Take } from './context.ts';

/** Hands on what comes out of a node before it is done. */
export interface HandingOn {
  /** Resolves when the node may get more. Throws FailedBehind when a part handed on before has failed. */
  emit(rows: readonly Fields[]): Promise<void>;
  /** Resolves when all that was handed on has been taken. Throws FailedBehind. */
  taken(): Promise<void>;
  /** Resolves when all that was handed on has come to its end, whatever end. */
  ended(): Promise<void>;
}

/** Ends a node that has handed on records of which one has failed behind it. */
export class FailedBehind extends Error {
  constructor(readonly reason: unknown) {
    super();
  }
}

/** What is behind a node. */
export interface Behind {
  /** How many records may be behind the node, so that they fill batches together; none where only one part may be. */
  readonly most: number;
  /** Resolves when what came before has been taken; absent for the first. */
  readonly before: Promise<void> | undefined;
  readonly take: Take;
  /** Brings a part through the nodes behind; `part` counts from 0. What comes out goes to `take`, in parts or as the answer. */
  pass(rows: readonly Fields[], part: number, take: Take): Promise<readonly Fields[]>;
}

interface Part {
  readonly rows: number;
  readonly ended: Promise<void>;
}

/** Parts pass the nodes behind side by side, and are taken in their order. */
export function createHandingOn({ most, before, take, pass }: Behind): HandingOn {
  const parts: Part[] = [];
  let count = 0;
  let behind = 0;
  let failed: FailedBehind | undefined;
  const turn = before?.catch(() => {
    throw new Unfinished();
  });
  let last = turn ?? Promise.resolve();
  last.catch(() => undefined);
  return {
    async emit(rows) {
      // What fails behind the node has not paid for many more of its calls.
      if (most === 0) await turn;
      while (parts.length > 0 && behind >= most) await oldest();
      if (failed) throw failed;
      last = passed(rows, last);
      behind += rows.length;
      parts.push({ rows: rows.length, ended: last.catch(failing) });
    },
    async taken() {
      await last.catch(failing);
      if (failed) throw failed;
    },
    async ended() {
      await Promise.all(parts.map(({ ended }) => ended));
    },
  };

  async function oldest(): Promise<void> {
    const part = parts.shift() as Part;
    await part.ended;
    behind -= part.rows;
  }

  function failing(reason: unknown): void {
    failed ??= new FailedBehind(reason);
  }

  async function passed(rows: readonly Fields[], previous: Promise<void>): Promise<void> {
    const inTurn = async (out: readonly Fields[]) => {
      await previous;
      await take(out);
    };
    await inTurn(rows.length === 0 ? [] : await pass(rows, count++, inTurn));
  }
}
