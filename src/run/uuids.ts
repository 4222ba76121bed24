import { createHash } from 'node:crypto';
import { uuidFrom } from '../core/condition/hashes.ts';

/** Within a run, the same name gives the same UUID (RFC 9562, 5.8: version 8). */
export function createUuids(run: string): (name: string) => string {
  return (name) => uuidFrom(createHash('sha256').update(`${run} ${name}`).digest('hex'), 8);
}
