import { looksRandom } from '../core/template/token-text.ts';
import { shortName } from '../core/text/suggest.ts';
import { ExactNumber, textOf, type Value } from '../core/value/value.ts';
import { holdsLogin, isPossiblySecret } from '../flow/secrets/secret-text.ts';
import { plainName } from './plain-name.ts';

/** A place in a request that contains a value. */
export interface ValuePlace {
  /** The place in messages, such as `the query parameter user`. */
  readonly said: string;
  /** The names that lead to the value, such as `user` and `id` for a member `id` of an object `user`. Empty for a segment of the path. */
  readonly names: readonly string[];
  /** The segment before a segment of the path, such as `users` before an id; undefined for any other place. */
  readonly segmentBefore?: string;
}

/** A field of the first record, and the name by which the flow refers to it. */
export interface ReferredField {
  readonly column: string;
  readonly name: string;
  readonly value: Value | undefined;
}

interface Replacement extends ReferredField {
  readonly places: Set<string>;
  /** True if the value might be a secret, so that no message may show it. */
  isSecret: boolean;
}

/** Decides which values of a request are the first record's, and remembers each replaced place. */
export class ReplacedValues {
  readonly #fields: readonly ReferredField[];
  readonly #replaced = new Map<string, Replacement>();
  readonly #ambiguous = new Set<string>();

  constructor(fields: readonly ReferredField[]) {
    this.#fields = fields.filter(
      ({ value }) => value !== '' && (['string', 'number'].includes(typeof value) || value instanceof ExactNumber),
    );
  }

  /**
   * Returns the reference for a value at a place; undefined if no field belongs there. `equals` compares the value with a field's. A field
   * with the place's name is preferred.
   */
  referenceAt(place: ValuePlace, equals: (value: Value) => boolean): string | undefined {
    const equal = this.#fields.filter(({ value }) => equals(value as Value));
    const { names, segmentBefore } = place;
    const found =
      equal.find(({ column }) => isNamedLike(column, names)) ??
      (segmentBefore === undefined ? undefined : onlyOneFor(segmentBefore, equal)) ??
      equal.find(({ value }) => isDistinct(textOf(value as Value)));
    if (found) this.#note(found, place);
    else if (segmentBefore !== undefined && equal.length > 0) this.#ambiguous.add(ambiguity(equal));
    return found && `{{${found.name}}}`;
  }

  #note(field: ReferredField, { said, names }: ValuePlace): void {
    const text = textOf(field.value as Value);
    const replacement = this.#replaced.get(field.column) ?? {
      ...field,
      places: new Set(),
      isSecret: looksRandom(text) || holdsLogin(text),
    };
    replacement.places.add(said);
    replacement.isSecret ||= [field.column, ...names].some((name) => isPossiblySecret(name, 'body', text, true));
    this.#replaced.set(field.column, replacement);
  }

  /** Returns a note for each replaced value, with all its places. */
  notes(): string[] {
    const replaced = [...this.#replaced.values()].map(({ column, name, value, isSecret, places }) => {
      const shown = isSecret ? `the first record's ${plainName(column)}` : plainName(shortName(textOf(value as Value)));
      return `replaced ${shown} by {{${name}}} in: ${[...places].join(', ')}`;
    });
    return [...replaced, ...this.#ambiguous];
  }
}

/** Returns the only field that belongs behind a segment of the path; undefined if several fields might. */
function onlyOneFor(segment: string, fields: readonly ReferredField[]): ReferredField | undefined {
  const before = bareName(segment);
  const things = [before, before.replace(/ies$/, 'y'), before.replace(/e?s$/, ''), before.replace(/s$/, '')];
  const kinds = [
    fields.filter(({ column }) => things.some((thing) => [thing, `${thing}id`].includes(bareName(column)))),
    fields.filter(({ column }) => bareName(column) === 'id'),
    fields.filter(({ column }) => bareName(column).endsWith('id')),
    fields,
  ];
  const likely = kinds.find((kind) => kind.length > 0) ?? [];
  return likely.length === 1 ? likely[0] : undefined;
}

/** The note about a segment of the path that several fields might have filled. Their value is short, so it is no secret. */
function ambiguity(fields: readonly ReferredField[]): string {
  const value = plainName(textOf(fields[0]?.value as Value));
  const columns = fields.map(({ column }) => plainName(shortName(column))).join(' and ');
  const references = fields.map(({ name }) => `{{${name}}}`).join(' or ');
  return `kept ${value} in the path, because ${columns} have the same value: if it is one of them, write ${references} there`;
}

/** True if a value identifies its field wherever it stands. Short values, true and false are in many requests by chance. */
function isDistinct(text: string): boolean {
  return [...text].length > 2 && !/^(?:true|false|null)$/i.test(text);
}

/**
 * True if the names of a place are a column's name, ignoring case, separators and the `X-` of headers. The last names are enough, as in
 * `filter[id]`, and the plural counts for a list such as `ids`.
 */
function isNamedLike(column: string, names: readonly string[]): boolean {
  const wanted = bareName(column);
  return (
    wanted !== '' && names.some((_, index) => bareName(names.slice(index).join('')).replace(RegExp(`^${wanted}s$`), wanted) === wanted)
  );
}

function bareName(name: string): string {
  return name
    .toLowerCase()
    .replace(/^x-/, '')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}
