import { isObject, type Value } from '../../core/value/value.ts';
import { type Characters, type Form, mostEscapes, secretForms, shortestSecret, startPattern, wholePattern } from './secret-forms.ts';

/** Takes secrets out of everything that is written. */
export interface Redactor {
  /** From now on this is a secret, too. Of those in one slot, such as the tokens that follow one another, only the last three are kept. */
  add(secret: string, slot?: string): void;
  /** Whether a text holds a secret in any encoding, or the beginning of one before the dots that stand where a text was cut. */
  isIn(text: string): boolean;
  /** Whether values that were written as JSON or CSV may hold a secret: each quote in them stands behind more escapes there. */
  mayBeWrittenIn(text: string): boolean;
  /** The text with `***` for every secret. */
  text(text: string): string;
  /** The value with `***` for every secret in its texts, names and numbers. */
  value(value: Value): Value;
  /** Names with `***` for every secret, each still a name of its own: `***`, `***_2`. */
  names(names: readonly string[]): string[];
  /** JSON text with `***` for every secret, still JSON. What holds no secret is given back as it is. */
  json(text: string, indent?: number): string;
}

/** More escapes than are looked for. */
const moreEscapes = new RegExp(`[\\\\"]{${mostEscapes + 1}}`);

/** The one in use, and those that requests on their way may still carry. */
const keptOfSlot = 3;

/** Makes a redactor that knows no secret yet. */
export function createRedactor(): Redactor {
  const lasting = new Set<string>();
  const slots = new Map<string, readonly string[]>();
  let known = new Map<string, Sought>();
  /** Absent since a secret was added: many may come before the next text. */
  let search: Search | undefined;
  const redactor: Redactor = {
    add(secret, slot) {
      if (secret.length < shortestSecret || lasting.has(secret)) return;
      if (slot === undefined) lasting.add(secret);
      else slots.set(slot, [...(slots.get(slot) ?? []).filter((other) => other !== secret), secret].slice(-keptOfSlot));
      search = undefined;
    },
    isIn(text) {
      return redactor.text(text) !== text;
    },
    text(text) {
      const { any, short, long, cut } = searchNow();
      const uncut = text.includes(cutMark) ? masked(text, cut(), cutEndOf) : text;
      if (!any.some((expression) => uncut.search(expression) >= 0)) return uncut;
      return short.reduce((left, expression) => left.replace(expression, '***'), masked(uncut, long, wholeEndOf));
    },
    mayBeWrittenIn(text) {
      return redactor.isIn(text) || moreEscapes.test(text);
    },
    value(value) {
      if (typeof value === 'string') return redactor.text(value);
      if (Array.isArray(value)) return value.map(redactor.value);
      if (isObject(value)) {
        const names = redactor.names(Object.keys(value));
        return Object.fromEntries(Object.values(value).map((member, index) => [names[index], redactor.value(member)]));
      }
      if (value === null || typeof value === 'boolean') return value;
      const digits = typeof value === 'number' ? String(value) : value.text;
      return redactor.isIn(digits) ? redactor.text(digits) : value;
    },
    names(names) {
      const masked = names.map(redactor.text);
      const taken = new Set(names.filter((name, index) => name === masked[index]));
      const times = new Map<string, number>();
      return names.map((name, index) => (name === masked[index] ? name : free(masked[index] as string, taken, times)));
    },
    json(text, indent) {
      return redactor.mayBeWrittenIn(text) ? JSON.stringify(redactor.value(JSON.parse(text)), null, indent) : text;
    },
  };
  return redactor;

  function searchNow(): Search {
    if (search) return search;
    const secrets = new Set([...lasting, ...[...slots.values()].flat()]);
    // The longest first, so that no end of a longer secret is left over.
    const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
    known = new Map(longestFirst.map((secret) => [secret, known.get(secret) ?? soughtOf(secret)]));
    search = searchOf([...known.values()]);
    return search;
  }
}

/** The name, or the first one with a number that is free; it is taken from now on. */
function free(name: string, taken: Set<string>, times: Map<string, number>): string {
  let time = (times.get(name) ?? 0) + 1;
  const numbered = () => (time === 1 ? name : `${name}_${time}`);
  while (taken.has(numbered())) time++;
  times.set(name, time);
  taken.add(numbered());
  return numbered();
}

/** What is looked for of one secret. */
interface Sought {
  readonly forms: readonly Form[];
  /** A long one makes a slow expression: its beginning is sought, and what follows is compared. */
  readonly isLong: boolean;
  readonly patterns: readonly string[];
}

/** What finds all secrets. */
interface Search {
  /** What a text without secrets does not hold: mostly one, so that such a text is read once. */
  readonly any: readonly RegExp[];
  readonly short: readonly RegExp[];
  readonly long: Starts;
  /** Made when the first text comes that was cut. */
  cut(): Starts;
}

/** Forms, and what finds the first characters of any. */
interface Starts {
  readonly forms: readonly Form[];
  readonly expressions: readonly RegExp[];
}

const longestShort = 64;
const startOfLong = 16;

function soughtOf(secret: string): Sought {
  const forms = secretForms(secret);
  const isLong = secret.length > longestShort;
  return { forms, isLong, patterns: forms.map((form) => (isLong ? startPattern(form, startOfLong) : wholePattern(form))) };
}

