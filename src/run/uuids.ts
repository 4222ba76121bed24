import { createHash } from 'node:crypto';

/** Within a run, the same name gives the same UUID (RFC 9562, 5.8: version 8). */
export function createUuids(run: string): (name: string) => string {
  return (name) => {
    const hex = createHash('sha256').update(`${run} ${name}`).digest('hex');
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
}
