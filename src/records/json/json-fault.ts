import { escapedControls } from '../../core/text/quoted-word.ts';
import { maxDepth, tooDeep } from '../../core/value/json.ts';

interface JsonFault {
  /** 0-based. */
  readonly offset: number;
  readonly message: string;
}

/** The text that must come next, as worded in error messages. `next` is empty, because what is allowed then depends on the open brackets. */
export const expectations = {
  value: 'a value',
  'value or ]': 'a value or "]"',
  name: 'a name in double quotes',
  'name or }': 'a name in double quotes or "}"',
  ':': '":"',
  next: '',
  quote: 'a closing quote',
  escape: 'an escape such as \\n or \\u00e9',
};
/** The text that must come next in JSON. */
export type Expectation = keyof typeof expectations;

/** The first error (RFC 8259) or too deep value: JSON.parse often gives no position. Messages call the end of the text `end`. */
export function jsonFault(text: string, end: string): JsonFault | undefined {
  let expecting = 'value' as Expectation;
  // The brackets that are not closed yet. The innermost is the last.
  const closing: string[] = [];
  let at = afterSpace(text, 0);
  while (at < text.length || expecting !== 'next' || closing.length > 0) {
    if (closing.length > maxDepth) return { offset: at, message: tooDeep };
    const length = take(text[at]);
    if (length === 0) return { offset: at, message: `expected ${expected()}, found ${found()}` };
    at = afterSpace(text, at + length);
  }
  return undefined;

  /** Updates what may follow. Returns the token's length; 0 if the token is not allowed here. */
  function take(char: string | undefined): number {
    const canClose = expecting === 'next' || expecting.includes(' or ');
    if (canClose && char !== undefined && char === closing.at(-1)) return close();
    if (expecting === 'next') return char === ',' && closing.length > 0 ? expect(closing.at(-1) === '}' ? 'name' : 'value') : 0;
    if (expecting === ':') return char === ':' ? expect('value') : 0;
    if (char === '"') return takeString();
    if (expecting.startsWith('name')) return 0;
    if (char === '{' || char === '[') return open(char);
    return expect('next', scalarLength(text, at));
  }

  function expect(next: Expectation, length = 1): number {
    if (length > 0) expecting = next;
    return length;
  }

  function open(bracket: '{' | '['): number {
    closing.push(bracket === '{' ? '}' : ']');
    return expect(bracket === '{' ? 'name or }' : 'value or ]');
  }

  function close(): number {
    closing.pop();
    return expect('next');
  }

  function takeString(): number {
    const end = stringEnd(text, at);
    if (text[end] === '"') return expect(expecting.startsWith('name') ? ':' : 'next', end + 1 - at);
    at = end;
    expecting = text[end] === '\\' ? 'escape' : 'quote';
    return 0;
  }

  function expected(): string {
    if (expecting !== 'next') return expectations[expecting];
    return closing.length === 0 ? 'nothing more' : `"," or "${closing.at(-1)}"`;
  }

  function found(): string {
    if (expecting === 'escape') return escapedControls(JSON.stringify(text.slice(at, at + 2)));
    const code = text.codePointAt(at);
    return code === undefined ? end : escapedControls(JSON.stringify(String.fromCodePoint(code)));
  }
}

function afterSpace(text: string, start: number): number {
  let at = start;
  while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
  return at;
}

const escapeSequence = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** The closing quote, or the first error in the string. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) {
      escapeSequence.lastIndex = at;
      if (!escapeSequence.test(text)) return at;
      at = escapeSequence.lastIndex;
    } else if (code >= 0x20 && code !== 0x22) at++;
    else return at;
  }
}

const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function scalarLength(text: string, start: number): number {
  scalar.lastIndex = start;
  return scalar.test(text) ? scalar.lastIndex - start : 0;
}
