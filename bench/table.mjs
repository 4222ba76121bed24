/** Returns the median of some numbers; undefined if any number is missing. */
export function median(numbers) {
  if (numbers.includes(undefined)) return undefined;
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
}

/** Formats a number with this many decimals and grouped thousands; undefined becomes a dash. */
export function figure(number, decimals = 0) {
  if (number === undefined) return '-';
  return number.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Prints rows of cells below a header. The first column contains text, the others contain numbers. */
export function printTable(title, header, rows) {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const padded = lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  '),
  );
  console.log(`\n${title}\n${[padded[0], '-'.repeat(padded[0].length), ...padded.slice(1)].join('\n')}`);
}
