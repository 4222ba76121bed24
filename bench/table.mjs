/** The middle of some numbers; `undefined` when any is missing. */
export function median(numbers) {
  if (numbers.includes(undefined)) return undefined;
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
}

/** A number with that many decimals and separated thousands; a dash if it is absent. */
export function figure(number, decimals = 0) {
  if (number === undefined) return '-';
  return number.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Prints rows of cells under a header; the first column is text, the others are numbers. */
export function printTable(title, header, rows) {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const padded = lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  '),
  );
  console.log(`\n${title}\n${[padded[0], '-'.repeat(padded[0].length), ...padded.slice(1)].join('\n')}`);
}
