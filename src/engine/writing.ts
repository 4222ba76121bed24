import type { Clock, Output } from '../core/ports.ts';

/** Writes what the window hands on, while the records go on. */
export interface Writing {
  /** Something was put into the output. */
  put(): void;
  /** Writes the rest. Throws what went wrong with the writing. */
  ended(): Promise<void>;
}

/** What is put is written when it is so much, or so old. */
const enough = { records: 256, characters: 256 * 1024, ms: 100 };

/** Makes the one task that writes. `written` is told how many records were; `broken` that no more can be. */
export function createWriting(output: Output, clock: Clock, tell: { written(count: number): void; broken(): void }): Writing {
  let waiting = 0;
  let task: Promise<void> | undefined;
  let error: unknown;
  let hurry: AbortController | undefined;
  let isEnding = false;

  return {
    put() {
      // What failed once is not tried again: there would be a hole in the output.
      if (error !== undefined) return;
      waiting++;
      task ??= write(false);
      if (waiting >= enough.records || output.waiting >= enough.characters) hurry?.abort('enough');
    },
    async ended() {
      isEnding = true;
      hurry?.abort('enough');
      await task;
      if (error === undefined) await write(true);
      if (error !== undefined) throw error;
    },
  };

  async function write(isLast: boolean): Promise<void> {
    try {
      do {
        if (!isLast) await patience();
        const count = waiting;
        waiting = 0;
        await output.flush();
        tell.written(count);
      } while (waiting > 0);
    } catch (reason) {
      error ??= reason;
      tell.broken();
    } finally {
      task = undefined;
    }
  }

  async function patience(): Promise<void> {
    if (isEnding || waiting >= enough.records || output.waiting >= enough.characters) return;
    hurry = new AbortController();
    await clock.sleepUntil(clock.now() + enough.ms, hurry.signal);
    hurry = undefined;
  }
}
