import { pathTo } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import { counted } from '../../core/text/number.ts';
import { escapedControls } from '../../core/text/shell-word.ts';
import { isObject, jsonOf, type Value } from '../../core/value/value.ts';

/** A path in an answer, as `map` takes it. */
export interface StructureRow {
  readonly path: string;
  readonly type: string;
  readonly sample: string;
}

/** Maximum of elements examined in an array. */
const maxElements = 100;

/** Every path of an answer, with its types and a sample. The elements of an array share one path. */
export function structureOf(body: Value | undefined): StructureRow[] {
  const found = new Map<string, { types: Set<string>; sample: Value }>();
  if (body !== undefined) visit('', body);
  return [...found].map(([path, { types, sample }]) => ({ path, type: [...types].join(' or '), sample: sampleText(sample) }));

  function visit(path: string, value: Value): void {
    if (path !== '' || !isContainer(value) || Object.keys(value as object).length === 0) note(path === '' ? '$body' : path, value);
    if (isObject(value)) for (const name of Object.keys(value)) visit(printablePath(path, name), value[name] as Value);
    if (Array.isArray(value)) for (const element of value.slice(0, maxElements)) visitElement(path, element);
  }

  function visitElement(path: string, element: Value): void {
    if (isContainer(element)) visit(`${path}[]`, element);
    else note(`${path}[]`, element);
  }

  function note(path: string, value: Value): void {
    const row = found.get(path);
    if (!row) found.set(path, { types: new Set([valueType(value)]), sample: value });
    else {
      row.types.add(valueType(value));
      if (row.sample === null) row.sample = value;
    }
  }
}

/** Appends a name to a path, so that it can be copied from a terminal. */
function printablePath(path: string, name: string): string {
  return escapedControls(name) === name ? pathTo(path, name) : `${path}[${escapedControls(JSON.stringify(name))}]`;
}

function isContainer(value: Value): boolean {
  return Array.isArray(value) || isObject(value);
}

function valueType(value: Value): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'object' ? 'number' : typeof value;
}

function sampleText(value: Value): string {
  if (Array.isArray(value)) return counted(value.length, 'element');
  if (isObject(value)) return counted(Object.keys(value).length, 'member');
  return excerpt(jsonOf(value), 60);
}

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
