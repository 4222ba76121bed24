import { cutEndOf, firstResult, wholeEndOf } from './form-end.ts';
import { type Form, secretForms, shortestSecret, startPattern, wholePattern } from './secret-forms.ts';

/** A secret, prepared for the search. */
interface PreparedSecret {
  readonly forms: readonly Form[];
  /** The whole of a long secret would make a slow expression: its beginning is searched for, and the rest is compared. */
  readonly isLong: boolean;
  readonly patterns: readonly string[];
}

/** Forms, and the expressions that find the first characters of any of them. */
interface Starts {
  readonly forms: readonly Form[];
  readonly expressions: readonly RegExp[];
}

const maxShortLength = 64;
const longStartLength = 16;

/** Marks the end of a text that was cut. */
const cutMark = '...';

/** Finds all secrets in a text and masks them. */
export class SecretSearch {
  readonly #secrets: ReadonlyMap<string, PreparedSecret>;
  /** Expressions for the beginnings of secrets. Nearly always there is a single expression, so that a text without secrets is read once. */
  readonly #any: readonly RegExp[];
  readonly #short: readonly RegExp[];
  readonly #long: Starts;
  /** Created for the first text that was cut. */
  #cut: Starts | undefined;

  /** `last` has secrets that are prepared already. */
  constructor(secrets: ReadonlySet<string>, last?: SecretSearch) {
    // The longest first, so that no end of a longer secret is left over.
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

  /** The text with `***` for every secret, and for the beginning of a secret at which the text was cut. */
  mask(text: string): string {
    const uncut = text.includes(cutMark) ? maskForms(text, this.#cutStarts(), cutEndOf) : text;
    if (!this.#any.some((expression) => uncut.search(expression) >= 0)) return uncut;
    return this.#short.reduce((left, expression) => left.replace(expression, '***'), maskForms(uncut, this.#long, wholeEndOf));
  }

  /** Without forms whose shortest beginning is the whole form. */
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

/** V8 does not optimize an expression of more than 20 KB, which is hundreds of times slower. */
const maxExpressionLength = 20_000;

/** As few expressions as can hold all patterns. */
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

/** The text with `***` wherever one of the forms begins and `endOf` finds its end. */
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
