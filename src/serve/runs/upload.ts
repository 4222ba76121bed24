import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import { detailsOf } from '../../core/error-code.ts';
import { AutomateError } from '../../core/failure.ts';
import type { Plan } from '../../core/plan.ts';
import { loadSecrets } from '../../credentials/flow-secrets.ts';
import { createMessages } from '../../credentials/messages.ts';
import { syncFolder } from '../../files/folder.ts';
import { type Format, formatKinds, formats, traitsOf } from '../../records/formats.ts';
import { hasTextCells, openInput } from '../../records/inputs.ts';
import type { ServedFlow } from '../../run/flow-folder.ts';
import type { SharedParts } from '../../run/flow-runtime.ts';
import { messageForClient } from '../advice.ts';
import type { LetInKey } from '../caller.ts';
import { asProblem } from '../calls.ts';
import { problemJson } from '../flow-json.ts';
import { planWithVariables } from '../flow-variables.ts';
import { ProblemResponse } from '../problem.ts';
import type { Reservation } from './disk-space.ts';
import { refuseUnpaid } from './paying.ts';
import type { RunFolder } from './run-folder.ts';
import type { StoredOptions } from './stored-run.ts';

export interface BodyFormat {
  readonly kind: Format['kind'];
  readonly isGzip: boolean;
  readonly charset: string | undefined;
  /** True if the content type says `header=absent` (RFC 4180). */
  readonly noHeader: boolean;
}

const kinds = new Map(formatKinds.flatMap((kind) => formats[kind].mediaTypes.map((type) => [type as string, kind])));

/** The content types that a request body with records may have. */
export const uploadTypes: readonly string[] = [...kinds.keys()];

/** Limits memory use. */
export const maxRecordBytes = 10_000_000;

/** Time in ms without received data after which an upload is refused. */
const idleMs = 60_000;

/** Maximum factor by which a compressed body may grow. */
export const maxUnpacked = 10;

/** Throws a Problem (`media-type`) if the server cannot read the format. */
export function bodyFormat(headers: IncomingMessage['headers']): BodyFormat {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim());
  const kind = kinds.get(type.toLowerCase());
  // `x-gzip` means the same (RFC 9110, 8.4.1.3).
  const encoding = (headers['content-encoding'] ?? 'identity').toLowerCase().replace(/^x-gzip$/, 'gzip');
  if (!kind)
    throw new ProblemResponse('media-type', `expected ${uploadTypes.join(', ')}, found ${type || 'none'}`, { expected: uploadTypes });
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new ProblemResponse('media-type', `expected Content-Encoding: gzip or none, found ${encoding}`, { expected: ['gzip'] });
  if (!traitsOf({ kind }).text && encoding !== 'identity')
    throw new ProblemResponse('media-type', 'expected a workbook without Content-Encoding: it is already compressed', { expected: [] });
  const { charset, header } = readParameters(parameters);
  return { kind, isGzip: encoding === 'gzip', charset, noHeader: header?.toLowerCase() === 'absent' };
}

/** Parameters of a content type (RFC 9110, 5.6.6), by their names in lower case. Throws a Problem (`media-type`) if one is not NAME=VALUE. */
function readParameters(parameters: readonly string[]): Readonly<Record<string, string | undefined>> {
  const pairs = parameters
    .filter((parameter) => parameter !== '')
    .map((parameter) => {
      const [, name, quoted, token] = parameterShape.exec(parameter) ?? [];
      if (name !== undefined) return [name.toLowerCase(), quoted ?? token];
      throw new ProblemResponse('media-type', `expected parameters such as charset=utf-8, found ${parameter}`, { expected: uploadTypes });
    });
  return Object.fromEntries(pairs);
}

