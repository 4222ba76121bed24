import { Failure } from '../../core/failure.ts';
import type { RowsText, SpilledRows } from '../../core/item.ts';
import type { RenderedRows } from '../../output/journal/parked-records.ts';
import type { SpilledText } from '../../output/spill.ts';
import { isPiece, type ResultForm, resultOf } from './wire-form.ts';

/** A result with more characters than this is kept in a temporary file. */
const maxHeld = 256 * 1024;

export type ArrivedResult = RowsText | SpilledRows | Failure;

/** Joins the results of a run that arrive in pieces, and keeps long results in temporary files. */
export class Arrivals {
  readonly #newText: () => SpilledText;
  /** The key consists of the worker, the unit, and the record's position within the unit. */
  readonly #begun = new Map<string, ArrivedRows>();

  constructor(newText: () => SpilledText) {
    this.#newText = newText;
  }

  /** Undefined if pieces of the result are still missing. */
  take(worker: string, form: ResultForm): ArrivedResult | undefined {
    if (isPiece(form)) {
      const key = keyOf(worker, form);
      const begun = this.#begun.get(key) ?? new ArrivedRows(this.#newText());
      this.#begun.set(key, begun);
      begun.addPiece(form[2]);
      return undefined;
    }
    const result = resultOf(form);
    const begun = this.#takeBegun(worker, form);
    const pieces = form.length === 3 ? 0 : (form[4] ?? 0);
    if (pieces !== (begun?.pieces ?? 0)) {
      begun?.drop();
      return undefined;
    }
    if (result instanceof Failure || (!begun && result.text.length <= maxHeld)) return result;
    const rows = begun ?? new ArrivedRows(this.#newText());
    rows.end(result);
    return rows;
  }

  #takeBegun(worker: string, form: ResultForm): ArrivedRows | undefined {
    // A shortcut, because most runs have no long results.
    if (this.#begun.size === 0) return undefined;
    const key = keyOf(worker, form);
    const begun = this.#begun.get(key);
    this.#begun.delete(key);
    return begun;
  }

  clear(): void {
    for (const rows of this.#begun.values()) rows.drop();
    this.#begun.clear();
  }
}

function keyOf(worker: string, [unit, index]: ResultForm): string {
  return `${worker} ${unit} ${index}`;
}

export function discard(result: ArrivedResult | undefined): void {
  if (result && 'drop' in result) result.drop();
}

class ArrivedRows implements RenderedRows {
  rows = 0;
  pieces = 0;
  readonly #text: SpilledText;
  #added: Promise<void> = Promise.resolve();

  constructor(text: SpilledText) {
    this.#text = text;
  }

  /** Ignores a piece that was already added. */
  addPiece({ at, text }: { readonly at: number; readonly text: string }): void {
    if (at !== this.pieces) return;
    this.pieces++;
    this.#add(text);
  }

  end({ rows, text }: RowsText): void {
    this.rows = rows;
    this.#add(text);
  }

  async *texts(): AsyncGenerator<string> {
    await this.#added;
    yield* this.#text.texts();
  }

  drop(): void {
    void this.#added.catch(() => undefined).then(() => this.#text.drop());
  }

  /** Appends to the text. If this fails, the error is thrown when the rows are read, which ends the run. */
  #add(text: string): void {
    this.#added = this.#added.then(() => this.#text.add(text));
    this.#added.catch(() => undefined);
  }
}
