import { hash } from 'node:crypto';
import type { Item, RowsText } from '../../core/item.ts';
import type { Fields } from '../../core/record.ts';
import { jsonOf } from '../../core/value/value.ts';
import type { OutputMemory } from '../../io/output/output.ts';
import { Renderer } from '../../io/output/renderer.ts';
import type { Source } from '../../io/records/readers/source.ts';
import type { RecordWriter } from '../../io/records/writers/record-writer.ts';
import { createWriter } from '../../io/records/writers/writer.ts';
import type { Redactor } from '../../io/secrets/redact.ts';
import type { FoundMemory, MemoryLog, RememberedRows } from '../../io/update/memory-file.ts';
import { OldRecords } from '../../io/update/old-records.ts';
import { OldOutputText } from '../../io/update/old-text.ts';
import { isTable } from '../input/input.ts';
import type { OutputPlan } from '../output/output-plan.ts';
import type { RunOptions } from '../run-options.ts';
import { FieldUses, type FlowOfRecords } from './field-uses.ts';

/** An output whose rows may be taken over. */
export interface OldFiles {
  readonly memory: FoundMemory;
  /** Its path, and that of temporary files beside it. */
  readonly out: string;
  /** Maximum age of its rows, in ms; undefined for any. */
  readonly maxAge: number | undefined;
}

/** The parts of the memory of a run. */
export interface RecordMemoryParts extends FlowOfRecords {
  /** Undefined for a look at what a run would do. */
  readonly log?: MemoryLog | undefined;
  readonly key: Buffer;
  readonly old: OldFiles | undefined;
  /** The columns of the output; empty for JSON. */
  readonly columns: readonly string[];
  readonly writer: RecordWriter;
  readonly redactor: Redactor;
  /** True for a record of which `on_error: keep` has passed a failure through: it runs again. */
  isPassedThrough?(record: number): boolean;
}

/** The run whose memory is opened. */
export type OfRun = Omit<RecordMemoryParts, 'set' | 'columns' | 'writer'> & {
  readonly options: RunOptions;
  readonly files: OutputPlan;
  readonly source: Source;
};

/** Opens the memory of a run. */
export function openRecordMemory({ options, files, source, ...parts }: OfRun): Promise<RecordMemory> {
  const { set, csvSafe } = options;
  const columns = parts.plan.columns(source.columns ?? []);
  const writer = createWriter(files.format, columns, { csvSafe, hasTextCells: isTable(source.format) });
  return RecordMemory.open({ ...parts, set, columns, writer });
}

/** Recognizes the records that have not changed since an earlier run, and remembers the records of this one. */
export class RecordMemory implements OutputMemory {
  readonly log: MemoryLog | undefined;
  readonly #parts: RecordMemoryParts;
  readonly #key: string;
  readonly #uses: FieldUses;
  readonly #renderer: Renderer;
  readonly #records: OldRecords | undefined;
  readonly #text: OldOutputText | undefined;
  readonly #hasSameColumns: boolean;
  readonly #oldest: number;

  private constructor(parts: RecordMemoryParts, text: OldOutputText | undefined) {
    const { log, old, writer, redactor, columns } = parts;
    this.log = log;
    this.#parts = parts;
    this.#key = parts.key.toString('hex');
    this.#uses = new FieldUses(parts);
    this.#renderer = new Renderer(writer, redactor);
    this.#records = old && new OldRecords(old.memory, old.out);
    this.#text = text;
    this.#hasSameColumns = text?.columns === undefined || text.columns.join('\n') === redactor.names(columns).join('\n');
    this.#oldest = old?.maxAge === undefined ? 0 : Date.now() - old.maxAge;
  }

  /** Opens the earlier output. A resumed run takes no rows that its earlier part has taken over. */
  static async open(parts: RecordMemoryParts): Promise<RecordMemory> {
    const { old, log } = parts;
    const memory = new RecordMemory(parts, old && (await OldOutputText.open(old.out, old.memory)));
    for await (const { hash, taken } of log?.entries() ?? []) {
      if (taken > 0) memory.#records?.take(hash, (entry) => entry.taken === taken);
    }
    return memory;
  }

  /** The record with its old rows, if it has not changed. */
  takeOver(item: Item): Item {
    const text = this.#text;
    if (!text || item.failure || item.parked || !this.#canWrite(item.fields)) return item;
    const found = this.#records?.take(this.#hashOf(item.fields), ({ atMs }) => atMs >= this.#oldest);
    if (!found) return item;
    const whole = this.#wholeOf(item.fields);
    const isSame = this.#hasSameColumns && whole.equals(found.whole);
    const { between } = this.#renderer.writer;
    // The text is read when it is the turn of the record.
    const parked: RowsText = {
      rows: found.rows,
      get text() {
        return isSame ? text.text(found, between) : rebuilt();
      },
    };
    const rebuilt = () =>
      this.#renderer
        .texts(
          text.rows(found).map((row) => this.#withNewValues(row, item.fields)),
          false,
        )
        .join('');
    return { ...item, parked, unchanged: { ...found, whole } };
  }

  rememberedAs(item: Item, rows: number): RememberedRows | undefined {
    if (this.#parts.isPassedThrough?.(item.number)) return undefined;
    if (item.unchanged) return item.unchanged as RememberedRows;
    return { hash: this.#hashOf(item.fields), whole: this.#wholeOf(item.fields), atMs: Date.now(), start: 0, end: 0, rows, taken: 0 };
  }

  close(): void {
    this.#records?.close();
    this.#text?.close();
  }

  /** False for a broken character that a table cannot hold: then the record fails as it would in a run. */
  #canWrite(fields: Fields): boolean {
    if (this.#text?.columns === undefined) return true;
    for (const value of fields.values()) if (typeof value === 'string' && !value.isWellFormed()) return false;
    return true;
  }

  #hashOf(fields: Fields): Buffer {
    const read = [...fields].filter(([name]) => this.#uses.of(name) === 'read').sort(([one], [other]) => (one < other ? -1 : 1));
    return this.#digest(read).subarray(0, 16);
  }

  #wholeOf(fields: Fields): Buffer {
    return this.#digest([...fields].filter(([name]) => this.#uses.of(name) !== 'set')).subarray(0, 8);
  }

  #digest(fields: Iterable<readonly [string, Parameters<typeof jsonOf>[0]]>): Buffer {
    let text = this.#key;
    for (const [name, value] of fields) text += `${JSON.stringify(name)}:${jsonOf(value)},`;
    return hash('sha256', text, 'buffer');
  }

  /** An old row with the values that a run would pass on unread from the record. */
  #withNewValues(old: Fields, fields: Fields): Fields {
    const row = new Map<string, Parameters<typeof jsonOf>[0]>();
    for (const [name, value] of fields) {
      if (this.#uses.of(name) === 'passes') row.set(name, value);
      else if (old.has(name)) row.set(name, old.get(name) ?? null);
    }
    const columns = this.#uses.columnsAfter(fields);
    for (const [name, value] of old) if (!row.has(name) && !fields.has(name) && columns.has(name)) row.set(name, value);
    return row;
  }
}
