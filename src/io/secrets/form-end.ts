import { type Characters, type Form, shortestSecret } from './secret-forms.ts';

/** The rest of an escaped character that a cut may leave before its dots. */
const cutEnd = `(?:[%&\\\\\ufffd\\x80-\\xff][\\w#%\\\\\\x80-\\xff]{0,24})?(?=\\.\\.\\.)`;

/** The end of the form that begins at `start`, whole or cut. The whole form is tried first, since it may contain the dots itself. Absent if the text has neither. */
export function cutEndOf(form: Form, text: string, start: number): number | undefined {
  const { whole, partial } = reach(form.characters, text, start);
  if (whole.length > 0) return wholeEndOf(form, text, start);
  return firstResult(partial.reverse(), (end) => matchEnds(cutEnd, text, end)[0]);
}

/** The beginning of a secret of this length counts as the secret, whatever follows: some programs cut texts without dots. */
const maxUnmasked = 500;

/** The end of the form that begins at `start`; absent if it is not complete. */
export function wholeEndOf({ characters, end }: Form, text: string, start: number): number | undefined {
  const { whole, partial } = reach(characters, text, start);
  if (whole.length > 0) return matchEnds(end, text, Math.max(...whole))[0];
  return partial.length < maxUnmasked ? undefined : partial.at(-1);
}

interface Reach {
  /** Possible ends of all characters. */
  readonly whole: readonly number[];
  /** Possible ends of the first characters, of four or more; the last is the furthest. */
  readonly partial: number[];
}

function reach(characters: readonly Characters[], text: string, start: number): Reach {
  const partial: number[] = [];
  let ends: readonly number[] = [start];
  for (let index = 0; index < characters.length && ends.length > 0; index++) {
    const one = characters[index] as Characters;
    if (one.max === 1 && ends.length === 1) {
      // Nearly always: one character, one place.
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

/** Possible ends of a run of characters that begins at one of `places`, each with its greatest number of characters. */
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

/** The end of a pattern that matches at `start`, or nothing. */
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

/** The first result that is not undefined. */
export function firstResult<In, Out>(all: readonly In[], find: (one: In) => Out | undefined): Out | undefined {
  for (const one of all) {
    const result = find(one);
    if (result !== undefined) return result;
  }
  return undefined;
}
