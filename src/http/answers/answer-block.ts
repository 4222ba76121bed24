import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { BatchPart, FoundAnswer, HttpResponse, KeptAnswer, KeptQuestion } from '../../core/ports.ts';
import type { ToolAnswer } from '../../core/tools.ts';
import { parseJson } from '../../core/value/json.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { headerReader } from '../header.ts';

/** An answer in the file, with the place of the record that got it. `record` and `place` change if another record uses it up. */
export interface StoredAnswer {
  readonly number: number;
  /** The key of the request. If it is long or contains a secret: `#`, its hash, and on the next line its beginning with secrets masked. */
  readonly key: string;
  record: number;
  place: string;
  readonly node: string;
  readonly at: number;
  readonly ms: number;
  readonly attempts: number;
  /** 0 for a tool. */
  readonly status: number;
  /** The headers of the response as JSON; empty for a tool. */
  readonly head: string;
  readonly redirectedTo: HttpResponse['redirectedTo'];
  readonly extra: string | undefined;
  /** Empty for a part of a batch, whose answer has the body. */
  readonly body: Uint8Array;
  readonly part: BatchPart | undefined;
}

export type AnswerContent = Pick<StoredAnswer, 'status' | 'head' | 'redirectedTo' | 'body'>;

export function contentOf({ response }: KeptAnswer): AnswerContent {
  if ('kind' in response)
    return { status: 0, head: '', redirectedTo: undefined, body: Buffer.from(jsonOf([response.body, response.text])) };
  const { status, headers, body, redirectedTo } = response;
  return { status, head: JSON.stringify(headers), redirectedTo, body };
}

export function storedAnswer(
  { record, place, node }: KeptQuestion,
  { arrival: { atMs: at, ms, attempts }, extra }: KeptAnswer,
  rest: AnswerContent & Pick<StoredAnswer, 'number' | 'key' | 'part'>,
): StoredAnswer {
  return { ...rest, record, place, node, at, ms, attempts, extra: extra === undefined ? undefined : jsonOf(extra) };
}

/** Headers as they were last parsed: the answers of a second mostly have the same. */
const heads = new Map<string, HttpResponse['headers']>();
const maxHeads = 64;

/** `body` is that of the whole batch if the answer is a part of one. */
export function foundAnswer(
  { number, at, ms, attempts, status, head, redirectedTo, extra, part }: StoredAnswer,
  body: Uint8Array,
): FoundAnswer {
  const response = status === 0 ? toolAnswer(body) : httpResponse(status, headersOf(head), body, redirectedTo);
  const found = { number, arrival: { atMs: at, ms, attempts }, response, part };
  return extra === undefined ? found : { ...found, extra: parseJson(extra) };
}

function toolAnswer(bytes: Uint8Array): ToolAnswer {
  const [body, text] = parseJson(Buffer.from(bytes).toString('utf8')) as [Value, string];
  return { kind: 'tool', isError: false, body, text };
}

function httpResponse(
  status: number,
  headers: HttpResponse['headers'],
  body: Uint8Array,
  redirectedTo: HttpResponse['redirectedTo'],
): HttpResponse {
  const response = { status, headers, header: headerReader(headers), body, endedByClose: false, retryAfterMs: undefined };
  return redirectedTo ? { ...response, redirectedTo } : response;
}

function headersOf(head: string): HttpResponse['headers'] {
  let headers = heads.get(head);
  if (headers) return headers;
  headers = JSON.parse(head) as HttpResponse['headers'];
  if (heads.size >= maxHeads) heads.clear();
  heads.set(head, headers);
  return headers;
}

type PackedAnswer = readonly [
  number: number,
  key: string,
  record: number,
  place: string,
  node: string,
  at: number,
  ms: number,
  attempts: number,
  status: number,
  head: number,
  redirectedTo: HttpResponse['redirectedTo'] | 0,
  extra: string | 0,
  bytes: number,
  part: readonly [of: number, position: number, count: number] | 0,
];

const lengthBytes = 4;

/** One text with everything but the bodies, and then the bodies, compressed together: answers of one server are alike. */
export function packBlock(answers: readonly StoredAnswer[]): Buffer {
  const heads = new Map<string, number>();
  const rows = answers.map((one): PackedAnswer => {
    const head = heads.get(one.head) ?? heads.size;
    heads.set(one.head, head);
    const { number, key, record, place, node, at, ms, attempts, status, redirectedTo, extra, body, part } = one;
    const partRow = part ? ([part.of, part.position, part.count] as const) : 0;
    return [number, key, record, place, node, at, ms, attempts, status, head, redirectedTo ?? 0, extra ?? 0, body.length, partRow];
  });
  const text = Buffer.from(JSON.stringify([[...heads.keys()], rows]));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(text.length);
  return deflateRawSync(Buffer.concat([length, text, ...answers.map(({ body }) => body)]), { level: 3 });
}

export function unpackBlock(packed: Uint8Array): StoredAnswer[] {
  const bytes = inflateRawSync(packed);
  const bodiesAt = lengthBytes + bytes.readUInt32LE();
  const [heads, rows] = JSON.parse(bytes.toString('utf8', lengthBytes, bodiesAt)) as [string[], PackedAnswer[]];
  let at = bodiesAt;
  return rows.map(([number, key, record, place, node, when, ms, attempts, status, head, redirectedTo, extra, length, part]) => {
    const body = bytes.subarray(at, at + length);
    at += length;
    return {
      ...{ number, key, record, place, node, at: when, ms, attempts, status, head: heads[head] as string, body },
      redirectedTo: redirectedTo || undefined,
      extra: extra === 0 ? undefined : extra,
      part: part ? { of: part[0], position: part[1], count: part[2] } : undefined,
    };
  });
}
