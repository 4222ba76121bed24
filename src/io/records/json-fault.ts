/** Where a text stops being JSON, and why. */
export interface JsonFault {
  /** 0-based, in the text. */
  readonly offset: number;
  readonly message: string;
}

type Expecting = 'value' | 'value or ]' | 'name' | 'name or }' | ':' | 'next';

/**
 * The first place where a text that JSON.parse refuses is not JSON (RFC 8259). JSON.parse itself does not always tell.
 * `end` is what the end of the text is called. Absent when the text is JSON.
 */
export function jsonFault(text: string, end: string): JsonFault | undefined {
  // The brackets that are still to be closed.
  const closing: string[] = [];
  let expecting: Expecting = 'value';
  let at = 0;
  for (;;) {
    at = afterSpace(text, at);
    const char = text[at];
    if (char === undefined && expecting === 'next' && closing.length === 0) return undefined;
    if (expecting === 'next' && char !== undefined && char === closing.at(-1)) closing.pop();
    else if (expecting === 'next' && char === ',' && closing.length > 0) expecting = closing.at(-1) === '}' ? 'name' : 'value';
    else if (expecting === ':' && char === ':') expecting = 'value';
    else if ((expecting === 'value or ]' && char === ']') || (expecting === 'name or }' && char === '}')) {
      closing.pop();
      expecting = 'next';
    } else if (char === '"' && expecting !== 'next' && expecting !== ':') {
      const close = stringEnd(text, at);
      if (text[close] !== '"') return stringFault(close);
      expecting = expecting.startsWith('name') ? ':' : 'next';
      at = close;
    } else if (expecting.startsWith('value') && (char === '{' || char === '[')) {
      closing.push(char === '{' ? '}' : ']');
      expecting = char === '{' ? 'name or }' : 'value or ]';
    } else {
      const length = expecting.startsWith('value') ? scalarLength(text, at) : 0;
      if (length === 0) return { offset: at, message: `expected ${wanted()}, found ${found(at)}` };
      expecting = 'next';
      at += length - 1;
    }
    at++;
  }

  function wanted(): string {
    if (expecting === ':') return '":"';
    if (expecting === 'next') return closing.length === 0 ? 'nothing more' : `"," or "${closing.at(-1)}"`;
    if (expecting === 'name or }') return 'a name in double quotes or "}"';
    if (expecting === 'value or ]') return 'a value or "]"';
    return expecting === 'name' ? 'a name in double quotes' : 'a value';
  }

  function found(offset: number): string {
    const code = text.codePointAt(offset);
    return code === undefined ? end : JSON.stringify(String.fromCodePoint(code));
  }

  function stringFault(offset: number): JsonFault {
    if (text[offset] !== '\\') return { offset, message: `expected a closing quote, found ${found(offset)}` };
    return { offset, message: `expected an escape such as \\n or \\u00e9, found ${JSON.stringify(text.slice(offset, offset + 2))}` };
  }
}

function afterSpace(text: string, start: number): number {
  let at = start;
  while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
  return at;
}

const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** The offset of the closing quote, or of what is wrong before it. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) {
      escape.lastIndex = at;
      if (!escape.test(text)) return at;
      at = escape.lastIndex;
    } else if (code >= 0x20 && code !== 0x22) at++;
    else return at;
  }
}

const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function scalarLength(text: string, start: number): number {
  scalar.lastIndex = start;
  return scalar.test(text) ? scalar.lastIndex - start : 0;
}
