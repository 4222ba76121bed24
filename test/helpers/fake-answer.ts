import { retryAfterMs } from '../../src/core/answer/rate-limit.ts';
import type { HttpResponse } from '../../src/core/ports.ts';

/** The answer of a fake server. By default it has status 200 and no body. */
export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or bytes are sent unchanged, everything else as JSON. */
  readonly body?: unknown;
  /** Time in ms until the answer arrives. */
  readonly afterMs?: number;
  /** True if only closing the connection marked the end of the body. */
  readonly endedByClose?: boolean;
  readonly redirectedTo?: HttpResponse['redirectedTo'];
}

/** Returns the answer in the form that the HTTP port returns. `nowMs`: the wall clock, for answers that ask for a wait. */
export function toResponse({ status = 200, headers = {}, body, endedByClose = false, redirectedTo }: FakeAnswer, nowMs = 0): HttpResponse {
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
    redirectedTo,
    retryAfterMs: retryAfterMs(status, header, nowMs),
  };
}
