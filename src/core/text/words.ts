/**
 * Splits a command line into words as a POSIX shell does (IEEE Std 1003.1-2024, 2.2, with `$'...'`). Only quotes and backslashes are
 * special. Throws an Error if a quote is not closed, or if the line contains no word.
 */
export function wordsOf(text: string): [string, ...string[]] {
  const words: string[] = [];
  let rest = withoutBlanks(text);
  while (rest !== '') {
    const found = word.exec(rest)?.[0] ?? '';
    if (found === '') throw new Error(`a quote in the command is not closed: ${rest.charAt(0)}`);
    words.push(found.replace(piece, unquoted));
    rest = rest.slice(found.length);
    if (rest !== '' && !/^\s/.test(rest)) throw new Error(`a quote in the command is not closed: ${rest.charAt(0)}`);
    rest = withoutBlanks(rest);
  }
  const [program, ...more] = words;
  if (program === undefined || program === '') throw new Error('expected a command such as npx -y @scope/server, found nothing');
  return [program, ...more];
}

/** Converts an option's name in camel case: `inFormat` becomes `in-format`. */
export function lowerCaseName(name: string, separator: '-' | '_'): string {
  return name.replace(/[A-Z]/g, (letter) => separator + letter.toLowerCase());
}

const word = /^(?:\$'(?:[^'\\]|\\.)*'|'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+/s;

const piece = /\$'(?<dollar>(?:[^'\\]|\\.)*)'|'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\.)*)"|\\(?<escaped>\r?\n|.)/gs;

/** Removes leading blanks. A backslash at the end of a line counts as a blank, because it continues the command on the next line. */
function withoutBlanks(text: string): string {
  return text.replace(/^(?:\s|\\\r?\n)+/, '');
}

function unquoted(...match: unknown[]): string {
  const { dollar, single, double, escaped } = match.at(-1) as Readonly<Record<string, string | undefined>>;
  if (dollar !== undefined) return dollar.replace(escapeSequence, unescaped);
  return single ?? double?.replace(/\\(?:\r?\n|(["\\$`]))/g, '$1') ?? escaped?.replace(/^\r?\n$/, '') ?? '';
}

/** Matches an escape sequence in `$'...'`: bytes of UTF-8, a code point, or a character. */
const escapeSequence =
  /(?<bytes>(?:\\x[\da-fA-F]{1,2}|\\[0-7]{1,3})+)|\\(?:u(?<short>[\da-fA-F]{1,4})|U(?<long>[\da-fA-F]{1,8}))|\\(?<character>.)/gs;

const characters: Readonly<Record<string, string>> = { a: '\x07', b: '\b', e: '\x1b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

function unescaped(...match: unknown[]): string {
  const { bytes, short, long, character = '' } = match.at(-1) as Readonly<Record<string, string | undefined>>;
  if (bytes !== undefined) return new TextDecoder().decode(Uint8Array.from(bytes.split('\\').slice(1), byteOf));
  const point = short ?? long;
  return point === undefined ? (characters[character] ?? character) : String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(point, 16)));
}

function byteOf(written: string): number {
  return written.startsWith('x') ? Number.parseInt(written.slice(1), 16) : Number.parseInt(written, 8);
}
