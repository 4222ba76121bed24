import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import type { ServedFlow } from '../../app/flow/flow-folder.ts';
import { loadSecrets } from '../../app/flow/flow-secrets.ts';
import type { SharedParts } from '../../app/flow-runtime.ts';
import { hasTextCells, isTable, openInput } from '../../app/input/input.ts';
import { createMessages } from '../../app/messages.ts';
import { detailsOf } from '../../core/error-code.ts';
import { AutomateError } from '../../core/failure.ts';
import { syncFolder } from '../../io/files/folder.ts';
import { writeDurably } from '../../io/files/state-file.ts';
import type { Format } from '../../io/records/format.ts';
import type { LetInKey } from '../caller.ts';
import { asProblem } from '../calls/calls.ts';
import { problemJson } from '../flows/flow-json.ts';
import { planWithVariables } from '../flows/flow-variables.ts';
import { messageForClient } from '../http/advice.ts';
import { Problem } from '../problem.ts';
import type { Reservation } from './disk-space.ts';
import { refuseUnpaid } from './paying.ts';
import type { RunFolder } from './run-folder.ts';
import type { StoredOptions } from './stored-run.ts';

/** The format of a body, from its headers. */
export interface BodyFormat {
  readonly kind: Format['kind'];
  readonly isGzip: boolean;
  readonly charset: string | undefined;
}

const kinds: Readonly<Record<string, BodyFormat['kind']>> = {
  'text/csv': 'csv',
  'text/tab-separated-values': 'tsv',
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
};

/** The content types of bodies with records. */
export const uploadTypes: readonly string[] = Object.keys(kinds);

/** Maximum size of a record of a body: memory depends on it. */
export const maxRecordBytes = 10_000_000;

/** Time without a byte after which an upload is cut off. */
const idleMs = 60_000;

/** A body may unpack to this many times the maximum. */
export const maxUnpacked = 10;

/** Finds the format of a body in its headers. Throws a Problem (`media-type`). */
export function bodyFormat(headers: IncomingMessage['headers']): BodyFormat {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim());
  const kind = kinds[type.toLowerCase()];
  const encoding = (headers['content-encoding'] ?? 'identity').toLowerCase();
  if (!kind) throw new Problem('media-type', `expected ${uploadTypes.join(', ')}, found ${type || 'none'}`, { expected: uploadTypes });
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new Problem('media-type', `expected Content-Encoding: gzip or none, found ${encoding}`, { expected: ['gzip'] });
  if (kind === 'xlsx' && encoding !== 'identity')
    throw new Problem('media-type', 'expected a workbook without Content-Encoding: it is packed already', { expected: [] });
  return { kind, isGzip: encoding === 'gzip', charset: namedCharset(parameters) };
}

/** The charset among the parameters of a content type (RFC 9110, 5.6.6). Throws a Problem (`media-type`) for one that is not NAME=VALUE. */
function namedCharset(parameters: readonly string[]): string | undefined {
  const pairs = parameters.filter((parameter) => parameter !== '').map((parameter) => parameterShape.exec(parameter) ?? parameter);
  for (const pair of pairs)
    if (typeof pair === 'string')
      throw new Problem('media-type', `expected parameters such as charset=utf-8, found ${pair}`, { expected: uploadTypes });
  const found = pairs.find((pair) => typeof pair !== 'string' && pair[1]?.toLowerCase() === 'charset');
  return found?.[2] ?? found?.[3];
}

