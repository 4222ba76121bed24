import type { Item, Outcome, PartialRows } from '../../core/item.ts';
import type { Output } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';

/** The output of one record, in memory. */
export class MemoryOutput implements Output {
  readonly waiting = 0;
  /** Absent until the record is finished. */
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
