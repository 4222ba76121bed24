interface TablePlace {
  /** Columns of the terminal; undefined if unlimited. */
  readonly width: number | undefined;
  /** Indexes of the columns with free text, whose cells may be shortened. */
  readonly cut: readonly number[];
}

const minCut = 8;

/** If the rows are too wide, shortens the longest cells in the columns listed in `cut`. */
export function tableText(
  rows: readonly (readonly string[])[],
  { width = Infinity, cut }: TablePlace = { width: undefined, cut: [] },
): string[] {
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((widest, row) => Math.max(widest, shownWidth(row[column] ?? '')), 0));
  const widthOf = (column: number) => widths[column] as number;
  for (let excess = widths.reduce((sum, one) => sum + one + 2, -2) - width; excess > 0; excess--) {
    const widest = cut.reduce((one, other) => (widthOf(other) > widthOf(one) ? other : one), cut[0] ?? -1);
    if (widest < 0 || widthOf(widest) <= minCut) break;
    widths[widest] = widthOf(widest) - 1;
  }
  const cells = rows.map((row) => row.map((cell, column) => (cut.includes(column) ? cutTo(widthOf(column), cell) : cell)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - shownWidth(cell))))
      .join('  ')
      .trimEnd(),
  );
}

function cutTo(width: number, text: string): string {
  if (shownWidth(text) <= width) return text;
  let start = text;
  while (shownWidth(start) >= width) start = [...start].slice(0, -1).join('');
  return `${start.trimEnd()}…`;
}

/** Characters that take two terminal columns, or none (roughly Unicode Standard Annex 11). */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\p{Emoji_Presentation}]/gu;
const marks = /[\p{Mn}\p{Me}\u200b-\u200d]/gu;

/** The width is a number of terminal columns. */
function shownWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...text].length + (text.match(wide)?.length ?? 0) - (text.match(marks)?.length ?? 0);
}
