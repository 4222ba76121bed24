import type { HttpResponse } from '../../core/ports.ts';
import { orUndefined } from '../../core/value/value.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads headers by their lower-case names. Several values of one header are joined by `, `. */
export function headerReader(headers: HttpResponse['headers']): HttpResponse['header'] {
  return (name) => {
    if (!Object.hasOwn(headers, name)) return undefined;
    const value = headers[name];
    if (value === undefined) return undefined;
    return toText(typeof value === 'string' ? value : value.join(', '));
  };
}

/** Headers come as one character per byte. They are read as UTF-8, as they are written, if they are valid UTF-8. */
function toText(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text;
  return orUndefined(() => utf8.decode(Buffer.from(text, 'latin1'))) ?? text;
}
