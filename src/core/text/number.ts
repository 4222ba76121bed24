/** A number with separators and up to 3 decimals: 9,812. Without Intl, whose data take 8 ms to load: a short run prints a few counts only. */
export function formatCount(number: number): string {
  return separated(number, 3);
}

/** A count with its noun: 1 record, 2 records, 3 retries. */
export function counted(number: number, noun: string): string {
  return `${formatCount(number)} ${number === 1 ? noun : plural(noun)}`;
}

function plural(noun: string): string {
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** A number of credits with up to 4 decimals. */
export function creditText(credits: number): string {
  return separated(credits, 4);
}

/** Credits with their noun. */
export function creditsText(credits: number): string {
  return `${creditText(credits)} credit${credits === 1 ? '' : 's'}`;
}

function separated(number: number, decimals: number): string {
  const [whole = '', fraction] = String(Number(number.toFixed(decimals))).split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
