import ky, { HTTPError, type KyResponse, type Options } from 'ky';
import { retryAfterMs } from '../core/answer/rate-limit.ts';
import { answerMessage } from '../core/answer/response.ts';
import { durationText } from '../core/duration.ts';
import { Failure } from '../core/failure.ts';
import { failureOf } from './error.ts';
import type { Fetch } from './fetch.ts';

/** Timeout in ms from the start of a request until its response is complete. */
const timeoutMs = 30_000;

/**
 * For requests that do not belong to a node, such as for an access token. Redirects are not followed, because the request contains a
 * secret. Throws a Failure if the request fails, or if the status is outside 200 to 299 and `throwHttpErrors` is not false.
 */
export async function sendSingle(fetch: Fetch, url: string | URL, options: Options = {}): Promise<KyResponse> {
  // ky's own timeout is not used, because it covers only the time until the headers have arrived.
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  try {
    return await ky(url, { ...options, fetch, signal, timeout: false, retry: 0, redirect: 'manual' });
  } catch (error) {
    throw await toFailure(error, url);
  }
}

/** Returns the answer with its whole body. Throws a Failure if the body is longer than `maxBytes`, or if it cannot be read. */
export async function bounded({ body, status, headers }: Response, url: string, maxBytes: number): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of (body ?? []) as unknown as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Failure('parse', `expected an answer of at most ${maxBytes / 1e6} MB`, { status });
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Failure ? error : await toFailure(error, url);
  }
  // A Response with such a status must not have a body.
  const isEmpty = status === 204 || status === 205 || status === 304;
  return new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers });
}

/** `other` reads text that is not JSON. Throws a Failure if the response cannot be read, or if the text is neither. */
export async function readJson(response: Response, url: string, other: (text: string) => unknown): Promise<unknown> {
  const text = await response.text().catch(async (error) => {
    throw await toFailure(error, url);
  });
  try {
    return JSON.parse(text);
  } catch {
    const found = other(text);
    if (found !== undefined) return found;
    const contentType = response.headers.get('content-type') ?? 'no content type';
    throw new Failure('parse', `the answer is not JSON (${contentType})`, { status: response.status });
  }
}

async function toFailure(error: unknown, url: string | URL): Promise<unknown> {
  if (error instanceof HTTPError) {
    return statusFailure(error.response, new Uint8Array(await error.response.arrayBuffer().catch(() => new ArrayBuffer(0))));
  }
  if ((error as Error).name === 'TimeoutError')
    return new Failure('timeout', `no response within ${durationText(timeoutMs)}`, { retryable: true });
  return failureOf(error, { origin: new URL(url).origin, wasSent: true });
}

export function statusFailure({ status, headers }: Response, body: Uint8Array): Failure {
  const header = (name: string) => headers.get(name) ?? undefined;
  const waitMs = retryAfterMs(status, header, Date.now());
  return new Failure('http', answerMessage({ status, header, body }), {
    status,
    retryable: status === 429 || status >= 500,
    retryAfterMs: waitMs,
  });
}
