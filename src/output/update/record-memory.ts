import { hash } from 'node:crypto';
import type { Item, RowsText } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { Fields } from '../../core/record.ts';
import type { RunOptions, SetFields } from '../../core/run-options.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import type { Redactor } from '../../credentials/redact.ts';
import type { RecordWriter } from '../../records/format.ts';
import { createWriter } from '../../records/formats.ts';
import type { RecordSource } from '../../records/source.ts';
import type { OutputMemory } from '../output.ts';
import type { OutputPlan } from '../output-plan.ts';
import { Renderer } from '../renderer.ts';
import { type FoundMemory, hashBytes, type RememberedRows, type TruthLog, wholeBytes } from '../truth-file.ts';
import { JoinedValues } from './joined-values.ts';
import { OldRecords } from './old-records.ts';
import { OldOutputText } from './old-text.ts';

export interface OldFiles {
  readonly memory: FoundMemory;
  /** Temporary files are created next to this output. */
  readonly out: string;
  /** In ms; undefined for any age. */
  readonly maxAge: number | undefined;
}

/** For recognizing records of an earlier run, and remembering those of this run. */
interface RecordMemoryParts extends FlowOfRecords {
  /** Undefined for a run that only shows what it would do (`dryRun`). */
  readonly log?: TruthLog;
  readonly key: Buffer;
  readonly old: OldFiles | undefined;
  /** Empty for JSON. */
  readonly columns: readonly string[];
  readonly writer: RecordWriter;
  readonly redactor: Redactor;
  /** True for a record in the output that has failed (`on_error: keep`). The next run does not reuse its rows, but runs the record. */
  isPassedThrough?(record: number): boolean;
}

export type OfRun = Omit<RecordMemoryParts, 'set' | 'columns' | 'writer'> & {
  readonly options: RunOptions;
  readonly files: OutputPlan;
  readonly source: RecordSource;
};

export function openRecordMemory({ options, files, source, ...parts }: OfRun): Promise<RecordMemory> {
  const { set, csvSafe } = options;
  const columns = parts.plan.columns(source.columns ?? []);
  const writer = createWriter(files.format, columns, { csvSafe, hasTextCells: source.header !== undefined });
  return RecordMemory.open({ ...parts, set, columns, writer });
}

/** Recognizes records that have not changed since an earlier run, to reuse their rows, and remembers this run's records for the next. */
export class RecordMemory implements OutputMemory {
  readonly log: TruthLog | undefined;
  readonly #parts: RecordMemoryParts;
  readonly #key: string;
  readonly #uses: FieldUses;
  readonly #joined: JoinedValues | undefined;
  readonly #renderer: Renderer;
  readonly #between: string;
  readonly #records: OldRecords | undefined;
  readonly #text: OldOutputText | undefined;
  readonly #hasSameColumns: boolean;
  readonly #oldest: number;

  private constructor(parts: RecordMemoryParts, text: OldOutputText | undefined, joined: JoinedValues | undefined) {
    const { log, old, writer, redactor, columns, plan } = parts;
    this.log = log;
    this.#parts = parts;
    this.#key = parts.key.toString('hex');
    this.#uses = new FieldUses(parts);
    this.#joined = joined;
    this.#renderer = new Renderer(writer, redactor, plan.names);
    this.#between = writer.between;
    this.#records = old && new OldRecords(old.memory, old.out);
    this.#text = text;
    this.#hasSameColumns =
      text?.columns === undefined || text.columns.join('\n') === redactor.names(plan.names.allInFile(columns)).join('\n');
    this.#oldest = old?.maxAge === undefined ? 0 : Date.now() - old.maxAge;
  }

  /** In a resumed run, skips the rows that an earlier part of the run has already reused. */
  static async open(parts: RecordMemoryParts): Promise<RecordMemory> {
    const { old, log } = parts;
    const memory = new RecordMemory(parts, old && (await OldOutputText.open(old.out, old.memory)), await JoinedValues.of(parts.plan));
    for await (const { taken } of log?.entries() ?? []) if (taken > 0) memory.#records?.markTaken(taken);
    return memory;
  }

