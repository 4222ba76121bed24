import { retryAfterMs } from '../../src/core/answer/rate-limit.ts';
import type { HttpResponse } from '../../src/core/ports.ts';

/** An answer of a server. Defaults to status 200 without a body. */
export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts and bytes as they are, everything else as JSON. */
  readonly body?: unknown;
  /** Duration of the answer. */
  readonly afterMs?: number;
  /** True if only the end of the connection ended the body. */
  readonly endedByClose?: boolean;
}

/** The answer as the HTTP port gives it. `nowMs`: the wall clock, for answers that say how long to stay away. */
export function toResponse({ status = 200, headers = {}, body, endedByClose = false }: FakeAnswer, nowMs = 0): HttpResponse {
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
  const received: Record<string, string> = isRaw ? {} : { 'content-type': 'application/json' };
  for (const [name, value] of Object.entries(headers)) received[name.toLowerCase()] = value;
  const header = (name: string) => received[name];
  return {
    status,
    header,
    headers: received,
    body: body instanceof Uint8Array ? body : Buffer.from(isRaw ? (body ?? '') : JSON.stringify(body)),
    endedByClose,
    retryAfterMs: retryAfterMs(status, header, nowMs),
  };
}
