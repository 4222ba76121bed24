/** The place that a table has. */
export interface TablePlace {
  /** Columns of the terminal; absent for any number. */
  readonly width: number | undefined;
  /** The indexes of the columns of free text, which may be cut. */
  readonly cut: readonly number[];
}

/** Characters that every column keeps. */
const minCut = 8;

/** Rows as aligned columns. If they are too wide for their place, the longest texts that may be cut are. */
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

/** A text of at most that many columns of a terminal. */
function cutTo(width: number, text: string): string {
  if (shownWidth(text) <= width) return text;
  let start = text;
  while (shownWidth(start) >= width) start = [...start].slice(0, -1).join('');
  return `${start.trimEnd()}…`;
}

/** Characters that take two columns of a terminal, and those that take none (Unicode Standard Annex 11, roughly). */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\p{Emoji_Presentation}]/gu;
const marks = /[\p{Mn}\p{Me}\u200b-\u200d]/gu;

/** The columns of a terminal that a text takes. */
function shownWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  return [...text].length + (text.match(wide)?.length ?? 0) - (text.match(marks)?.length ?? 0);
}
