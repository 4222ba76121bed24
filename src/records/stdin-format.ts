import type { Readable } from 'node:stream';
import { constants, gunzipSync } from 'node:zlib';
import { type Format, formatKinds, traitsOf, usualFormat } from './formats.ts';
import { encodingOf } from './utf8.ts';

/** After this much whitespace, stdin is assumed to be CSV. */
const maxBlankBytes = 65_536;

/** The user's options about stdin. */
interface NamedFacts {
  readonly encoding?: string;
  readonly kind?: Format['kind'];
  /** The records are inside an object. Text that begins with `{` is then JSON. */
  readonly isWrapped?: boolean;
}

/**
 * Looks at stdin's first bytes, which can be read again: two identify gzip, four a workbook. Otherwise `[` is JSON, `{` NDJSON, and
 * anything else CSV. Resolves once enough bytes have arrived, with undefined if stdin is empty and its kind is not known.
 */
export async function tellFormat(
  stdin: Readable,
  { encoding = 'utf-8', kind, isWrapped = false }: NamedFacts = {},
): Promise<Format | undefined> {
  const label = encodingOf(encoding);
  let head = Buffer.alloc(0);
  for (;;) {
    const chunk = stdin.read() as Buffer | string | null;
    if (chunk === null) {
      if (!stdin.readableEnded && !stdin.destroyed) {
        await moreOf(stdin);
        continue;
      }
      if (kind === undefined && head.length === 0) return undefined;
      return { kind: kind ?? usualFormat.kind, gzip: isGzip(head) };
    }
    head = Buffer.concat([head, Buffer.from(chunk as Buffer)]);
    const format = formatOfHead(head, { label, kind, isWrapped });
    if (!format) continue;
    stdin.unshift(head);
    return format;
  }
}

interface HeadFacts extends Required<Pick<NamedFacts, 'isWrapped'>>, Pick<NamedFacts, 'kind'> {
  readonly label: string;
}

function formatOfHead(head: Buffer, { label, kind, isWrapped }: HeadFacts): Format | undefined {
  if (head.length < 2 && head[0] === 0x1f) return undefined;
  const gzip = isGzip(head);
  if (kind) return { kind, gzip: gzip && traitsOf({ kind }).text !== undefined };
  const archive = formatKinds.find((kind) => traitsOf({ kind }).firstBytes?.startsWith(head.toString('latin1', 0, 4)));
  if (archive) return head.length < 4 ? undefined : { kind: archive, gzip: false };
  const text = gzip ? unzippedHead(head) : head;
  // In UTF-16 of either byte order, the first bracket stands out without decoding.
  const shown =
    label === 'utf-16' ? text.toString('latin1').replace(/[\0\xfe\xff]/g, '') : new TextDecoder(label).decode(text, { stream: true });
  const [first] = shown.trimStart();
  if (first === undefined) return text.length > maxBlankBytes ? { ...usualFormat, gzip } : undefined;
  if (isWrapped && first === '{') return { kind: 'json', gzip };
  return { kind: formatKinds.find((kind) => traitsOf({ kind }).isBegunBy?.(first)) ?? usualFormat.kind, gzip };
}

/** The two bytes that identify gzip (RFC 1952, 2.3.1). */
function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b;
}

/** If decompression fails, returns text that looks like CSV. The input is then read as CSV, which reports the error. */
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
