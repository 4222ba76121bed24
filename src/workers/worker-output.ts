import type { ColumnNames } from '../core/column-names.ts';
import { failureForm } from '../core/failure-form.ts';
import type { Item, Outcome, PartialRows } from '../core/item.ts';
import type { Output } from '../core/ports.ts';
import type { Redactor } from '../credentials/redact.ts';
import { SameFailureWatch } from '../engine/failure-limits.ts';
import type { StopReason } from '../engine/phase.ts';
import type { ParkedRows } from '../output/journal/parked-records.ts';
import { RecordText } from '../output/record-text.ts';
import { checkRows } from '../output/renderer.ts';
import type { SpillFiles } from '../output/spill.ts';
import type { RecordWriter } from '../records/format.ts';
import type { ResultForm, UnitItem } from './processes/wire-form.ts';
import type { RunLink } from './run-link.ts';

/** A result with more characters than this is sent in pieces. Each piece is then smaller than 1 MB in UTF-8. */
const maxPiece = 256 * 1024;

/** Records with at most this many rows are rendered at once, without an async function, which would take more time. */
const fewRows = 100;

interface WorkerOutputOptions {
  readonly names: ColumnNames;
  readonly spillFiles: SpillFiles;
  added(): number;
  /**
   * Called with the reason if the worker must leave the run, because its first records all failed in the same way on this machine. If
   * undefined, the worker never leaves for this reason, and reports every failure at once.
   */
  readonly failedAlike: ((reason: StopReason) => void) | undefined;
}

/** Rows are sent as output text, with secrets masked. */
export class WorkerOutput implements Output {
  readonly #link: RunLink;
  readonly #writer: RecordWriter;
  readonly #redactor: Redactor;
  readonly #options: WorkerOutputOptions;
  waiting = 0;
  readonly #text: RecordText;
  readonly #alike: SameFailureWatch | undefined;
  /** Failures of the first records. They are held back as long as all records have failed in the same way. */
  #held: ResultForm[] = [];
  /** The worker has left the run because of these failures. They are never sent, because other workers process the records. */
  #isUnable = false;
  #ended = 0;
  #coming: Promise<void>[] = [];

  constructor(link: RunLink, writer: RecordWriter, redactor: Redactor, options: WorkerOutputOptions) {
    this.#link = link;
    this.#writer = writer;
    this.#redactor = redactor;
    this.#options = options;
    this.#text = new RecordText(writer, true, redactor, options.names);
    const { failedAlike } = options;
    this.#alike =
      failedAlike &&
      new SameFailureWatch((reason) => {
        this.#isUnable = true;
        failedAlike(reason);
      });
  }

  partialRows(): PartialRows {
    return this.#text.partialRows(this.#options.spillFiles.newText());
  }

  put(item: Item, outcome: Outcome): Outcome {
    const { unit, index } = item as UnitItem;
    const checked = checkRows(outcome, this.#writer);
    const failure = 'failure' in checked ? checked.failure : undefined;
    this.#alike?.finished(failure);
    this.#ended++;
    if (failure) this.#held.push([unit, index, failureForm(failure, item.fields, this.#redactor)]);
    // Also releases the failures if every record received so far has a result, because there might not be any more records.
    if (!this.#alike || this.#alike.isDecided || this.#ended === this.#options.added()) this.#release();
    if ('failure' in checked) return checked;
    const result = 'rows' in checked && checked.rows.length <= fewRows ? this.#text.renderedRows(checked.rows) : checked;
    if ('rendered' in result && result.rendered.text.length <= maxPiece)
      this.#add([unit, index, result.rendered.rows, result.rendered.text]);
    else this.#coming.push(this.#render(unit, index, this.#text.parkedRows(result)));
    return checked;
  }

  park(): boolean {
    return false;
  }

  async flush(): Promise<void> {
    const coming = this.#coming;
    this.#coming = [];
    await Promise.all(coming);
    this.waiting = 0;
    await this.#link.flush();
  }

  async end(): Promise<void> {
    this.#release();
    await this.flush();
  }

  /** Sends the failures that were held back, unless the worker has left the run because of them. */
  #release(): void {
    if (!this.#isUnable) for (const form of this.#held) this.#link.result(form);
    this.#held = [];
  }

  async #render(unit: number, index: number, rows: ParkedRows): Promise<void> {
    let text = '';
    let pieces = 0;
    for await (const more of rows.texts()) {
      text += more;
      while (text.length > maxPiece) {
        const end = pieceEnd(text);
        this.#link.result([unit, index, { at: pieces++, text: text.slice(0, end) }]);
        text = text.slice(end);
        await this.#link.flush();
      }
    }
    const form = [unit, index, rows.rows, text] as const;
    this.#add(pieces > 0 ? [...form, pieces] : form);
    if ('drop' in rows) (rows as { drop(): void }).drop();
  }

  #add(form: readonly [unit: number, index: number, rows: number, text: string, pieces?: number]): void {
    this.waiting += form[3].length;
    this.#link.result(form);
  }
}

/** A piece never ends within a character. */
function pieceEnd(text: string): number {
  const unit = text.charCodeAt(maxPiece - 1);
  return unit >= 0xd800 && unit < 0xdc00 ? maxPiece - 1 : maxPiece;
}
