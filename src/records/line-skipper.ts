const lf = 0x0a;
const cr = 0x0d;

/** Skips lines at the beginning of a text, whatever is in them. A line ends with LF, CR LF or CR. */
export class LineSkipper {
  lines = 0;
  readonly #count: number;
  #isAfterCr = false;

  constructor(count: number) {
    this.#count = count;
  }

  /** The part of the chunk after the skipped lines; empty if it contains none. Once it is not empty, all bytes belong to the text. */
  rest(chunk: Buffer): Buffer {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      const endsPair = this.#isAfterCr && byte === lf;
      if (this.lines === this.#count && !endsPair) return chunk.subarray(at);
      this.#isAfterCr = byte === cr;
      if (byte === cr || (byte === lf && !endsPair)) this.lines++;
    }
    return chunk.subarray(chunk.length);
  }
}
