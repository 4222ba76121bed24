import { type Characters, type Form, shortestSecret } from './secret-forms.ts';

/** Matches the rest of an escaped character that was cut off, if `...` follows. */
const cutEnd = `(?:[%&\\\\\ufffd\\x80-\\xff][\\w#%\\\\\\x80-\\xff]{0,24})?(?=\\.\\.\\.)`;

/**
 * Finds the end of the encoded secret that begins at `start`. The secret may be complete or cut off by `...`. The complete secret is tried
 * first, because the secret itself may contain dots. Returns undefined if there is no such secret.
 */
export function cutEndOf(form: Form, text: string, start: number): number | undefined {
  const { whole, partial } = reach(form.characters, text, start);
  if (whole.length > 0) return wholeEndOf(form, text, start);
  return firstResult(partial.reverse(), (end) => matchEnds(cutEnd, text, end)[0]);
}

/**
 * If at least this many characters of a secret match, they are masked even without `...` after them. Some programs cut off text without
 * adding dots.
 */
const maxUnmasked = 500;

/**
 * Finds the end of the complete encoded secret that begins at `start`. If the secret is incomplete, returns undefined, unless at least
 * `maxUnmasked` characters match.
 */
export function wholeEndOf({ characters, end }: Form, text: string, start: number): number | undefined {
  const { whole, partial } = reach(characters, text, start);
  if (whole.length > 0) return matchEnds(end, text, Math.max(...whole))[0];
  return partial.length < maxUnmasked ? undefined : partial.at(-1);
}

interface Reach {
  /** The offsets at which the secret can end if all its characters match. */
  readonly whole: readonly number[];
  /** The offsets at which the match can end if at least four of the secret's characters match, but not all. They are in ascending order. */
  readonly partial: number[];
}

function reach(characters: readonly Characters[], text: string, start: number): Reach {
  const partial: number[] = [];
  let ends: readonly number[] = [start];
  for (let index = 0; index < characters.length && ends.length > 0; index++) {
    const one = characters[index] as Characters;
    if (one.max === 1 && ends.length === 1) {
      // This is the usual case: the pattern matches exactly one character, and the match so far ends at only one offset.
      ends = matchEnds(one.unit, text, ends[0] as number);
      if (index >= shortestSecret - 1) partial.push(...ends);
      continue;
    }
    const repeated = countRepeats(one, text, ends);
    if (index >= shortestSecret) partial.push(...repeated.keys());
    ends = [...repeated].flatMap(([end, times]) => (times >= one.min ? [end] : []));
    if (index === shortestSecret - 1) partial.push(...ends);
  }
  return { whole: ends, partial };
}

/**
 * Finds all ends of a run of characters that match `unit`. The run begins at one of `places`. Returns these offsets, each with the maximum
 * length of a run that ends there.
 */
function countRepeats({ unit, max }: Characters, text: string, places: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  let ends = places;
  for (let times = 1; times <= max && ends.length > 0; times++) {
    ends = [...new Set(ends.flatMap((end) => matchEnds(unit, text, end)))];
    for (const end of ends) counts.set(end, times);
  }
  return counts;
}

const stickyExpressions = new Map<string, RegExp>();

/** Returns an array with the end of the pattern's match at `start`; an empty array if the pattern does not match there. */
function matchEnds(pattern: string, text: string, start: number): number[] {
  if (pattern === '') return [start];
  if (pattern.length === 1) return text[start] === pattern ? [start + 1] : [];
  let expression = stickyExpressions.get(pattern);
  if (!expression) {
    expression = new RegExp(pattern, 'y');
    stickyExpressions.set(pattern, expression);
  }
  expression.lastIndex = start;
  return expression.test(text) ? [expression.lastIndex] : [];
}

/** Returns the first result of `find` that is not undefined; undefined if there is none. */
export function firstResult<In, Out>(all: readonly In[], find: (one: In) => Out | undefined): Out | undefined {
  for (const one of all) {
    const result = find(one);
    if (result !== undefined) return result;
  }
  return undefined;
}
