import { allSteps, type Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import type { SetFields } from '../flow/set-fields.ts';

/** A flow whose first step sets fields. */
export interface FlowOfRecords {
  readonly plan: Plan;
  readonly set?: SetFields | undefined;
}

/**
 * The part of a field of the input: nodes read it, write it or rename it (`read`), it comes out as it was (`passes`), it never comes out
 * (`gone`), or every record gets the same value for it (`set`).
 */
type FieldUse = 'read' | 'passes' | 'gone' | 'set';

/** Tells which fields of the input decide what a flow makes of a record. */
export class FieldUses {
  readonly #plan: Plan;
  readonly #set: ReadonlySet<string>;
  readonly #known = new Map<string, FieldUse>();
  #columns: { readonly of: string; readonly after: ReadonlySet<string> } = { of: '', after: new Set() };

  constructor({ plan, set = [] }: FlowOfRecords) {
    this.#plan = plan;
    this.#set = new Set(set.map(([name]) => name));
  }

  of(name: string): FieldUse {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const use = this.#find(name);
    if (this.#known.size < maxKnown) this.#known.set(name, use);
    return use;
  }

  /** The names that rows of a record with these fields may have. */
  columnsAfter(fields: Fields): ReadonlySet<string> {
    const of = JSON.stringify([...fields.keys()]);
    if (of !== this.#columns.of) this.#columns = { of, after: new Set(this.#plan.columns([...fields.keys()])) };
    return this.#columns.after;
  }

  #find(name: string): FieldUse {
    const { reads, steps, columns } = this.#plan;
    if (this.#set.has(name)) return 'set';
    if (reads.any || reads.fields.has(name)) return 'read';
    let isRemoved = false;
    for (const { node } of allSteps(steps)) {
      const made = node.columns([]);
      const after = node.columns([name]);
      if (made.includes(name) || after.some((column) => column !== name && !made.includes(column))) return 'read';
      isRemoved ||= !after.includes(name);
    }
    if (!isRemoved) return 'passes';
    // A node that some records skip removes it from the others alone.
    return columns([name]).includes(name) ? 'read' : 'gone';
  }
}

/** Names that are remembered: each record of JSON may have others. */
const maxKnown = 10_000;
