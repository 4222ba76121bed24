const unitBytes = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** Parses a size such as `10MB` or `1.5 kB`, or a positive number, into bytes; undefined for any other text. */
export function byteCount(written: string): number | undefined {
  const [, number = '0', unit = 'b'] = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(written) ?? [];
  const bytes = Math.floor(Number(number) * unitBytes[unit.toLowerCase() as keyof typeof unitBytes]);
  return bytes >= 1 ? bytes : undefined;
}
