import type { Duplex } from 'node:stream';

/** Size in bytes of a frame's header, which consists of the size of the text and the number of the channel. */
const headBytes = 8;

/**
 * Sends text on a channel as one frame. A frame consists of the text's size in bytes, the channel's number (both 32 bits, little-endian),
 * and the text in UTF-8. Returns false if the caller should wait until the stream has drained.
 */
export function sendFrame(stream: Duplex, channel: number, text: string): boolean {
  const body = Buffer.from(text);
  const head = Buffer.allocUnsafe(headBytes);
  head.writeUInt32LE(body.length);
  head.writeUInt32LE(channel, 4);
  stream.cork();
  stream.write(head);
  const hasRoom = stream.write(body);
  stream.uncork();
  return hasRoom;
}

/** Calls `take` with each frame that has completely arrived on a stream. */
export function onFrames(stream: Duplex, take: (channel: number, text: string) => void): void {
  let parts: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    parts.push(chunk);
    bytes += chunk.length;
    while (bytes >= headBytes) {
      const first = parts[0] as Buffer;
      const head = first.length >= headBytes ? first : joinedParts();
      const end = headBytes + head.readUInt32LE();
      if (bytes < end) return;
      const all = joinedParts();
      take(all.readUInt32LE(4), all.toString('utf8', headBytes, end));
      parts = [all.subarray(end)];
      bytes -= end;
    }
  });

  function joinedParts(): Buffer {
    const all = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    parts = [all];
    return all;
  }
}
