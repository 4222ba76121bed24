/** A count as a person reads it: 9,812. */
export function count(number: number): string {
  return number.toLocaleString('en-US');
}

/** A count with its noun: 1 record, 2 records. */
export function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}
