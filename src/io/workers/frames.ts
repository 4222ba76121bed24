import type { Duplex } from 'node:stream';

/** Bytes of the length before each frame. */
const headBytes = 4;

/** Sends a text as a frame: its length in bytes (32 bits, little-endian), then the text in UTF-8. Returns false if the stream has to drain first. */
export function sendFrame(stream: Duplex, text: string): boolean {
  const body = Buffer.from(text);
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32LE(body.length);
  stream.cork();
  stream.write(head);
  const hasRoom = stream.write(body);
  stream.uncork();
  return hasRoom;
}

/** Takes the frames of a stream. */
export function onFrames(stream: Duplex, take: (text: string) => void): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    parts.push(chunk);
    bytes += chunk.length;
    while (bytes >= headBytes) {
      const first = parts[0] as Buffer;
      const length = (first.length >= headBytes ? first : joinedParts()).readUInt32LE(0);
      if (bytes < headBytes + length) return;
      const all = joinedParts();
      take(all.toString('utf8', headBytes, headBytes + length));
      parts = [all.subarray(headBytes + length)];
      bytes -= headBytes + length;
    }
  });

  function joinedParts(): Buffer {
    const all = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    parts = [all];
    return all;
  }
}
