// Writes columns of numbers and text to one file: a line of JSON with their names, followed by their bytes. src/places/data/geography/places.ts reads
// the file.

/**
 * Packs columns. A column is a Buffer, or an array of non-negative integers, whose bytes are ordered by significance because
 * gzip compresses that better. `meta`: any JSON.
 */
export function pack(columns, meta = {}) {
  const parts = Object.entries(columns).map(([name, values]) => ({
    name,
    ...(values instanceof Uint8Array ? asBytes(values) : inPlanes(values)),
  }));
  const head = { ...meta, columns: parts.map(({ name, width, length }) => ({ name, width, length })) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), ...parts.map(({ bytes }) => bytes)]);
}

function asBytes(bytes) {
  return { bytes, width: 1, length: bytes.length };
}

/** Returns the lowest bytes of all numbers, followed by the next higher bytes, and so on. */
function inPlanes(values) {
  const width = Math.max(1, Math.ceil(Math.log2(values.reduce((most, value) => Math.max(most, value), 0) + 1) / 8));
  const bytes = Buffer.alloc(width * values.length);
  for (let plane = 0; plane < width; plane++)
    for (let index = 0; index < values.length; index++)
      bytes[plane * values.length + index] = Math.floor(values[index] / 256 ** plane) & 255;
  return { bytes, width, length: values.length };
}

/** Appends a signed number in as few groups of seven bits as possible. */
export function pushSigned(bytes, value) {
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
}
