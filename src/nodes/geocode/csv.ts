/** A line of CSV with every cell in quotes. Control characters become spaces: a cell cannot end its line. */
export function csvLine(cells: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
  const quoted = cells.map((cell) => `"${cell.replace(/[\x00-\x1f\x7f]/g, ' ').replaceAll('"', '""')}"`);
  return `${quoted.join(',')}\n`;
}

/** The rows of a CSV, each with its cells. The last one may be cut off. */
export function csvRows(text: string): string[][] {
  const rows: string[][] = [[]];
  // A cell in quotes, or without, and the character after it.
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"([^"]*(?:""[^"]*)*)"?|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === '') break;
    if (end !== ',') rows.push([]);
  }
  return rows.filter((row) => row.length > 1 || row[0] !== '');
}
