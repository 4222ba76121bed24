import { parseJson } from '../../core/value/json.ts';
import { isObject, type Value } from '../../core/value/value.ts';
import { isPlain } from '../../engine/forecast/plain-records.ts';
import type { Position } from '../../io/records/readers/record-reader.ts';

/** A record that has to be read properly: where it starts, and its bytes, the end of its line included. */
export interface DoubtfulRow {
  readonly at: Position;
  readonly bytes: Buffer;
}

/** What was found in a piece of text. */
export interface Rows {
  /** How many records are plain. */
  readonly plain: number;
  readonly doubtful: readonly DoubtfulRow[];
  /** Where the rest begins, and how many bytes are before it. */
  readonly to: Position;
  readonly bytes: number;
  /** Whether what comes next is written in a way that only the real reader knows. */
  readonly isOdd: boolean;
}

/** Looks at the rows of a piece of text, which is at `from`: at most so many. `isLast`: the input ends where the text ends. */
export type LookThrough = (text: Buffer, from: Position, most: number, isLast: boolean) => Rows;

/** A row that was looked at. Kept for the next one: there are millions. */
interface Look {
  /** Where its text and its line end; -1 for a row whose end is not in the text. */
  end: number;
  next: number;
  lines: number;
  isDoubtful: boolean;
  isOdd: boolean;
}

type LookAt = (text: Buffer, start: number, isLast: boolean, look: Look) => void;

function lookThrough(lookAt: LookAt): LookThrough {
  return (text, from, most, isLast) => {
    const look: Look = { end: 0, next: 0, lines: 0, isDoubtful: false, isOdd: false };
    const doubtful: DoubtfulRow[] = [];
    let { line, records } = from;
    let start = 0;
    while (start < text.length && records - from.records < most) {
      look.isOdd = false;
      lookAt(text, start, isLast, look);
      if (look.end < 0 || look.isOdd) break;
      if (look.end > start) {
        const at = { offset: from.offset + start, line, records };
        if (look.isDoubtful) doubtful.push({ at, bytes: text.subarray(start, look.next) });
        records++;
      }
      start = look.next;
      line += look.lines;
    }
    const plain = records - from.records - doubtful.length;
    return { plain, doubtful, to: { offset: from.offset + start, line, records }, bytes: start, isOdd: look.isOdd };
  };
}

const [ordinary, lineEnd, quote, dot, between, control, maybeControl] = [0, 1, 2, 3, 4, 5, 6] as const;

/**
 * Looks at the rows of a table (RFC 4180). Doubtful is a row with too few or too many cells, with a control character,
 * or with nothing but dots in a cell that `matters`. Odd is what goes on behind its closing quote.
 */
export function lookThroughTable(delimiter: string, matters: readonly boolean[]): LookThrough {
  const kinds = kindsOf(delimiter);
  return lookThrough((text, start, isLast, look) => {
    let at = start;
    let cell = 0;
    let cellStart = start;
    let hasText = false;
    let isDoubtful = false;
    let lines = 1;
    look.end = -1;
    for (; at < text.length; at++) {
      const kind = kinds[text[at] as number];
      if (kind === ordinary) hasText = true;
      else if (kind === between || kind === lineEnd) {
        if (!hasText && matters[cell]) isDoubtful = true;
        if (kind === lineEnd) break;
        cell++;
        cellStart = at + 1;
        hasText = false;
      } else if (kind === quote && at === cellStart) {
        for (at++; at < text.length; at++) {
          const inside = kinds[text[at] as number];
          if (inside === quote) {
            if (text[at + 1] !== 34) break;
            at++;
          }
          if (inside === lineEnd && isLineEnd(text, at)) lines++;
          if (inside === lineEnd || inside === control || (inside === maybeControl && isControl(text, at))) isDoubtful = true;
          if (inside !== dot) hasText = true;
        }
        if (at >= text.length) return;
        const behind = at + 1 < text.length ? kinds[text[at + 1] as number] : lineEnd;
        if (behind !== between && behind !== lineEnd) {
          look.isOdd = true;
          return;
        }
      } else if (kind !== dot) {
        if (kind === control || (kind === maybeControl && isControl(text, at))) isDoubtful = true;
        // A quote in the middle of a cell is a letter like any other.
        hasText = true;
      }
    }
    if (!isLast && (at === text.length || (text[at] === 13 && at + 1 === text.length))) return;
    if (at === text.length && !hasText && matters[cell]) isDoubtful = true;
    look.end = at;
    look.next = Math.min(text.length, at + (text[at] === 13 && text[at + 1] === 10 ? 2 : 1));
    look.lines = lines;
    look.isDoubtful = isDoubtful || cell !== matters.length - 1;
  });
}

function kindsOf(delimiter: string): Uint8Array {
  const kinds = new Uint8Array(256).fill(control, 0, 32);
  kinds[0x7f] = control;
  kinds[0xc2] = maybeControl;
  kinds[0x0a] = lineEnd;
  kinds[0x0d] = lineEnd;
  kinds[0x22] = quote;
  kinds[0x2e] = dot;
  kinds[delimiter.charCodeAt(0)] = between;
  return kinds;
}

/** In UTF-8, U+0080 to U+009F begin with the same byte as what comes behind them. */
function isControl(text: Buffer, at: number): boolean {
  return (text[at + 1] as number) < 0xa0;
}

function isLineEnd(text: Buffer, at: number): boolean {
  return text[at] === 10 || text[at + 1] !== 10;
}

/** From this length on a line may be nested more deeply than can be. */
const longLine = 2000;

/** Looks at lines of JSON. Doubtful is a line that is no object, that an errors file may have left, or without plain values in `fields`. */
export function lookThroughLines(fields: readonly string[]): LookThrough {
  return lookThrough((text, start, isLast, look) => {
    const found = text.indexOf(10, start);
    const end = found < 0 && isLast ? text.length : found;
    look.end = end;
    if (end < 0) return;
    const line = text.toString('utf8', start, end);
    look.next = Math.min(text.length, end + 1);
    look.lines = 1;
    look.isDoubtful = !isPlainLine(line, fields);
    // A blank line is no record.
    if (look.isDoubtful && /^[ \t\r]*$/.test(line)) look.end = start;
  });
}

function isPlainLine(line: string, fields: readonly string[]): boolean {
  if (line.includes('"_error')) return false;
  try {
    const value = (line.length < longLine ? JSON.parse(line) : parseJson(line)) as Value;
    return isObject(value) && fields.every((field) => Object.hasOwn(value, field) && isPlain(value[field]));
  } catch {
    return false;
  }
}
