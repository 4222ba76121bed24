import { hash, randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AutomateError, invalidOption } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import type { Plan } from '../../core/plan.ts';
import { type Fields, isErrorField } from '../../core/record.ts';
import type { CountOrShare, RunOptions } from '../../core/run-options.ts';
import { counted, formatCount, goneNotes } from '../../core/text/number.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { textOf } from '../../core/value/value.ts';
import { refuseUnwritable } from '../../files/naming-errors.ts';
import { realFile } from '../../files/stat.ts';
import { createWriter, traitsOf } from '../../records/formats.ts';
import { inputLabel, inputPaths } from '../../records/inputs.ts';
import { openSource, type RecordSource } from '../../records/source.ts';
import { openRowsSink } from '../open-output.ts';
import type { OutputPlan } from '../output-plan.ts';
import { partPath } from '../replace.ts';
import { isRegularFile } from '../sink.ts';
import { SpillFiles } from '../spill.ts';
import { entriesOf, type FoundMemory, type RememberedRows } from '../truth-file.ts';
import { Table } from './old-records.ts';

export interface GoneCounts {
  readonly gone: number;
  readonly of: number;
  readonly repeated: number;
  /** Records of the new input whose key is unknown, because they cannot be read. */
  readonly unreadable: number;
}

const defaultMaxGone: CountOrShare = { share: 0.2 };

/** The records of an old output that are no longer in the input. */
export class GoneRecords {
  readonly #flow: Plan;
  readonly #options: RunOptions;
  readonly #files: OutputPlan;
  readonly #keyNames: readonly string[];
  /** Undefined if there is no output yet. */
  readonly #old: OldRowsWithKeys | undefined;
  readonly #keys: KeySet;
  /** The columns of the new output, for a gone file without old rows. */
  #newColumns: readonly string[] = [];
  #read = 0;
  #unreadable = 0;
  #counts: GoneCounts | undefined;

  /** Throws an AutomateError: `output-exists` if the old output lacks a column of the key, `output` if the gone file cannot be written. */
  static async open(flow: Plan, options: RunOptions, files: OutputPlan, memory: FoundMemory | undefined): Promise<GoneRecords | undefined> {
    if (!files.gone) return undefined;
    refuseUnwritable(files.gone.out);
    const records = new GoneRecords(flow, options, files, memory);
    await records.#old?.refuseMissing();
    return records;
  }

  private constructor(flow: Plan, options: RunOptions, files: OutputPlan, memory: FoundMemory | undefined) {
    this.#flow = flow;
    this.#options = options;
    this.#files = files;
    this.#keyNames = (options.goneKey ?? []).map((name) => flow.names.inFlow(name));
    const key = this.#keyNames.map((name) => flow.names.inFile(name));
    this.#old = isRegularFile(files.out) ? new OldRowsWithKeys(files, key, memory) : undefined;
    this.#keys = new KeySet(realFile(files.out));
  }

