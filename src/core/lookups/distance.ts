/** Metres of a unit of length. A mile is the international one. */
const metres: Readonly<Record<string, number>> = { m: 1, km: 1000, mi: 1609.344 };

/** Reads a distance such as `250m`, `5km` or `2mi`, in whole metres. Throws an Error that says what was expected. */
export function distanceMetres(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?) ?(m|km|mi)$/.exec(text.trim()) ?? [];
  if (digits === '') throw new Error(`expected a distance such as 250m, 5km or 2mi, found ${JSON.stringify(text)}`);
  return Math.round(Number(digits) * (metres[unit] as number));
}