function searchOf(sought: readonly Sought[]): Search {
  const long = sought.filter(({ isLong }) => isLong);
  const short = sought.filter(({ isLong }) => !isLong);
  const any = expressionsOf(sought.flatMap(({ patterns }) => patterns));
  let cut: Starts | undefined;
  return {
    any,
    short: long.length === 0 ? any : expressionsOf(short.flatMap(({ patterns }) => patterns)),
    long: {
      forms: long.flatMap(({ forms }) => forms),
      expressions: short.length === 0 ? any : expressionsOf(long.flatMap(({ patterns }) => patterns)),
    },
    cut() {
      cut ??= cutsOf(sought.flatMap(({ forms }) => forms));
      return cut;
    },
  };
}

/** The most characters of an expression: V8 does not optimize one of more than 20 KB, and is hundreds of times slower with it. */
const largestExpression = 20_000;

/** Mostly one: as few as can hold all patterns. */
function expressionsOf(patterns: readonly string[]): RegExp[] {
  const groups: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const pattern of patterns) {
    size += pattern.length;
    if (size > largestExpression) {
      groups.push([]);
      size = pattern.length;
    }
    groups.at(-1)?.push(pattern);
  }
  return groups.map((group) => new RegExp(group.join('|'), 'g'));
}

/** Whoever cuts a text puts this behind it. */
const cutMark = '...';

/** What a cut may leave of an escaped character. */
const cutEnd = `(?:[%&\\\\\ufffd\\x80-\\xff][\\w#%\\\\\\x80-\\xff]{0,24})?(?=\\.\\.\\.)`;

/** None where the shortest beginning is all of it. */
function cutsOf(all: readonly Form[]): Starts {
  const forms = all.filter(({ characters }) => characters.length > shortestSecret);
  return { forms, expressions: expressionsOf([...new Set(forms.map((form) => startPattern(form, shortestSecret)))]) };
}

/** The text with `***` wherever one of the forms begins and has an end. */
function masked(
  text: string,
  { forms, expressions }: Starts,
  endOf: (form: Form, text: string, start: number) => number | undefined,
): string {
  return expressions.reduce((left, expression) => {
    let done = 0;
    let written = '';
    expression.lastIndex = 0;
    for (let found = expression.exec(left); found; found = expression.exec(left)) {
      const at = found.index;
      const end = firstOf(forms, (form) => endOf(form, left, at));
      if (end !== undefined) {
        written += `${left.slice(done, at)}***`;
        done = end;
      }
      expression.lastIndex = end ?? at + 1;
    }
    expression.lastIndex = 0;
    return written + left.slice(done);
  }, text);
}

function firstOf<In, Out>(all: readonly In[], ask: (one: In) => Out | undefined): Out | undefined {
  for (const one of all) {
    const answer = ask(one);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Where the form that begins here ends, or was cut: it may hold the mark of a cut itself. Absent where neither is. */
function cutEndOf(form: Form, text: string, start: number): number | undefined {
  const { wholly, partly } = reachedBy(form.characters, text, start);
  if (wholly.length > 0) return wholeEndOf(form, text, start);
  return firstOf(partly.reverse(), (end) => endOf(cutEnd, text, end)[0]);
}

/** So many characters of a secret are one, whatever follows: not everybody who cuts a text puts dots behind it. */
const longestLeft = 500;

/** Where the form that begins here ends; absent where not all of it is there. */
function wholeEndOf({ characters, end }: Form, text: string, start: number): number | undefined {
  const { wholly, partly } = reachedBy(characters, text, start);
  if (wholly.length > 0) return endOf(end, text, Math.max(...wholly))[0];
  return partly.length < longestLeft ? undefined : partly.at(-1);
}

/** Where the characters that begin here end: all of them, and as many as are there, the longest last, but for what is too short. */
function reachedBy(characters: readonly Characters[], text: string, start: number): { wholly: readonly number[]; partly: number[] } {
  const partly: number[] = [];
  let ends: readonly number[] = [start];
  for (let index = 0; index < characters.length && ends.length > 0; index++) {
    const one = characters[index] as Characters;
    if (one.most === 1 && ends.length === 1) {
      // Nearly always: one character, one place.
      ends = endOf(one.unit, text, ends[0] as number);
      if (index >= shortestSecret - 1) partly.push(...ends);
      continue;
    }
    const behind = timesBehind(one, text, ends);
    if (index >= shortestSecret) partly.push(...behind.keys());
    ends = [...behind].flatMap(([end, times]) => (times >= one.least ? [end] : []));
    if (index === shortestSecret - 1) partly.push(...ends);
  }
  return { wholly: ends, partly };
}

/** Where the characters may end that begin at one of these places, and how many they are there at most. */
function timesBehind({ unit, most }: Characters, text: string, places: readonly number[]): Map<number, number> {
  const behind = new Map<number, number>();
  let ends = places;
  for (let times = 1; times <= most && ends.length > 0; times++) {
    ends = [...new Set(ends.flatMap((end) => endOf(unit, text, end)))];
    for (const end of ends) behind.set(end, times);
  }
  return behind;
}

const expressionsHere = new Map<string, RegExp>();

function endOf(pattern: string, text: string, start: number): number[] {
  if (pattern === '') return [start];
  if (pattern.length === 1) return text[start] === pattern ? [start + 1] : [];
  let expression = expressionsHere.get(pattern);
  if (!expression) {
    expression = new RegExp(pattern, 'y');
    expressionsHere.set(pattern, expression);
  }
  expression.lastIndex = start;
  return expression.test(text) ? [expression.lastIndex] : [];
}
