import { createReadStream } from 'node:fs';
import { crc32 } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';
import { isLink, isNoFile } from '../../files/stat.ts';

/** Begins with a checksum, which reveals whether a crash or the disk has damaged the line. */
export function lineOf(value: unknown): string {
  const text = JSON.stringify(value);
  return `${checksum(text)} ${text}\n`;
}

/** Undefined if the line is damaged. */
export function parseLine(line: string): unknown {
  const text = line.slice(9);
  return line.slice(0, 9) === `${checksum(text)} ` ? JSON.parse(text) : undefined;
}

/** Leaves out a last line without line break, because it is incomplete. */
export async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]);
      begun = [];
      start = end + 1;
    }
    begun.push(chunk.subarray(start));
  }
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/**
 * Throws an AutomateError (`output-exists`) for a link or anything else that is not a regular file. Another user's link could make the run
 * read or overwrite a different file, and reading a pipe might never end.
 */
export function refuseNoFile(path: string, what: string): void {
  const found = isLink(path) ? 'a symbolic link' : isNoFile(path) ? 'not a file' : undefined;
  if (found === undefined) return;
  const facts = { code: 'place-refused', details: { of: 'out', isRemovable: true } } as const;
  throw new AutomateError('output-exists', `${path} is ${found}, which is not allowed for ${what}`, facts);
}
