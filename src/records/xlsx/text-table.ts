/** A list of strings that are stored in one buffer. Separate strings would need several times as much memory. */
export class TextTable {
  #bytes = Buffer.alloc(65_536);
  readonly #ends: number[] = [];
  #length = 0;

  get count(): number {
    return this.#ends.length;
  }

  /** The number of bytes of memory that the strings use. */
  get size(): number {
    return this.#length + 8 * this.#ends.length;
  }

  add(text: string): void {
    const most = this.#length + text.length * 3;
    if (most > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(most, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
    this.#ends.push(this.#length);
  }

  /** Returns the string at a 0-based index; undefined if there is none. */
  at(index: number): string | undefined {
    const end = this.#ends[index];
    return end === undefined ? undefined : this.#bytes.toString('utf8', index === 0 ? 0 : this.#ends[index - 1], end);
  }
}
