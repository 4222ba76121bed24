import type { Item } from '../../../core/item.ts';
import { parseJson } from '../../../core/value/json.ts';
import { isObject } from '../../../core/value/value.ts';
import { Unreadable } from '../errors.ts';
import { jsonFault } from './json-fault.ts';
import { kindOf, recordOf } from './json-record.ts';
import { maxRecordBytes, type Position, type RecordReader, tooLong } from './record-reader.ts';

/** Reads one JSON object per line. A line that is none becomes a failed record. */
export function createNdjsonReader(name: string, from: Position): RecordReader {
  let { offset, line, records } = from;
  // The beginning of a line that the next chunk goes on with.
  let open: Buffer[] = [];
  let openBytes = 0;
  return { header: () => undefined, write, end };

  async function write(chunk: Buffer): Promise<Item[]> {
    const items: Item[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      take(lineText(chunk, start, end), end + 1 - start, items);
      start = end + 1;
    }
    if (start < chunk.length) keep(chunk.subarray(start));
    return items;
  }

  async function end(): Promise<Item[]> {
    const items: Item[] = [];
    if (openBytes > 0) take(Buffer.concat(open).toString(), 0, items);
    return items;
  }

  function keep(bytes: Buffer): void {
    open.push(bytes);
    openBytes += bytes.length;
    if (openBytes > maxRecordBytes) throw tooLong(name, line + 1, 'if the file is one JSON array, pass --in-format json');
  }

  function lineText(chunk: Buffer, start: number, end: number): string {
    if (openBytes === 0) return chunk.toString('utf8', start, end);
    return Buffer.concat([...open, chunk.subarray(start, end)]).toString();
  }

  function take(written: string, bytes: number, items: Item[]): void {
    const text = offset === 0 && written.startsWith('\ufeff') ? written.slice(1) : written;
    offset += openBytes + bytes;
    line++;
    if (openBytes > 0) [open, openBytes] = [[], 0];
    if (isBlank(text)) return;
    records++;
    items.push({ number: records, end: { offset, line }, ...contentOf(text, line) });
  }
}

function isBlank(text: string): boolean {
  return /^[ \t\r]*$/.test(text);
}

function contentOf(text: string, line: number): Pick<Item, 'fields' | 'failure'> {
  try {
    const value = parseJson(text);
    if (isObject(value)) return recordOf(value, text);
    const advice = line === 1 && Array.isArray(value) ? ' (a list of records: --in-format json)' : '';
    return broken(text, line, `expected an object, found ${kindOf(value)}${advice}`);
  } catch (error) {
    const fault = jsonFault(text, 'the end of the line');
    return broken(text, line, fault ? `${fault.message} at column ${fault.offset + 1}` : (error as Error).message);
  }
}

function broken(text: string, line: number, reason: string): Pick<Item, 'fields' | 'failure'> {
  const written = text.replace(/\r$/, '');
  return { fields: new Map(), failure: new Unreadable(`line ${line}: not a JSON object: ${reason}: ${written}`) };
}
