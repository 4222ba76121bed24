/** Where a text stops being JSON, and why. */
export interface JsonFault {
  /** 0-based, in the text. */
  readonly offset: number;
  readonly message: string;
}

const expectations = {
  value: 'a value',
  'value or ]': 'a value or "]"',
  name: 'a name in double quotes',
  'name or }': 'a name in double quotes or "}"',
  ':': '":"',
  next: '',
  quote: 'a closing quote',
  escape: 'an escape such as \\n or \\u00e9',
};
type Expectation = keyof typeof expectations;

/**
 * The first place where a text that JSON.parse refuses is not JSON (RFC 8259). JSON.parse itself does not always tell.
 * `end` is what the end of the text is called. Absent when the text is JSON.
 */
export function jsonFault(text: string, end: string): JsonFault | undefined {
  let expecting = 'value' as Expectation;
  // The brackets that are due, the innermost last.
  const closing: string[] = [];
  let at = afterSpace(text, 0);
  while (at < text.length || expecting !== 'next' || closing.length > 0) {
    const length = take(text[at]);
    if (length === 0) return { offset: at, message: `expected ${expected()}, found ${found()}` };
    at = afterSpace(text, at + length);
  }
  return undefined;

  /** Takes a token and answers its length; 0 when it is none that may stand there. */
  function take(char: string | undefined): number {
    const canClose = expecting === 'next' || expecting.includes(' or ');
    if (canClose && char !== undefined && char === closing.at(-1)) return closed();
    if (expecting === 'next') return char === ',' && closing.length > 0 ? then(closing.at(-1) === '}' ? 'name' : 'value') : 0;
    if (expecting === ':') return char === ':' ? then('value') : 0;
    if (char === '"') return takeString();
    if (expecting.startsWith('name')) return 0;
    if (char === '{' || char === '[') return opened(char);
    return then('next', scalarLength(text, at));
  }

  function then(next: Expectation, length = 1): number {
    if (length > 0) expecting = next;
    return length;
  }

  function opened(bracket: '{' | '['): number {
    closing.push(bracket === '{' ? '}' : ']');
    return then(bracket === '{' ? 'name or }' : 'value or ]');
  }

  function closed(): number {
    closing.pop();
    return then('next');
  }

  function takeString(): number {
    const close = stringEnd(text, at);
    if (text[close] === '"') return then(expecting.startsWith('name') ? ':' : 'next', close + 1 - at);
    at = close;
    expecting = text[close] === '\\' ? 'escape' : 'quote';
    return 0;
  }

  function expected(): string {
    if (expecting !== 'next') return expectations[expecting];
    return closing.length === 0 ? 'nothing more' : `"," or "${closing.at(-1)}"`;
  }

  function found(): string {
    if (expecting === 'escape') return JSON.stringify(text.slice(at, at + 2));
    const code = text.codePointAt(at);
    return code === undefined ? end : JSON.stringify(String.fromCodePoint(code));
  }
}

function afterSpace(text: string, start: number): number {
  let at = start;
  while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
  return at;
}

const escapeSequence = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** The offset of the closing quote, or of what is wrong before it. */
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
