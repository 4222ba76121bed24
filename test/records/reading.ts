import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { messageWithAdvice } from '../../src/cli/advice.ts';
import type { AutomateError } from '../../src/core/failure.ts';
import type { Item } from '../../src/core/item.ts';
import { textOf, type Value } from '../../src/core/value/value.ts';
import { errorFields } from '../../src/records/errors-file.ts';
import { formatOfName } from '../../src/records/formats.ts';
import { openSource, type RecordSource, type SourceOptions } from '../../src/records/source.ts';

const folder = mkdtempSync(join(tmpdir(), 'records-'));
process.once('exit', () => rmSync(folder, { recursive: true }));

/** Writes a file and returns its path. */
export function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** Creates a stream with chunks of `chunkSize` bytes. */
function stream(content: string | Buffer, chunkSize = 65_536): Readable {
  const bytes = Buffer.from(content);
  const count = Math.ceil(bytes.length / chunkSize);
  return Readable.from(
    Array.from({ length: count }, (_, index) => bytes.subarray(index * chunkSize, (index + 1) * chunkSize)),
    { objectMode: true },
  );
}

/** Opens a file as an input. */
export function openFile(path: string, options: Partial<SourceOptions> = {}): Promise<RecordSource> {
  return openSource({ path, stdin: stream(''), ...options });
}

/** Opens a string as stdin. */
export function openText(
  format: string,
  content: string | Buffer,
  options: Partial<SourceOptions> & { chunkSize?: number } = {},
): Promise<RecordSource> {
  return openSource({ path: '-', stdin: stream(content, options.chunkSize), format: formatOfName(format), ...options });
}

/** Returns all records of an input. */
export async function itemsOf(source: Promise<RecordSource>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const chunk of (await source).read()) items.push(...chunk);
  return items;
}

/** Returns the fields of all records as strings, and the messages of failed records. */
export async function shown(source: Promise<RecordSource>): Promise<(string | Record<string, string>)[]> {
  return (await itemsOf(source)).map(
    (item) => item.failure?.message ?? Object.fromEntries([...item.fields].map(([name, value]) => [name, textOf(value)])),
  );
}

/** Returns the message of the error that ends the reading. */
export async function problem(source: Promise<RecordSource>): Promise<string> {
  try {
    await itemsOf(source);
  } catch (error) {
    return `${(error as AutomateError).kind}: ${messageWithAdvice(error as AutomateError)}`;
  }
  throw new Error('expected a problem, found none');
}

/** Returns the message that the errors file contains for an unreadable record. */
export function writtenError(item: Item | undefined): Value | undefined {
  if (!item?.failure) return undefined;
  return new Map(errorFields(item, item.failure, true)).get('_error_message');
}
