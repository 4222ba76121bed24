/** Keeps up to 3 decimals, such as 9,812. Intl is not used: loading its data takes 8 ms, and a short run prints only a few numbers. */
export function formatCount(number: number): string {
  return separated(number, 3);
}

/** Returns a count with its noun, such as 1 record, 2 records or 3 retries. */
export function counted(number: number, noun: string): string {
  return `${formatCount(number)} ${number === 1 ? noun : plural(noun)}`;
}

function plural(noun: string): string {
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** Formats a number of credits with up to 4 decimals. */
export function creditText(credits: number): string {
  return separated(credits, 4);
}

export function creditsText(credits: number): string {
  return `${creditText(credits)} credit${credits === 1 ? '' : 's'}`;
}

function separated(number: number, decimals: number): string {
  const [whole = '', fraction] = String(Number(number.toFixed(decimals))).split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const unitBytes = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** Parses a size such as `10MB` or `1.5 kB`, or a positive number. */
export function byteCount(written: string): number | undefined {
  const [, number = '0', unit = 'b'] = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(written) ?? [];
  const bytes = Math.floor(Number(number) * unitBytes[unit.toLowerCase() as keyof typeof unitBytes]);
  return bytes >= 1 ? bytes : undefined;
}

export function repeatedKeysText(keys: number): string {
  return `${counted(keys, 'key')} ${keys === 1 ? 'occurs' : 'occur'} more than once in the input`;
}
