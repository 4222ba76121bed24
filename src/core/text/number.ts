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

/** About the records of an input that are compared with an old output; empty if there is nothing to say. */
export function goneNotes({ repeated, unreadable }: { readonly repeated: number; readonly unreadable: number }): string[] {
  return [
    ...(repeated > 0 ? [`${counted(repeated, 'key')} ${repeated === 1 ? 'occurs' : 'occur'} more than once in the input`] : []),
    ...(unreadable > 0 ? [`${counted(unreadable, 'record')} of the input could not be read, and might be among those that seem gone`] : []),
  ];
}

const byteUnits = ['bytes', 'kB', 'MB', 'GB'] as const;

/** Returns text such as `1.2 MB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, Math.max(0, Math.floor(Math.log10(bytes) / 3)));
  return `${(bytes / 1000 ** power).toLocaleString('en-US', { maximumFractionDigits: 1 })} ${byteUnits[power]}`;
}
