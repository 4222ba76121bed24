import type { Item, Outcome, PartialRows } from '../../core/item.ts';
import type { Output } from '../../core/ports.ts';
import type { Value } from '../../core/value/value.ts';
import type { ParkedRows } from '../../io/journal/parked-records.ts';
import { RecordText } from '../../io/output/record-text.ts';
import { checkRows } from '../../io/output/renderer.ts';
import type { SpillFiles } from '../../io/output/spill.ts';
import type { RecordWriter } from '../../io/records/writers/record-writer.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import type { RunReports } from '../../io/workers/run-reports.ts';
import { failureForm, type UnitItem } from '../../io/workers/wire-form.ts';

/** Sends the results of a worker to its run: rows as text of the output, secrets masked. */
export class WorkerOutput implements Output {
  waiting = 0;
  readonly #link: RunReports;
  readonly #writer: RecordWriter;
  readonly #redactor: Redactor;
  readonly #text: RecordText;
  readonly #spillFiles: SpillFiles;
  #coming: Promise<void>[] = [];

  constructor(link: RunReports, writer: RecordWriter, redactor: Redactor, spillFiles: SpillFiles) {
    this.#link = link;
    this.#writer = writer;
    this.#redactor = redactor;
    this.#text = new RecordText(writer, true, redactor);
    this.#spillFiles = spillFiles;
  }

  partialRows(): PartialRows {
    return this.#text.partialRows(this.#spillFiles.newText());
  }

  put(item: Item, outcome: Outcome): Outcome {
    const { unit, index } = item as UnitItem;
    const checked = checkRows(outcome, this.#writer);
    if ('failure' in checked) {
      const { failure } = checked;
      const { details, ...form } = failureForm(failure, this.#redactor.text(failure.message));
      this.#link.result([unit, index, { ...form, details: details && (this.#redactor.value(details as Value) as object) }]);
    } else if ('rows' in checked && checked.rows.length === 0) this.#add(unit, index, 0, '');
    else this.#coming.push(this.#render(unit, index, this.#text.parkedRows(checked)));
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

  async #render(unit: number, index: number, rows: ParkedRows): Promise<void> {
    let text = '';
    for await (const more of rows.texts()) text += more;
    this.#add(unit, index, rows.rows, text);
    if ('drop' in rows) (rows as { drop(): void }).drop();
  }

  #add(unit: number, index: number, rows: number, text: string): void {
    this.waiting += text.length;
    this.#link.result([unit, index, rows, text]);
  }
}
