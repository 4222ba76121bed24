import type { Readable } from 'node:stream';
import { constants, gunzipSync } from 'node:zlib';
import type { Format } from '../format.ts';
import { encodingOf } from './encoding.ts';

/** Blank bytes after which stdin is taken for CSV. */
const maxBlankBytes = 65_536;

/** Facts about stdin that options name. */
export interface NamedFacts {
  readonly encoding?: string | undefined;
  readonly kind?: Format['kind'] | undefined;
  /** True if an object holds the records: `{` is JSON then. */
  readonly isWrapped?: boolean;
}

/**
 * Detects the format of stdin from its first bytes, which can still be read afterwards: gzip by its first two bytes, a workbook by its first
 * four, then `[` is JSON, `{` NDJSON, and anything else CSV. Waits until stdin has enough bytes.
 */
export async function tellFormat(stdin: Readable, { encoding = 'utf-8', kind, isWrapped = false }: NamedFacts = {}): Promise<Format> {
  const label = encodingOf(encoding);
  let head = Buffer.alloc(0);
  for (;;) {
    const chunk = stdin.read() as Buffer | string | null;
    if (chunk === null) {
      if (stdin.readableEnded || stdin.destroyed) return { kind: kind ?? 'csv', gzip: isGzip(head) };
      await moreOf(stdin);
      continue;
    }
    head = Buffer.concat([head, Buffer.from(chunk as Buffer)]);
    const format = formatOfHead(head, label, kind);
    if (!format) continue;
    stdin.unshift(head);
    return isWrapped && format.kind === 'ndjson' && kind === undefined ? { ...format, kind: 'json' } : format;
  }
}

/** The first bytes of an archive with a file in it, as a workbook is one. */
const zipStart = 'PK\x03\x04';

/** The format of the first bytes; undefined if more bytes are needed. */
function formatOfHead(head: Buffer, encoding: string, kind: Format['kind'] | undefined): Format | undefined {
  if (head.length < 2 && head[0] === 0x1f) return undefined;
  const gzip = isGzip(head);
  if (kind) return { kind, gzip: gzip && kind !== 'xlsx' };
  if (zipStart.startsWith(head.toString('latin1', 0, 4))) return head.length < 4 ? undefined : { kind: 'xlsx', gzip: false };
  const text = gzip ? unzippedHead(head) : head;
  const [first] = new TextDecoder(encoding).decode(text, { stream: true }).trimStart();
  if (first === undefined) return text.length > maxBlankBytes ? { kind: 'csv', gzip } : undefined;
  return { kind: first === '[' ? 'json' : first === '{' ? 'ndjson' : 'csv', gzip };
}

/** True if the bytes begin like gzip (RFC 1952, 2.3.1). */
function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

/** The text at the beginning; empty if the bytes are broken, which reading them reports. */
function unzippedHead(head: Buffer): Buffer {
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return Buffer.from('?');
  }
}

function moreOf(stdin: Readable): Promise<void> {
  const events = ['readable', 'end', 'error', 'close'];
  return new Promise((resolve) => {
    const listener = () => {
      for (const event of events) stdin.off(event, listener);
      resolve();
    };
    for (const event of events) stdin.on(event, listener);
  });
}
