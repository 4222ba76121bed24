/** Finds the ends of objects in chunks of JSON text. */
export interface ElementScanner {
  /**
   * The index behind the object that starts or goes on at `start`; absent when it goes on in the next chunk.
   * It ends early behind a byte that no JSON has there: so a broken object does not swallow the rest of the file.
   */
  end(chunk: Buffer, start: number): number | undefined;
}

const quote = 0x22;
const backslash = 0x5c;

/** Knows strings, escapes and brackets; all else is left to the parser. */
export function createElementScanner(): ElementScanner {
  // The closing brackets that are due, the innermost last.
  const closing: number[] = [];
  let quoted = false;
  let escaped = false;
  return { end };

  function end(chunk: Buffer, start: number): number | undefined {
    for (let at = start; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (escaped) escaped = false;
      else if (quoted) {
        if (byte === quote) quoted = false;
        else if (byte === backslash) escaped = true;
        else if (byte < 0x20) return at + 1;
      } else if (byte === quote) quoted = true;
      else if (byte === 0x7b || byte === 0x5b) closing.push(byte + 2);
      else if (byte === 0x7d || byte === 0x5d) {
        if (closing.pop() !== byte || closing.length === 0) return at + 1;
      }
    }
    return undefined;
  }
}
