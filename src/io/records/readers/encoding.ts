import { AutomateError } from '../../../core/failure.ts';
import { inputError } from './input-error.ts';

/** An encoding's name, from its label (encoding.spec.whatwg.org, 4.2). Throws an AutomateError (`usage`) for an unknown one. */
export function encodingOf(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch (error) {
    throw new AutomateError(
      'usage',
      `--encoding: expected an encoding such as utf-8, latin1, windows-1252, utf-16le or shift_jis, found "${label}"`,
      { cause: error },
    );
  }
}

/** Turns text of another encoding into UTF-8. Throws an AutomateError (`input`) for bytes that the encoding does not have. */
export async function* transcoded(chunks: AsyncIterable<Buffer>, encoding: string, name: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let offset = 0;
  for await (const chunk of chunks) {
    const text = decode(() => decoder.decode(chunk, { stream: true }));
    offset += chunk.length;
    if (text !== '') yield Buffer.from(text);
  }
  const rest = decode(() => decoder.decode());
  if (rest !== '') yield Buffer.from(rest);

  function decode(next: () => string): string {
    try {
      return next();
    } catch (error) {
      const found = `found bytes that are none, at byte offset ${offset} or behind`;
      throw inputError(name, `expected ${encoding}, ${found}\nname the file's encoding: --encoding latin1`, error);
    }
  }
}
