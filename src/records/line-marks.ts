export const byteOrderMark = Buffer.from('\ufeff');

interface MarkedPart {
  readonly before: Buffer;
  /** A byte order mark follows. */
  readonly hasMark: boolean;
}

/** Finds byte order marks in the text of a CSV, and remembers the positions of those that the parser does not get. */
export class LineMarks {
  /** The beginning of a mark at the end of a chunk. */
  held: Buffer = Buffer.alloc(0);
  #lastByte: number | undefined;
  #fedBytes = 0;
  /** Positions in the text without the marks. */
  #dropped: number[] = [];
  #passedBytes = 0;
  readonly #isKnown = new Set<boolean>();

  split(chunk: Buffer): MarkedPart[] {
    const parts: MarkedPart[] = [];
    let rest = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    for (let at = rest.indexOf(byteOrderMark); at !== -1; at = rest.indexOf(byteOrderMark)) {
      parts.push({ before: rest.subarray(0, at), hasMark: true });
      rest = rest.subarray(at + byteOrderMark.length);
    }
    const open = [2, 1].find((length) => rest.length >= length && rest.subarray(-length).equals(byteOrderMark.subarray(0, length))) ?? 0;
    this.held = rest.subarray(rest.length - open);
    return [...parts, { before: rest.subarray(0, rest.length - open), hasMark: false }];
  }

  fed(bytes: Buffer): void {
    this.#fedBytes += bytes.length;
    this.#lastByte = bytes.at(-1);
  }

  /** Reading begins at the start of a line. */
  get isAfterLine(): boolean {
    return this.#lastByte === undefined || this.#lastByte === 0x0a || this.#lastByte === 0x0d;
  }

  drop(): void {
    this.#dropped.push(this.#fedBytes);
  }

  /** Bytes of the marks before the position of the parser that `pass` was called with last. */
  get passedBytes(): number {
    return this.#passedBytes;
  }

  /** Returns true if there is a mark between the last position and this one. */
  pass(position: number): boolean {
    const before = this.#passedBytes;
    while (this.#dropped.length > 0 && (this.#dropped[0] as number) < position) {
      this.#dropped.shift();
      this.#passedBytes += byteOrderMark.length;
    }
    return this.#passedBytes > before;
  }

  /** True once for each kind of line after a mark: a repeated header, and others. */
  isFirst(isHeader: boolean): boolean {
    const { size } = this.#isKnown;
    return this.#isKnown.add(isHeader).size > size;
  }
}