  /** False for stdin and pipes, which cannot be read before the run, so that their records are compared at its end. */
  get canReadFirst(): boolean {
    return inputPaths(this.#options).every(isRegularFile);
  }

  /** Undefined until the whole input has been read. */
  get counts(): GoneCounts | undefined {
    return this.#counts;
  }

  /** Remembers the keys of the records when they are read. Throws an AutomateError (`usage`) if the input lacks a column of the key. */
  watch(source: RecordSource): RecordSource {
    const { header, columns = [] } = source;
    const missing = header && this.#keyNames.find((name) => !header.includes(name));
    if (missing !== undefined) throw invalidOption('goneKey', `the input has no column "${missing}"${didYouMean(missing, header ?? [])}`);
    // A reader of the file would leave out `_error`, as the reader of the old output does.
    this.#newColumns = this.#flow.names.allInFile(this.#flow.columns(columns)).filter((name) => !isErrorField(name));
    const see = (item: Item) => this.#see(item);
    async function* read() {
      for await (const items of source.read()) {
        items.forEach(see);
        yield items;
      }
    }
    return { ...source, read };
  }

  /** Reads the whole input to compare it, and closes it. */
  async readFirst(source: RecordSource): Promise<void> {
    try {
      for await (const _ of this.watch(source).read());
    } finally {
      await source.close();
    }
    await this.refuseTooMany();
  }

  /** Only after the whole input has been read. */
  async count(): Promise<GoneCounts> {
    this.#counts ??= await this.#count();
    return this.#counts;
  }

  /** Throws an AutomateError (`stoppedEarly`) if too many records are gone. */
  async refuseTooMany(): Promise<void> {
    const counts = await this.count();
    if (this.#old) this.#refuse(counts);
  }

  /** Writes the gone file next to its final path. Throws an AutomateError (`stoppedEarly`) if too many records are gone. */
  async write(): Promise<void> {
    await this.refuseTooMany();
    const { gone } = this.#files;
    if (!gone) return;
    const part = partPath(gone.out);
    await rm(part, { force: true });
    const { csvSafe } = this.#options;
    const oldColumns = this.#old?.columns ?? [];
    const writer = createWriter(gone.format, oldColumns.length > 0 ? oldColumns : this.#newColumns, { csvSafe, hasTextCells: true });
    const spillFiles = new SpillFiles(() => join(dirname(part), `.${randomUUID()}.part`));
    const sink = await openRowsSink({ out: part, format: gone.format }, { space: undefined, spillFiles });
    try {
      await sink.write(writer.begin());
      let isFirst = true;
      for await (const rows of this.#goneRows()) {
        await sink.write(writer.write(rows, isFirst));
        isFirst = false;
      }
      await sink.write(writer.end(!isFirst));
      await sink.sync();
    } finally {
      await sink.close();
    }
  }

  close(): void {
    this.#keys.close();
  }

  async *#goneRows(): AsyncGenerator<readonly Fields[]> {
    for await (const rows of this.#old?.rows() ?? []) {
      const gone = rows.filter(({ key }) => this.#isGone(key)).map(({ fields }) => fields);
      if (gone.length > 0) yield gone;
    }
  }

  #see({ fields, failure }: Item): void {
    this.#read++;
    const key = keyOf(fields, this.#keyNames);
    if (key !== undefined) this.#keys.add(this.#old?.comparable(key) ?? key);
    else if (failure) this.#unreadable++;
  }

  #isGone(key: readonly string[] | undefined): boolean {
    return key !== undefined && !this.#keys.has(key);
  }

  async #count(): Promise<GoneCounts> {
    let [gone, of] = [0, 0];
    for await (const rows of this.#old?.records() ?? []) {
      of += rows.length;
      for (const { key } of rows) if (this.#isGone(key)) gone++;
    }
    return { gone, of, repeated: this.#keys.repeated, unreadable: this.#unreadable };
  }

  #refuse(counts: GoneCounts): void {
    const { gone, of } = counts;
    const { maxGone = defaultMaxGone } = this.#options;
    const [out, input] = [this.#files.out, inputLabel(this.#options)];
    if (this.#read === 0) {
      const whose = of === 0 ? `and ${out} has none` : `so all ${counted(of, 'record')} of ${out} would be gone`;
      const message = `${input} has no records, ${whose}: nothing is replaced`;
      throw new AutomateError('stoppedEarly', message, { code: 'too-many-gone', details: { allowed: undefined } });
    }
    const isTooMany = 'count' in maxGone ? gone > maxGone.count : gone / of > maxGone.share;
    if (!isTooMany) return;
    const limit = 'count' in maxGone ? formatCount(maxGone.count) : percentage(maxGone.share);
    const which = `${formatCount(gone)} of ${counted(of, 'record')} of ${out} ${gone === 1 ? 'is' : 'are'} gone from ${input}`;
    const message = [`${which}, more than ${limit}: nothing is replaced`, ...goneNotes(counts)].join('\n');
    const allowed = 'count' in maxGone ? String(gone) : percentage(Math.ceil((gone / of) * 100) / 100);
    throw new AutomateError('stoppedEarly', message, { code: 'too-many-gone', details: { allowed } });
  }
}

function percentage(share: number): string {
  return `${Number((share * 100).toFixed(6))}%`;
}

/** Undefined if a part of the key is missing or empty, because such a record cannot be recognized. */
function keyOf(fields: Fields, names: readonly string[]): string[] | undefined {
  const key = names.map((name) => textOf(fields.get(name) ?? null));
  return key.includes('') ? undefined : key;
}

interface OldRow {
  readonly fields: Fields;
  readonly key: readonly string[] | undefined;
  /** The position after the row, in bytes of text. */
  readonly end: number;
}

/** The rows of the old output, which is read from beginning to end each time. */
class OldRowsWithKeys {
  readonly #files: OutputPlan;
  readonly #key: readonly string[];
  readonly #memory: FoundMemory | undefined;
  /** All columns; complete after the first pass. */
  readonly #columns = new Set<string>();

  constructor(files: OutputPlan, key: readonly string[], memory: FoundMemory | undefined) {
    this.#files = files;
    this.#key = key;
    this.#memory = memory;
  }

  get columns(): readonly string[] {
    return [...this.#columns];
  }

  /** As the output has the key: a spreadsheet's formulas can have a `'` before them (`csvSafe`). */
  comparable(key: readonly string[]): readonly string[] {
    return traitsOf(this.#files.format).hasHeader ? key.map((text) => text.replace(/^'(?=[=+\-@\t\r])/, '')) : key;
  }

  async refuseMissing(): Promise<void> {
    const names = new Set<string>();
    const { out } = this.#files;
    for await (const rows of this.rows()) {
      for (const { fields } of rows) for (const name of fields.keys()) names.add(name);
      if (this.#key.every((name) => names.has(name))) return;
    }
    const columns = names.size > 0 ? names : this.#columns;
    const missing = this.#key.find((name) => !columns.has(name));
    if (columns.size === 0 || missing === undefined) return;
    const message = `${out} has no column "${missing}", so it is not known which of its records are gone${didYouMean(missing, columns)}`;
    throw new AutomateError('output-exists', message, { code: 'gone-unknown', details: {} });
  }

  /** The first row of each record. */
  async *records(): AsyncGenerator<readonly OldRow[]> {
    const bounds = new RecordBounds(this.#memory && entriesOf(this.#memory));
    try {
      for await (const rows of this.rows()) {
        const first: OldRow[] = [];
        for (const row of rows) if (await bounds.beginsBefore(row.end)) first.push(row);
        yield first;
      }
    } finally {
      await bounds.close();
    }
  }

  /** Throws an AutomateError (`output-exists`) if the file cannot be read. */
  async *rows(): AsyncGenerator<readonly OldRow[]> {
    const { out } = this.#files;
    const { delimiter, ...format } = this.#memory?.format ?? this.#files.format;
    let source: RecordSource | undefined;
    try {
      source = await openSource({ path: out, format, delimiter: delimiter ?? traitsOf(format).delimiter, stdin: process.stdin });
      for (const name of source.header ?? []) this.#columns.add(name);
      for await (const items of source.read()) {
        if (!source.header) for (const { fields } of items) for (const name of fields.keys()) this.#columns.add(name);
        yield items.map(({ fields, end }) => {
          const key = keyOf(fields, this.#key);
          return { fields, key: key && this.comparable(key), end: end.offset };
        });
      }
    } catch (error) {
      if (!(error instanceof AutomateError) || error.kind !== 'input') throw error;
      const message = `it is not known which records are gone: ${error.message}`;
      throw new AutomateError('output-exists', message, { code: 'gone-unknown', details: {}, cause: error });
    } finally {
      await source?.close();
    }
  }
}

/** Tells to which record of an output a row belongs. Without the remembered records, each row counts as a record of its own. */
class RecordBounds {
  readonly #entries: AsyncGenerator<RememberedRows> | undefined;
  #entry: RememberedRows | undefined;
  #counted: RememberedRows | undefined;

  constructor(entries: AsyncGenerator<RememberedRows> | undefined) {
    this.#entries = entries;
  }

  /** False if the row that ends there is not the first of its record. Must be called in the order of the rows. */
  async beginsBefore(end: number): Promise<boolean> {
    while (this.#entries && (this.#entry?.end ?? 0) < end) {
      const { value, done } = await this.#entries.next();
      if (done) return true;
      this.#entry = value;
    }
    // A failed record that `on_error: keep` has passed on is not remembered.
    if (!this.#entry || this.#entry.start >= end) return true;
    const isFirst = this.#entry !== this.#counted;
    this.#counted = this.#entry;
    return isFirst;
  }

  async close(): Promise<void> {
    await this.#entries?.return(undefined);
  }
}

/** Two numbers of the hash, and the state of the slot. */
const slotWidth = 3;
/** In bytes: enough for half a million keys, since every key is looked for, also in an unchanged input. */
const maxHeldKeys = 16 * 1024 * 1024;
const [once, repeatedly] = [1, 2];

/** Hashes of keys, with open addressing. A large set is in a file, so memory use hardly grows with the records. */
class KeySet {
  readonly #besides: string;
  #slots: Table;
  #size = 4096;
  #count = 0;
  /** The slot that was loaded last. */
  #loaded = 0;
  /** Number of keys that were added more than once. */
  repeated = 0;

  constructor(besides: string) {
    this.#besides = besides;
    this.#slots = new Table(this.#size, slotWidth, besides, maxHeldKeys);
  }

  add(key: readonly string[]): void {
    if (this.#count * 2 >= this.#size) this.#grow();
    const [first, second] = hashOf(key);
    const at = this.#find(first, second);
    const state = this.#slots.numbers[at + 2];
    if (state === repeatedly) return;
    if (state === once) this.repeated++;
    else this.#count++;
    this.#set(at, first, second, state === once ? repeatedly : once);
  }

  has(key: readonly string[]): boolean {
    const [first, second] = hashOf(key);
    return this.#slots.numbers[this.#find(first, second) + 2] !== 0;
  }

  close(): void {
    this.#slots.close();
  }

  /** Loads the slot of this hash, or the empty slot for it. Returns where it is in the table's numbers. */
  #find(first: number, second: number): number {
    const mask = this.#size - 1;
    const { numbers } = this.#slots;
    for (let slot = (first ^ second) & mask; ; slot = (slot + 1) & mask) {
      const at = this.#slots.load(slot);
      if (numbers[at + 2] !== 0 && (numbers[at] !== first || numbers[at + 1] !== second)) continue;
      this.#loaded = slot;
      return at;
    }
  }

  /** Changes the slot that was loaded last. */
  #set(at: number, first: number, second: number, state: number): void {
    const { numbers } = this.#slots;
    numbers[at] = first;
    numbers[at + 1] = second;
    numbers[at + 2] = state;
    this.#slots.save(this.#loaded);
  }

  #grow(): void {
    const [old, size] = [this.#slots, this.#size];
    this.#size = size * 4;
    this.#slots = new Table(this.#size, slotWidth, this.#besides, maxHeldKeys);
    for (let from = 0; from < size; from++) {
      const at = old.load(from);
      const [first = 0, second = 0, state = 0] = old.numbers.subarray(at, at + slotWidth);
      if (state === 0) continue;
      this.#set(this.#find(first, second), first, second, state);
    }
    old.close();
  }
}

function hashOf(key: readonly string[]): [first: number, second: number] {
  const digest = hash('sha256', JSON.stringify(key), 'buffer');
  return [digest.readUInt32BE(0), digest.readUInt32BE(4)];
}
