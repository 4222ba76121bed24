/** A number with separators: 9,812. */
export function formatCount(number: number): string {
  return number.toLocaleString('en-US');
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
  return credits.toLocaleString('en-US', { maximumFractionDigits: 4 });
}

/** Credits with their noun. */
export function creditsText(credits: number): string {
  return `${creditText(credits)} credit${credits === 1 ? '' : 's'}`;
}
