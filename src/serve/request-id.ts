import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { holdsKey } from '../io/server/key-value.ts';

const idBytes = 12;

/** Random bytes for many ids: asking for them costs more than the rest of an id. */
let random = Buffer.alloc(0);
let used = 0;

/** A new request id. */
export function newRequestId(): string {
  if (used >= random.length) {
    random = randomBytes(256 * idBytes);
    used = 0;
  }
  used += idBytes;
  return random.toString('base64url', used - idBytes, used);
}

/** The id that the client sent, if it can be shown as it is and holds no API key; else a new id. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(sent) && !holdsKey(sent) ? sent : newRequestId();
}
