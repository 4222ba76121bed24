import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { AutomateError } from '../core/failure.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { gunzip } from '../records/utf8.ts';
import type { OldPart } from './record-text.ts';

/** A retry copies this output and inserts the rows of the records that had failed. All positions are in bytes of uncompressed text. */
export interface OldOutput {
  readonly path: string;
  readonly gzip: boolean;
  readonly firstRow: number;
  readonly rowsEnd: number;
  placeOf(record: number): number;
}

/** Copies an earlier output in parts. Their text must be read from beginning to end, and only once. */
export class OldRows {
  readonly #old: OldOutput;
  readonly #text: OldText;
  copied: number;

  constructor(old: OldOutput, copied: number) {
    this.#old = old;
    this.copied = copied;
    this.#text = new OldText(old, copied);
  }

  get hasRows(): boolean {
    return this.copied > this.#old.firstRow;
  }

  /** The rows before a failed record that have not been copied yet. */
  before(record: number): OldPart | undefined {
    return this.#upTo(this.#old.placeOf(record));
  }

  rest(): OldPart | undefined {
    return this.#upTo(this.#old.rowsEnd);
  }

  close(): Promise<void> {
    return this.#text.close();
  }

  #upTo(end: number): OldPart | undefined {
    const { copied } = this;
    if (end <= copied) return undefined;
    this.copied = end;
    const { firstRow } = this.#old;
    return { isFirst: copied === firstRow, hasRows: end > firstRow, texts: () => this.#text.upTo(end) };
  }
}

const chunkBytes = 256 * 1024;

/** Decompresses the text if necessary. */
class OldText {
  readonly #path: string;
  readonly #chunks: AsyncGenerator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #at: number;
  readonly #start: number;

  constructor({ path, gzip }: OldOutput, start: number) {
    this.#path = path;
    this.#start = start;
    // A gzipped file has to be read from its beginning, because a position in the text does not correspond to a known position in the file.
    this.#at = gzip ? 0 : start;
    const chunks = chunksOf(path, this.#at);
    this.#chunks = gzip ? gunzip(chunks, path) : chunks;
  }

  async *upTo(end: number): AsyncGenerator<string> {
    while (this.#at < this.#start) await this.#take(this.#start);
    const decoder = new StringDecoder('utf8');
    while (this.#at < end) yield decoder.write(await this.#take(end));
  }

  async close(): Promise<void> {
    await this.#chunks.return(undefined);
  }

  async #take(end: number): Promise<Buffer> {
    if (this.#rest.length === 0) {
      const { value, done } = await namingErrors(this.#path, 'read', () => this.#chunks.next());
      if (done) throw new AutomateError('output', `${this.#path} was changed during the retry`);
      this.#rest = value;
    }
    const taken = this.#rest.subarray(0, end - this.#at);
    this.#rest = this.#rest.subarray(taken.length);
    this.#at += taken.length;
    return taken;
  }
}

async function* chunksOf(path: string, start: number): AsyncGenerator<Buffer> {
  yield* createReadStream(path, { start, highWaterMark: chunkBytes });
}
