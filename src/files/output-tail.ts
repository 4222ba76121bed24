import { StringDecoder } from 'node:string_decoder';

const maxLength = 2000;

/**
 * Keeps the last lines of a program's stderr for error messages. It drops only whole lines, because a secret that is cut in half could not
 * be masked.
 */
export class OutputTail {
  readonly #decoder = new StringDecoder('utf8');
  #text = '';
  /** True if the next chunk continues a line whose beginning was dropped. The rest of that line is dropped too. */
  #isWithinLine = false;

  add(chunk: Buffer): void {
    const added = this.#decoder.write(chunk);
    this.#text += this.#isWithinLine ? added.slice(added.indexOf('\n') + 1 || added.length) : added;
    this.#isWithinLine &&= !added.includes('\n');
    if (this.#text.length <= maxLength) return;
    const start = this.#text.indexOf('\n', this.#text.length - maxLength - 1) + 1;
    this.#isWithinLine = start === 0;
    this.#text = this.#isWithinLine ? '' : this.#text.slice(start);
  }

  /** Returns the last five lines that are not part of a stack trace. */
  lines(): string {
    const lines = this.#text.trim().split('\n');
    return lines
      .filter((line) => !/^\s+at /.test(line))
      .slice(-5)
      .join('\n');
  }
}