const parameterShape = /^([\w!#$%&'*+.^`|~-]+)=(?:"([^"\\]*)"|([\w!#$%&'*+.^`|~-]+))$/;

/** The size of a body that its headers state; 0 without one. */
export function declaredBytes({ headers }: Pick<IncomingMessage, 'headers'>): number {
  return Number(headers['content-length'] ?? 0);
}

/** Stores a body on disk. Returns its size and hash. Throws a Problem; then no part of the body is left. */
export async function storeBody(
  request: IncomingMessage,
  path: string,
  { isGzip }: BodyFormat,
  { maxBytes, space }: { readonly maxBytes: number; readonly space: Reservation },
): Promise<{ readonly bytes: number; readonly hash: string }> {
  const tooLarge = () => new Problem('too-large', `expected a body of at most ${maxBytes} bytes`, { limit: maxBytes });
  if (declaredBytes(request) > maxBytes) throw tooLarge();
  const file = await open(path, 'wx', 0o600);
  let bytes = 0;
  const hash = createHash('sha256');
  const unpacked = isGzip ? new UnpackedSize(maxBytes * maxUnpacked, tooLarge) : undefined;
  const timer = setTimeout(() => request.destroy(new Error('no byte came for a minute')), idleMs);
  try {
    // Not destroyed by a refusal: its connection would never answer again.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      timer.refresh();
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge();
      await space.growTo(bytes);
      await unpacked?.add(chunk);
      hash.update(chunk);
      await file.write(chunk);
    }
    await unpacked?.end();
    await file.sync();
  } catch (error) {
    if (error instanceof Problem) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw new Problem('disk-full', 'the body cannot be stored: the disk is full');
    throw new Problem('bad-request', `the body broke off: ${(error as Error).message}`);
  } finally {
    clearTimeout(timer);
    await file.close();
  }
  await syncFolder(path);
  return { bytes, hash: hash.digest('base64url') };
}

/** Counts the bytes of a gzip body unpacked. */
class UnpackedSize {
  readonly #gunzip = createGunzip();
  readonly #done: Promise<void>;

  constructor(max: number, tooLarge: () => Problem) {
    let bytes = 0;
    this.#done = (async () => {
      for await (const chunk of this.#gunzip) {
        bytes += (chunk as Buffer).length;
        if (bytes > max) throw tooLarge();
      }
    })().catch((error: unknown) => {
      throw error instanceof Problem
        ? error
        : new Problem('input-unreadable', `the body is not valid gzip: ${(error as Error).message}`, { line: null });
    });
    this.#done.catch(() => undefined);
  }

  async add(chunk: Buffer): Promise<void> {
    if (!this.#gunzip.write(chunk)) {
      await Promise.race([this.#done, new Promise<void>((resolve) => this.#gunzip.once('drain', resolve))]);
    }
  }

  async end(): Promise<void> {
    this.#gunzip.end();
    await this.#done;
  }
}

/** A body on disk, and the flow that is to run over it. */
export interface StoredBody {
  readonly flow: ServedFlow;
  readonly folder: RunFolder;
  /** Its format as the file is named. */
  readonly inputFormat: string;
  readonly options: StoredOptions;
  /** The key that pays; absent for the page. */
  readonly key: LetInKey | undefined;
}

/** Stores the text of the flow, and checks it with the header of the body. Throws a Problem. */
export async function checkUpload({ flow, folder, inputFormat, options, key }: StoredBody, shared: SharedParts): Promise<void> {
  await writeDurably(folder.flow, flow.text);
  const { allowHttp, env } = shared;
  const textCells = hasTextCells({ inFormat: inputFormat });
  const plan = await planWithVariables({ flow, given: options.var ?? [] }, { allowHttp, textCells, env });
  const source = await openInput({ ...options, in: folder.input(inputFormat), maxRecordBytes }).catch((error: unknown) => {
    throw unreadableBody(error, (message) => message.replaceAll(`${folder.path}/`, ''));
  });
  await source.close();
  const problems = isTable(source.format) ? plan.unknownFields(source.columns ?? []) : [];
  if (problems.length > 0) {
    const errors = problems.map((problem) => problemJson(problem, folder.flow));
    throw new Problem('input-unreadable', `the columns of the body do not satisfy ${flow.id}: ${errors[0]?.message}`, { line: 1, errors });
  }
  const messages = createMessages(shared.say);
  await loadSecrets(plan, flow.path, { ...(env !== undefined && { env }) }, messages).catch(asProblem(flow));
  await refuseUnpaid(plan, key, shared);
}

/** The Problem for an error of a body; any other error as it is. `shown`: its message as the client sees it. */
export function unreadableBody(error: unknown, shown = (message: string) => message): unknown {
  if (!(error instanceof AutomateError)) return error;
  const message = shown(messageForClient(error));
  if (error.kind === 'usage') return new Problem('bad-request', message);
  return new Problem('input-unreadable', message, { line: detailsOf(error, 'input-unreadable')?.line ?? null });
}