  /** Adds the earlier run's rows if the record has not changed since. */
  takeOver(item: Item): Item {
    const text = this.#text;
    const { plan } = this.#parts;
    if (!text || item.failure || item.parked || !this.#canWrite(item.fields)) return item;
    const whole = this.#wholeOf(item.fields);
    const found = this.#records?.takeFollowing(whole, this.#isRecent) ?? this.#records?.take(this.#hashOf(item.fields), this.#isRecent);
    if (!found) return item;
    const isSame = this.#hasSameColumns && whole === found.whole;
    const parked = new RowsOfRecord(
      found.rows,
      isSame
        ? () => text.text(found, this.#between)
        : () =>
            this.#rebuilt(
              text.rows(found).map((row) => plan.names.fieldsInFlow(row)),
              item.fields,
            ),
    );
    const { hash, atMs, start, end, rows, taken } = found;
    const unchanged: RememberedRows = { hash, whole, atMs, start, end, rows, taken };
    // Spreading the item would take a tenth of the time of an update. Without a place and `failedAs`, an item has only these fields, because
    // those with a failure or parked rows have been returned above.
    const isPlain = item.place === undefined && item.failedAs === undefined;
    return isPlain ? { number: item.number, fields: item.fields, end: item.end, parked, unchanged } : { ...item, parked, unchanged };
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

  /** False for a string of invalid Unicode, which a table cannot contain. The record is then run, so that it fails as in any other run. */
  #canWrite(fields: Fields): boolean {
    if (this.#text?.columns === undefined) return true;
    for (const value of fields.values()) if (typeof value === 'string' && !value.isWellFormed()) return false;
    return true;
  }

  readonly #isRecent = ({ atMs }: RememberedRows) => atMs >= this.#oldest;

  #hashOf(fields: Fields): string {
    const read = [...fields].filter(([name]) => this.#uses.of(name).use === 'read').sort(([one], [other]) => (one < other ? -1 : 1));
    const text = read.map(([name, value]) => `${this.#uses.of(name).json}:${jsonOf(value)},`).join('');
    return this.#digest(text + this.#joinedText(fields)).slice(0, hashBytes);
  }

  #wholeOf(fields: Fields): string {
    let text = '';
    for (const [name, value] of fields) {
      const { use, json } = this.#uses.of(name);
      if (use !== 'set') text += `${json}:${jsonOf(value)},`;
    }
    return this.#digest(text + this.#joinedText(fields)).slice(0, wholeBytes);
  }

  /** The values that joined files add to the record count like fields that it reads. */
  #joinedText(fields: Fields): string {
    return this.#joined?.textOf(fields) ?? '';
  }

  /** SHA-256 of the key and the text, as 32 characters from 0 to 255. */
  #digest(text: string): string {
    return hash('sha256', this.#key + text, 'binary');
  }

  /** Rows of the earlier run as text, with the record's current values. */
  #rebuilt(old: readonly Fields[], fields: Fields): string {
    const rows = old.map((row) => this.#withNewValues(row, fields));
    return this.#renderer.texts(rows, false).join('');
  }

  /** Puts the record's current values into fields that the nodes do not change, in the order of a new row. */
  #withNewValues(old: Fields, fields: Fields): Fields {
    const row = new Map<string, Value>();
    for (const name of this.#uses.columnsAfter(fields)) {
      const value = fields.has(name) && this.#uses.of(name).use === 'passes' ? fields.get(name) : old.get(name);
      if (value !== undefined) row.set(name, value);
    }
    return row;
  }
}

/** Read only when the record is written. */
class RowsOfRecord implements RowsText {
  readonly rows: number;
  readonly #read: () => string;

  constructor(rows: number, read: () => string) {
    this.rows = rows;
    this.#read = read;
  }

  get text(): string {
    return this.#read();
  }
}

/** A flow, and the fields that are set before its first node. */
interface FlowOfRecords {
  readonly plan: Plan;
  readonly set?: SetFields;
}

/**
 * `read`: nodes read, write or rename the input field. `passes`: it reaches the output unchanged. `gone`: it never does. `set`: the flow
 * gives it the same value in every record.
 */
type InputUse = 'read' | 'passes' | 'gone' | 'set';

interface KnownField {
  readonly use: InputUse;
  readonly json: string;
}

export class FieldUses {
  readonly #plan: Plan;
  readonly #set: ReadonlySet<string>;
  readonly #known = new Map<string, KnownField>();
  #columns: { readonly of: string; readonly after: ReadonlySet<string> } = { of: '', after: new Set() };

  constructor({ plan, set = [] }: FlowOfRecords) {
    this.#plan = plan;
    this.#set = new Set(set.map(([name]) => plan.names.inFlow(name)));
  }

  of(name: string): KnownField {
    const found = this.#known.get(name);
    if (found) return found;
    const known = { use: this.#find(name), json: JSON.stringify(name) };
    if (this.#known.size < maxKnown) this.#known.set(name, known);
    return known;
  }

  columnsAfter(fields: Fields): ReadonlySet<string> {
    const of = JSON.stringify([...fields.keys()]);
    if (of !== this.#columns.of) this.#columns = { of, after: new Set(this.#plan.columns([...fields.keys()])) };
    return this.#columns.after;
  }

  #find(name: string): InputUse {
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

/** Field names whose use is remembered. There can be any number, because each JSON record can have different fields. */
const maxKnown = 10_000;