const parameterShape = /^([\w!#$%&'*+.^`|~-]+)=(?:"([^"\\]*)"|([\w!#$%&'*+.^`|~-]+))$/;

/** From the headers; 0 if they state no size. */
export function declaredBytes({ headers }: Pick<IncomingMessage, 'headers'>): number {
  return Number(headers['content-length'] ?? 0);
}

/** Stores a request body on disk. Returns its size and hash. Throws a Problem if it is too large or cannot be stored. */
export async function storeBody(
  request: IncomingMessage,
  path: string,
  { isGzip }: BodyFormat,
  { maxBytes, space }: { readonly maxBytes: number; readonly space: Reservation },
): Promise<{ readonly bytes: number; readonly hash: string }> {
  const tooLarge = () => new ProblemResponse('too-large', `expected a body of at most ${maxBytes} bytes`, { limit: maxBytes });
  if (declaredBytes(request) > maxBytes) throw tooLarge();
  const file = await open(path, 'wx', 0o600);
  let bytes = 0;
  const hash = createHash('sha256');
  const unpacked = isGzip ? new UnpackedSize(maxBytes * maxUnpacked, tooLarge) : undefined;
  const timer = setTimeout(() => request.destroy(new Error('no data arrived for a minute')), idleMs);
  try {
    // The request must not be destroyed when its body is refused, because the response is sent over the same connection.
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
    if (error instanceof ProblemResponse) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
      throw new ProblemResponse('disk-full', 'the body cannot be stored: the disk is full');
    throw new ProblemResponse('bad-request', `the body was cut off: ${(error as Error).message}`);
  } finally {
    clearTimeout(timer);
    await file.close();
  }
  await syncFolder(path);
  return { bytes, hash: hash.digest('base64url') };
}

class UnpackedSize {
  readonly #gunzip = createGunzip();
  readonly #done: Promise<void>;

  constructor(max: number, tooLarge: () => ProblemResponse) {
    let bytes = 0;
    this.#done = (async () => {
      for await (const chunk of this.#gunzip) {
        bytes += (chunk as Buffer).length;
        if (bytes > max) throw tooLarge();
      }
    })().catch((error: unknown) => {
      throw error instanceof ProblemResponse
        ? error
        : new ProblemResponse('input-unreadable', `the body is not valid gzip: ${(error as Error).message}`, { line: null });
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

interface StoredBody {
  readonly flow: ServedFlow;
  readonly folder: RunFolder;
  /** The format of the body, as in the name of the stored file. */
  readonly inputFormat: string;
  readonly options: StoredOptions;
  /** The API key that pays; undefined for the web page. */
  readonly key: LetInKey | undefined;
}

/** Stores the text of the flow for a run, and checks that the flow can process the columns of the body. Throws a Problem if it cannot. */
export async function checkUpload({ flow, folder, inputFormat, options, key }: StoredBody, shared: SharedParts): Promise<void> {
  const { allowHttp, env } = shared;
  const textCells = hasTextCells({ inFormat: inputFormat });
  const plan = await planWithVariables({ flow, given: options.var ?? [] }, { allowHttp, textCells, env });
  await folder.saveFlow(flow.text, plan.files);
  const source = await openInput({ ...options, in: folder.input(inputFormat), maxRecordBytes }).catch((error: unknown) => {
    throw unreadableBody(error, (message) => message.replaceAll(`${folder.path}/`, ''));
  });
  await source.close();
  refuseColumns(source.header, plan, { id: flow.id, path: folder.flow }, options);
  const messages = createMessages(shared.say);
  await loadSecrets(plan, flow.path, { env }, messages).catch(asProblem(flow));
  await refuseUnpaid(plan, key, shared);
}

/** Returns other errors unchanged. `shown` adapts the message for clients. */
export function unreadableBody(error: unknown, shown = (message: string) => message): unknown {
  if (!(error instanceof AutomateError)) return error;
  const message = shown(messageForClient(error));
  if (error.kind === 'usage') return new ProblemResponse('bad-request', message);
  return new ProblemResponse('input-unreadable', message, { line: detailsOf(error, 'input-unreadable')?.line ?? null });
}

/** Throws a Problem (`input-unreadable`) if the flow cannot use these columns of the request body. */
export function refuseColumns(
  header: readonly string[] | undefined,
  plan: Plan,
  { id, path }: { readonly id: string; readonly path: string },
  { headerLine: line = 1 }: { readonly headerLine?: number },
): void {
  const errors = (header ? plan.headerProblems(header) : []).map((problem) => problemJson(problem, path));
  if (errors.length === 0) return;
  const message = `the columns in the request body do not fit the flow ${id}: ${errors[0]?.message}`;
  throw new ProblemResponse('input-unreadable', message, { line, errors });
}
