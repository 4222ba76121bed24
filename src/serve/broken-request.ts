import { randomBytes } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifySchemaValidationError } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { AutomateError } from '../core/failure.ts';
import { shortName } from '../core/text/suggest.ts';
import { ProblemResponse } from './problem.ts';
import { holdsKey } from './store/key-value.ts';

const answers: Readonly<Record<string, readonly [status: string, detail: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the headers of the request took too long'],
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'the headers of the request are too large'],
};

export function refuseBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, detail] = answers[error.code ?? ''] ?? ['400 Bad Request', 'the request is not valid HTTP'];
  const id = newRequestId();
  const body = JSON.stringify({ ...new ProblemResponse('bad-request', detail).body(id), status: Number.parseInt(status, 10) });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/problem+json; charset=utf-8\r\nX-Request-Id: ${id}\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** The header Expect asks for something that this server does not support (RFC 9110, 10.1.1). */
export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const id = newRequestId();
  const problem = new ProblemResponse('bad-request', 'expected no Expect header other than 100-continue');
  const headers = { 'content-type': 'application/problem+json; charset=utf-8', 'x-request-id': id, 'cache-control': 'no-store' };
  // The connection is closed, because it is not known whether the client will send the body.
  response.writeHead(417, { ...headers, connection: 'close' }).end(JSON.stringify({ ...problem.body(id), status: 417 }));
}

/** Time in ms without received data after which the server stops waiting for the rest of a body. */
export const idleMs = 60_000;

/** Closes connections that stop sending in the middle of a body. The wait for a response is not limited. */
export function cutIdleBodies(server: Server, timeoutMs: number): void {
  const answers = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => answers.set(socket, response));
  server.setTimeout(timeoutMs, (socket) => {
    const answer = answers.get(socket);
    if (!answer?.req.complete || answer.writableFinished) socket.destroy();
  });
}

const idBytes = 12;

/** Random bytes for many request ids. Requesting the bytes for each id separately would take longer than all other steps together. */
let random = Buffer.alloc(0);
let used = 0;

function newRequestId(): string {
  if (used >= random.length) {
    random = randomBytes(256 * idBytes);
    used = 0;
  }
  used += idBytes;
  return random.toString('base64url', used - idBytes, used);
}

/** Returns the request id that the client sent, if it is printable and contains no API key. Otherwise returns a new id. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(sent) && !holdsKey(sent) ? sent : newRequestId();
}

export const maxJsonBytes = 1024 * 1024;

const fullDisk: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** An error that the request did not cause becomes `internal`. `takes` lists the media types that the route accepts. */
export function problemOfError(error: unknown, takes: readonly string[] = ['application/json']): ProblemResponse {
  if (error instanceof ProblemResponse) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalid(error.validationContext ?? 'request', error.validation);
  const { code = '', statusCode } = error as FastifyError;
  if ((error instanceof AutomateError && error.kind === 'output') || fullDisk.has(code))
    return new ProblemResponse('disk-full', 'the server cannot write its files');
  const known = byFastifyCode(code, takes);
  if (known) return known;
  if (code.startsWith('FST_') && statusCode !== undefined && statusCode < 500)
    return new ProblemResponse('bad-request', (error as Error).message);
  return new ProblemResponse('internal', "this is a bug; the server's log has the details");
}

function byFastifyCode(code: string, takes: readonly string[]): ProblemResponse | undefined {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ProblemResponse('too-large', 'expected a body of at most 1 MB', { limit: maxJsonBytes });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ProblemResponse('media-type', `expected a body of type ${takes.join(', ')}`, { expected: takes });
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY') return new ProblemResponse('bad-request', 'expected a body, found none');
  if (code === 'FST_ERR_BAD_URL') return new ProblemResponse('bad-request', 'the address is not a valid URL');
  return undefined;
}

/** Maximum number of errors that a response lists. An invalid body can contain more. */
const mostListed = 20;

/** `place` names the part of the request that is not valid. */
function invalid(place: string, validation: readonly FastifySchemaValidationError[]): ProblemResponse {
  const all = validation.flatMap(({ keyword, instancePath, message = '', params }) => {
    const path = instancePath === '/' ? '' : shortName(instancePath);
    if (keyword !== 'unrecognized_keys') return [{ pointer: path, detail: inPlainWords(message) }];
    const keys = (params.keys as readonly string[]).slice(0, mostListed);
    return keys.map((key) => ({ pointer: `${path}/${shortName(key)}`, detail: 'this name is not expected here' }));
  });
  const errors = all.slice(0, mostListed);
  const details = errors.map(({ pointer, detail }) => (pointer === '' ? detail : `"${pointer.slice(1)}": ${detail}`));
  return new ProblemResponse('bad-request', `${place}: ${details.join('; ')}`, { errors });
}

/** Leaves out terms of the validation library. */
function inPlainWords(message: string): string {
  return message
    .replace(/^Invalid (?:input|option): /, '')
    .replace(/, received undefined$/, ', found nothing')
    .replace('expected number, received ExactNumber', 'expected number, found a number with too many digits')
    .replace('received ExactNumber', 'received number')
    .replace(', received ', ', found ')
    .replace('expected nonoptional', 'expected a value');
}
