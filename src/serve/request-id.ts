import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { holdsKey } from './store/key-value.ts';

const idBytes = 12;

/** Random bytes for many request ids. Requesting the bytes for each id separately would take longer than all other steps together. */
let random = Buffer.alloc(0);
let used = 0;

/** Creates an id for a request. */
export function newRequestId(): string {
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
