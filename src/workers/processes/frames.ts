import type { Duplex } from 'node:stream';

/** The size of the text and the number of the channel. */
const headBytes = 8;

/** A frame is the text's size in bytes, the channel (both 32 bits, little-endian), and UTF-8 text. False if the stream has to drain. */
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
