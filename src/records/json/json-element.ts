import { maxDepth } from '../../core/value/json.ts';

const quote = 0x22;
const backslash = 0x5c;

/**
 * Finds the end of each object in chunks of JSON text. It looks only at strings, escapes and brackets, because the JSON parser checks
 * everything else.
 */
export class ElementScanner {
  /** The brackets that are not closed yet. The innermost is the last. */
  readonly #closing: number[] = [];
  #isQuoted = false;
  #isEscaped = false;

  /**
   * Returns the index after the end of the object that begins or continues at `start`. Returns undefined if the object continues in the
   * next chunk. An invalid byte also ends the object. Otherwise, an invalid object could extend to the end of the file.
   */
  end(chunk: Buffer, start: number): number | undefined {
    // The loop uses local variables, because private fields would make it much slower.
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

/**
 * Adds or removes a bracket that is not closed yet. Returns true if this bracket ends the object, does not match, or is nested too deeply.
 */
function endsAt(bracket: number, closing: number[]): boolean {
  if (bracket === 0x7b || bracket === 0x5b) return closing.push(bracket + 2) > maxDepth;
  return closing.pop() !== bracket || closing.length === 0;
}
