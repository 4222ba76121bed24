import { randomBytes } from 'node:crypto';

/** The shape of a run's id. */
export const runId = /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let lastMs = 0;
let sequence = 0;

/** A new id: `run_` and a UUIDv7 (RFC 9562, 5.7), which sorts by time, even within a millisecond and when the clock is set back. */
export function newRunId(wallMs = Date.now()): string {
  sequence = wallMs > lastMs ? 0 : sequence + 1;
  lastMs = Math.max(lastMs, wallMs) + (sequence > 0xfff ? 1 : 0);
  sequence &= 0xfff;
  const bytes = randomBytes(16);
  bytes.writeUIntBE(lastMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | sequence, 6);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = bytes.toString('hex');
  return `run_${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`;
}
