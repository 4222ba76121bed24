import type { AutomateError } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import { inputError, type Position, type RecordReader } from './record-reader.ts';

/** Wraps another reader and limits the size of its records, because memory use depends on the largest record. */
export class BoundedReader implements RecordReader {
  readonly #reader: RecordReader;
  readonly #name: string;
  readonly #max: number;
  /** The position after the last record that was not too long. */
  #end: Pick<Position, 'offset' | 'line'>;
  #receivedBytes: number;
  #fault: AutomateError | undefined;

  constructor(reader: RecordReader, { name, max, from }: { readonly name: string; readonly max: number; readonly from: Position }) {
    this.#reader = reader;
    this.#name = name;
    this.#max = max;
    this.#end = from;
    this.#receivedBytes = from.offset;
  }

  header(): readonly string[] | undefined {
    return this.#reader.header?.();
  }

  openFields(): readonly string[] {
    return this.#reader.openFields?.() ?? [];
  }

  async write(chunk: Buffer): Promise<Item[]> {
    if (this.#fault) throw this.#fault;
    const items = this.#bounded(await this.#reader.write(chunk));
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes - this.#end.offset > this.#max) this.#fault ??= this.#tooLong();
    if (this.#fault && items.length === 0) throw this.#fault;
    return items;
  }

  async end(): Promise<Item[]> {
    if (this.#fault) throw this.#fault;
    return this.#reader.end();
  }

  fault(): AutomateError | undefined {
    return this.#fault ?? this.#reader.fault?.();
  }

  /**
   * Returns the records before the first one that is too long. If there is one that is too long, the next call of `write` throws an error.
   */
  #bounded(items: Item[]): Item[] {
    for (const [index, { end }] of items.entries()) {
      if (end.offset - this.#end.offset > this.#max) {
        this.#fault = this.#tooLong();
        return items.slice(0, index);
      }
      this.#end = end;
    }
    return items;
  }

  #tooLong(): AutomateError {
    return inputError(this.#name, `expected a record of at most ${this.#max / 1e6} MB, found a longer one`, { line: this.#end.line + 1 });
  }
}
