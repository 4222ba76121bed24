import type { Item, Outcome, PartialRows } from '../core/item.ts';
import type { Output } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';

/** Keeps the result of a single record in memory instead of writing it to a file. */
export class MemoryOutput implements Output {
  readonly waiting = 0;
  /** The result of the record; undefined until the record is finished. */
  outcome: Outcome | undefined;
  #partial: Fields[] = [];

  partialRows(): PartialRows {
    const rows: Fields[] = [];
    this.#partial = rows;
    return {
      get rows() {
        return rows.length;
      },
      async add(added) {
        for (const row of added) rows.push(row);
      },
      drop() {
        rows.length = 0;
      },
    };
  }

  put(_item: Item, outcome: Outcome): Outcome {
    this.outcome = outcome;
    return outcome;
  }

  park(): boolean {
    return false;
  }

  async flush(): Promise<void> {}

  /** The rows of the record; empty if it failed. */
  get rows(): readonly Fields[] {
    if (!this.outcome || 'failure' in this.outcome) return [];
    return 'rows' in this.outcome ? this.outcome.rows : this.#partial;
  }
}
