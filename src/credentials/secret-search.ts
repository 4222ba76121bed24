import { type Characters, type Form, secretForms, shortestSecret, startPattern, wholePattern } from './secret-forms.ts';

interface PreparedSecret {
  readonly forms: readonly Form[];
  /** The pattern for a whole long secret would be slow: only its beginning is found by a pattern, and the rest is compared by character. */
  readonly isLong: boolean;
  readonly patterns: readonly string[];
}

/** Encoded secrets, and regular expressions that find the first characters of any of them. */
interface Starts {
  readonly forms: readonly Form[];
  readonly expressions: readonly RegExp[];
}

const maxShortLength = 64;
const longStartLength = 16;

/** The dots that programs put where they cut off text. */
const cutMark = '...';

export class SecretSearch {
  readonly #secrets: ReadonlyMap<string, PreparedSecret>;
  /** Find the beginning of any secret. There is almost always only one expression, so text without secrets is searched only once. */
  readonly #any: readonly RegExp[];
  readonly #short: readonly RegExp[];
  readonly #long: Starts;
  /** The search for secrets that are cut off; undefined until it is first needed. */
  #cut: Starts | undefined;

  /** Reuses the patterns of `last` for secrets that both searches have in common. */
  constructor(secrets: ReadonlySet<string>, last?: SecretSearch) {
    // Longer secrets come first. A shorter secret may be the beginning of a longer one. If it came first, only this beginning would be
    // masked.
    const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
    const prepared = last === undefined ? undefined : last.#secrets;
    this.#secrets = new Map(longestFirst.map((secret) => [secret, prepared?.get(secret) ?? prepareSecret(secret)]));
    const all = [...this.#secrets.values()];
    const [long, short] = [all.filter(({ isLong }) => isLong), all.filter(({ isLong }) => !isLong)];
    this.#any = expressionsFor(all.flatMap(({ patterns }) => patterns));
    this.#short = long.length === 0 ? this.#any : expressionsFor(short.flatMap(({ patterns }) => patterns));
    this.#long = {
      forms: long.flatMap(({ forms }) => forms),
      expressions: short.length === 0 ? this.#any : expressionsFor(long.flatMap(({ patterns }) => patterns)),
    };
  }

  /** Replaces every secret by `***`, including secrets that were cut off by `...`. */
  mask(text: string): string {
    const uncut = text.includes(cutMark) ? maskForms(text, this.#cutStarts(), cutEndOf) : text;
    if (!this.#any.some((expression) => uncut.search(expression) >= 0)) return uncut;
    return this.#short.reduce((left, expression) => left.replace(expression, '***'), maskForms(uncut, this.#long, wholeEndOf));
  }

  /** Leaves out secrets of four characters, because a match of the first four characters is already the whole secret. */
  #cutStarts(): Starts {
    if (this.#cut) return this.#cut;
    const all = [...this.#secrets.values()].flatMap(({ forms }) => forms);
    const forms = all.filter(({ characters }) => characters.length > shortestSecret);
    const patterns = new Set(forms.map((form) => startPattern(form, shortestSecret)));
    this.#cut = { forms, expressions: expressionsFor([...patterns]) };
    return this.#cut;
  }
}

function prepareSecret(secret: string): PreparedSecret {
  const forms = secretForms(secret);
  const isLong = secret.length > maxShortLength;
  return { forms, isLong, patterns: forms.map((form) => (isLong ? startPattern(form, longStartLength) : wholePattern(form))) };
}

/** V8 does not optimize longer expressions, which makes them hundreds of times slower. */
const maxExpressionLength = 20_000;

function expressionsFor(patterns: readonly string[]): RegExp[] {
  const groups: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const pattern of patterns) {
    size += pattern.length;
    if (size > maxExpressionLength) {
      groups.push([]);
      size = pattern.length;
    }
    groups.at(-1)?.push(pattern);
  }
  return groups.map((group) => new RegExp(group.join('|'), 'g'));
}

/** `endOf` returns the end of the secret that begins at `start`, if there is one. */
function maskForms(
  text: string,
  { forms, expressions }: Starts,
  endOf: (form: Form, text: string, start: number) => number | undefined,
): string {
  return expressions.reduce((left, expression) => {
    let done = 0;
    let masked = '';
    expression.lastIndex = 0;
    for (let found = expression.exec(left); found; found = expression.exec(left)) {
      const at = found.index;
      const end = firstResult(forms, (form) => endOf(form, left, at));
      if (end !== undefined) {
        masked += `${left.slice(done, at)}***`;
        done = end;
      }
      expression.lastIndex = end ?? at + 1;
    }
    expression.lastIndex = 0;
    return masked + left.slice(done);
  }, text);
}

/** Matches the rest of an escaped character that was cut off, if `...` follows. */
const cutEnd = `(?:[%&\\\\\ufffd\\x80-\\xff][\\w#%\\\\\\x80-\\xff]{0,24})?(?=\\.\\.\\.)`;

/** Tries the complete secret first, because the secret itself may contain dots. Then it may be cut off by `...`. */
function cutEndOf(form: Form, text: string, start: number): number | undefined {
  const { whole, partial } = reach(form.characters, text, start);
  if (whole.length > 0) return wholeEndOf(form, text, start);
  return firstResult(partial.reverse(), (end) => matchEnds(cutEnd, text, end)[0]);
}

/** This many matching characters of a secret are masked even without `...`, because some programs cut off text without dots. */
const maxUnmasked = 500;

/** If the secret is incomplete, returns undefined, unless at least `maxUnmasked` characters match. */
function wholeEndOf({ characters, end }: Form, text: string, start: number): number | undefined {
  const { whole, partial } = reach(characters, text, start);
  if (whole.length > 0) return matchEnds(end, text, Math.max(...whole))[0];
  return partial.length < maxUnmasked ? undefined : partial.at(-1);
}

interface Reach {
  /** The offsets at which the secret can end if all its characters match. */
  readonly whole: readonly number[];
  /** In ascending order: where the match can end if at least four of the secret's characters match, but not all. */
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

/** Finds the ends of runs of `unit` that begin at one of `places`, each with the maximum length of a run that ends there. */
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

/** Empty if the pattern does not match at `start`. */
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

function firstResult<In, Out>(all: readonly In[], find: (one: In) => Out | undefined): Out | undefined {
  for (const one of all) {
    const result = find(one);
    if (result !== undefined) return result;
  }
  return undefined;
}
