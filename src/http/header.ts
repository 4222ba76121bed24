import type { HttpResponse } from '../core/ports.ts';
import { orUndefined } from '../core/value/value.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a header by its lower-case name. Several values are joined with `, `. */
export function headerReader(headers: HttpResponse['headers']): HttpResponse['header'] {
  return (name) => {
    if (!Object.hasOwn(headers, name)) return undefined;
    const value = headers[name];
    if (value === undefined) return undefined;
    return toText(typeof value === 'string' ? value : value.join(', '));
  };
}

/** Decodes a header value as UTF-8. The value has one character per byte. If its bytes are not valid UTF-8, returns it unchanged. */
function toText(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text;
  return orUndefined(() => utf8.decode(Buffer.from(text, 'latin1'))) ?? text;
}
