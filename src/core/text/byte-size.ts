const unitBytes = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** The bytes of a written size: `10MB`, `1.5 kB`, or a number of bytes from 1 on. Undefined for any other text. */
export function byteCount(written: string): number | undefined {
  const [, number = '0', unit = 'b'] = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(written) ?? [];
  const bytes = Math.floor(Number(number) * unitBytes[unit.toLowerCase() as keyof typeof unitBytes]);
  return bytes >= 1 ? bytes : undefined;
}
