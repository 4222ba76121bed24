import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { holdsKey } from '../io/server/key-value.ts';

/** A new request id. */
export function newRequestId(): string {
  return randomBytes(12).toString('base64url');
}

/** The id that the client sent, if it can be shown as it is and holds no API key, or a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const sent = headers['x-request-id'];
  return typeof sent === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(sent) && !holdsKey(sent) ? sent : newRequestId();
}
