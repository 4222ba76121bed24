import { isObject, type Value } from '../core/value.ts';

/** Takes secrets out of everything that is written. */
export interface Redactor {
  /** From now on this is a secret, too. Of those in one slot, such as the tokens that follow one another, only the last three are kept. */
  add(secret: string, slot?: string): void;
  /** Whether a text holds a secret in any encoding, or the beginning of one before the dots that stand where a text was cut. */
  isIn(text: string): boolean;
  /** The text with `***` for every secret. */
  text(text: string): string;
  /** The value with `***` for every secret in its texts, names and numbers. */
  value(value: Value): Value;
  /** Names with `***` for every secret, each still a name of its own: `***`, `***_2`. */
  names(names: readonly string[]): string[];
  /** JSON text with `***` for every secret, still JSON. What holds no secret is given back as it is. */
  json(text: string, indent?: number): string;
}

/** A shorter text is no secret, and would take everyday words out of the data. */
const shortestSecret = 4;

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
      return redactor.isIn(text) ? JSON.stringify(redactor.value(JSON.parse(text)), null, indent) : text;
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

/** The most characters of an expression; one of twice that many is refused by the engine. */
const largestExpression = 150_000;

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

/** One way in which a secret can be written. */
interface Form {
  readonly characters: readonly Characters[];
  /** A pattern for what may stand behind the last of them. */
  readonly end: string;
}

/** A character, or a run of several that cannot be told apart. */
interface Characters {
  /** A pattern for one of them. */
  readonly unit: string;
  readonly least: number;
  readonly most: number;
}

/** A secret as it is, in every way of escaping, and inside base64 at each of the three ways it can fall. */
function secretForms(secret: string): Form[] {
  // Quotes and backslashes that stand together: escaped, nobody can tell them apart, and trying would take for ever.
  const raw = secret.match(/[\\"]+|\s+|[^\\"\s]/gsu) ?? [];
  // What stands behind `Basic` may be in base64 once more.
  const twice = /^[^:\s]+:./s.test(secret) ? base64Forms(Buffer.from(secret).toString('base64').replace(/=+$/, '')) : [];
  const base64 = [...base64Forms(secret), ...twice].map((text) => ({
    characters: [...text].map(base64Form),
    end: base64End,
  }));
  return [{ characters: raw.map(anyForm), end: '' }, ...base64];
}

/** The last character may hold bits of the secret and bits of what follows, or of nothing. */
const base64End = '(?:[A-Za-z0-9+/_-]?={1,2})?';

function startPattern({ characters, end }: Form, length: number): string {
  return wholePattern({ characters: characters.slice(0, length), end: characters.length > length ? '' : end });
}

function wholePattern({ characters, end }: Form): string {
  return characters.map(({ unit, least, most }) => (most === 1 ? unit : `${unit}{${least},${most}}`)).join('') + end;
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

/** A character however it is escaped: each may be on its own, as encoders differ in which ones they leave alone. */
const anyForm = once((characters: string): Characters => {
  if (/^[A-Za-z0-9]$/.test(characters)) return single(characters);
  if (/^[\\"]/.test(characters)) {
    return { unit: anyOf([...formsOf('"'), ...formsOf('\\')]), least: characters.length, most: mostEscapes * characters.length };
  }
  // In a message on one line, a run of any spaces is one.
  if (/^\s/.test(characters)) return { unit: anyOf([...new Set(` ${characters}`)].flatMap(formsOf)), least: 1, most: characters.length };
  return single(anyOf(formsOf(characters)));
});

function single(unit: string): Characters {
  return { unit, least: 1, most: 1 };
}

/** Base64 has a second alphabet, for URLs. */
const base64Form = once((character: string): Characters => {
  if (character !== '+' && character !== '/') return single(character);
  return single(anyOf([...formsOf(character), character === '+' ? '-' : '_']));
});

/** The same question, answered once. There are few characters, and a secret has many. */
function once<Answer>(ask: (text: string) => Answer): (text: string) => Answer {
  const answers = new Map<string, Answer>();
  return (text) => {
    let answer = answers.get(text);
    if (answer === undefined) {
      answer = ask(text);
      if (text.length <= 2) answers.set(text, answer);
    }
    return answer;
  };
}

/** A quote in JSON within JSON within CSV. */
const mostEscapes = 8;

function anyOf(forms: readonly string[]): string {
  return `(?:${forms.join('|')})`;
}

/** Longer forms first. JSON within JSON doubles the backslashes. */
function formsOf(character: string): string[] {
  const bytes = Buffer.from(character);
  const json = JSON.stringify(character).slice(1, -1);
  return [
    // In URLs and forms, and in URLs within URLs.
    [...bytes].map((byte) => `%(?:25)*${anyCase(hex(byte, 2))}`).join(''),
    ...(character === ' ' ? ['\\+'] : []),
    // In JSON.
    Array.from({ length: character.length }, (_, unit) => `\\\\{1,8}u${anyCase(hex(character.charCodeAt(unit), 4))}`).join(''),
    ...(/^\\[bfnrt]$/.test(json) ? [`\\\\{1,8}${json.slice(1)}`] : []),
    ...(character === '/' ? ['\\\\{1,8}/'] : []),
    // In HTML and XML.
    `&#(?:0*${character.codePointAt(0)}|[xX]0*${anyCase(hex(character.codePointAt(0) as number, 1))});`,
    ...(entities[character] === undefined ? [] : [`&${entities[character]};`]),
    // As bytes that are shown as characters.
    ...(bytes.length > 1 ? [escaped(bytes.toString('latin1'))] : []),
    escaped(character),
  ];
}

const entities: Record<string, string> = { '"': 'quot', '&': 'amp', "'": 'apos', '<': 'lt', '>': 'gt' };

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0');
}

function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** The characters of base64 that the secret alone decides, whatever stands around it. */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const inner = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const certain = Math.floor(((offset + bytes.length) * 8) / 6);
    return text.slice(offset === 0 ? 0 : offset + 1, certain);
  });
  const whole = bytes.toString('base64').replace(/=+$/, '');
  return [...inner, whole].filter((text) => text.length >= shortestSecret);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
