import { allSteps, type Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import type { SetFields } from '../../core/run-options.ts';

/** A flow, and the fields that are set before its first node. */
export interface FlowOfRecords {
  readonly plan: Plan;
  readonly set?: SetFields | undefined;
}

/**
 * The use of an input field in a flow. `read`: nodes read, write or rename the field. `passes`: it reaches the output unchanged. `gone`: it
 * never reaches the output. `set`: the flow gives it the same value in every record.
 */
type FieldUse = 'read' | 'passes' | 'gone' | 'set';

interface KnownField {
  readonly use: FieldUse;
  /** The field's name as JSON. */
  readonly json: string;
}

/** Determines how a flow uses each input field, and thus which fields affect a record's rows. */
export class FieldUses {
  readonly #plan: Plan;
  readonly #set: ReadonlySet<string>;
  readonly #known = new Map<string, KnownField>();
  #columns: { readonly of: string; readonly after: ReadonlySet<string> } = { of: '', after: new Set() };

  constructor({ plan, set = [] }: FlowOfRecords) {
    this.#plan = plan;
    this.#set = new Set(set.map(([name]) => name));
  }

  of(name: string): KnownField {
    const found = this.#known.get(name);
    if (found) return found;
    const known = { use: this.#find(name), json: JSON.stringify(name) };
    if (this.#known.size < maxKnown) this.#known.set(name, known);
    return known;
  }

  /** Returns the names of all fields that a record's rows can have. `fields` are the record's fields. */
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
    // If only some records run the node that removes the field, the other records' rows still contain the field.
    return columns([name]).includes(name) ? 'read' : 'gone';
  }
}

/**
 * Maximum number of field names whose use is remembered. There can be any number of names, because each JSON record can have different
 * fields.
 */
const maxKnown = 10_000;
