import { maxDepth } from '../../../../core/value/json.ts';

const quote = 0x22;
const backslash = 0x5c;

/** Finds the ends of objects in chunks of JSON text. Reads strings, escapes and brackets only; the parser checks the rest. */
export class ElementScanner {
  /** The closing brackets that are due, the innermost last. */
  readonly #closing: number[] = [];
  #isQuoted = false;
  #isEscaped = false;

  /**
   * The index after the object that starts or continues at `start`; absent if it continues in the next chunk.
   * Stops right after a byte that is not JSON there, so that a broken object does not swallow the rest of the file.
   */
  end(chunk: Buffer, start: number): number | undefined {
    // Locals: a loop over private fields takes much longer.
    const closing = this.#closing;
    let quoted = this.#isQuoted;
    let escaped = this.#isEscaped;
    let end: number | undefined;
    for (let at = start; at < chunk.length && end === undefined; at++) {
      const byte = chunk[at] as number;
      if (escaped) escaped = false;
      else if (quoted) {
        if (byte === quote) quoted = false;
        else if (byte === backslash) escaped = true;
        else if (byte < 0x20) end = at + 1;
      } else if (byte === quote) quoted = true;
      else if (isBracket(byte) && endsAt(byte, closing)) end = at + 1;
    }
    this.#isQuoted = quoted;
    this.#isEscaped = escaped;
    return end;
  }
}

function isBracket(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b || byte === 0x7d || byte === 0x5d;
}

/** Follows a bracket. True if it closes the object, or if the parser will refuse the object for it: one too many, or one too deep. */
function endsAt(bracket: number, closing: number[]): boolean {
  if (bracket === 0x7b || bracket === 0x5b) return closing.push(bracket + 2) > maxDepth;
  return closing.pop() !== bracket || closing.length === 0;
}
