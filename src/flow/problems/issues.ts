import type * as z from 'zod';
import { authOptions } from '../../core/auth/auth.ts';
import type { Problem } from '../../core/failure.ts';
import { didYouMean, nearest } from '../../core/text/suggest.ts';
import { isMapping } from '../../core/value/value.ts';
import { namesAt, toJsonSchema } from '../json-schema.ts';
import { holdsSecret } from '../secrets/mask.ts';
import { isUnderAuth } from '../secrets/secrets.ts';
import type { At, Source } from '../source.ts';
import { choiceMessage, choicesText, messageOf } from './issue-message.ts';

type Issue = z.core.$ZodIssue;

/** The place of a value, and the list for its problems. */
export interface Place {
  readonly source: Source;
  readonly at: At;
  readonly problems: Problem[];
  /** Collects the names of the options that have problems. */
  readonly wrong?: Set<PropertyKey>;
}

/**
 * Checks a value of a flow and reports its problems, each at its place.
 * Returns the checked value without the wrong parts, so that the rest can be compiled, too. `undefined` if too little is left.
 */
export function checkedBy<Schema extends z.ZodType>(schema: Schema, value: unknown, place: Place): z.output<Schema> | undefined {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const all = result.error.issues.flatMap(plainIssues);
  const unknown = all.filter((issue) => issue.code === 'unrecognized_keys');
  const issues = unknown.length > 0 && isMapping(value) ? unknown : all;
  for (const issue of issues) place.problems.push(...problemsOf(issue, schema, place));
  for (const { path } of issues) if (path[0] !== undefined) place.wrong?.add(path[0]);
  if (issues === all) return rest(schema, value, issues);
  // With the misspelt keys corrected, the other problems show.
  const corrected = unknown.reduce((left, issue) => withCorrectedKeys(left, issue, schema, place), value as Record<PropertyKey, unknown>);
  return checkedBy(schema, corrected, place);
}

function isMissing(issue: Issue): boolean {
  return (
    (issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'invalid_union') &&
    issue.input === undefined &&
    issue.path.length > 0 &&
    !isChoice(issue)
  );
}

/** The options that decide how all other options are read. If `type` or `connection` is wrong, further problems would be noise. */
const decisive = new Set<PropertyKey>(['type', 'connection']);

/** Values for required options that are wrong: a method that may have a body, conditions that read no field. */
const standIns: Readonly<Record<PropertyKey, string>> = { method: 'POST', while: 'true', until: 'true' };

/** The text after the message for a missing key whose value is not easily guessed. */
const missingAdvice: Readonly<Record<string, string>> = {
  'paginate.items': '\nexpected the path of the list on a page: data.items, or $body if the answer is the list',
};

/** The checked value without its wrong parts. If the rest is still not valid, the parts around them are left out, too. */
function rest<Schema extends z.ZodType>(schema: Schema, value: unknown, issues: readonly Issue[]): z.output<Schema> | undefined {
  if (!isMapping(value) || issues.some(({ path }) => decisive.has(path[0] as PropertyKey))) return undefined;
  const wrong = issues.map(({ path }) => path);
  for (let length = Math.max(1, ...wrong.map((path) => path.length)); length > 0; length--) {
    const cut = wrong.map((path) => path.slice(0, length));
    const result = schema.safeParse(withoutAll(value, cut));
    if (result.success) return result.data;
  }
  return undefined;
}

/** The value without its parts at the paths. */
function withoutAll(value: Record<PropertyKey, unknown>, paths: readonly (readonly PropertyKey[])[]): unknown {
  const left = paths.reduce<unknown>(without, value) as Record<PropertyKey, unknown>;
  const missing = paths.flatMap(([key]) => (key !== undefined && Object.hasOwn(standIns, key) ? [[key, standIns[key]]] : []));
  return { ...left, ...Object.fromEntries(missing) };
}

/** Moves the values of misspelt keys to the correct keys. */
function withCorrectedKeys(
  value: Record<PropertyKey, unknown>,
  { path, keys }: z.core.$ZodIssueUnrecognizedKeys,
  schema: z.ZodType,
  { source, at }: Place,
): Record<PropertyKey, unknown> {
  let left = value;
  for (const key of keys) {
    const around = memberAt(left, path) as Record<PropertyKey, unknown>;
    left = without(left, [...path, key]) as Record<PropertyKey, unknown>;
    const correct = nearest(key, namesAt(toJsonSchema(schema), path as At, around));
    if (correct === undefined || Object.hasOwn(around, correct)) continue;
    left = withMember(left, [...path, correct], around[key]) as Record<PropertyKey, unknown>;
    source.rename([...at, ...(path as At), key], correct);
  }
  return left;
}

function memberAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((around, step) => (around as Record<PropertyKey, unknown>)[step], value);
}

/** The value with a member at the path. Its parents exist. */
function withMember(value: unknown, [step, ...more]: readonly PropertyKey[], member: unknown): unknown {
  if (step === undefined) return member;
  const inside = withMember((value as Record<PropertyKey, unknown>)[step], more, member);
  return Array.isArray(value) ? value.with(Number(step), inside) : { ...(value as object), [step]: inside };
}

/** The value without its part at the path. A list loses all elements from that index on, so that earlier elements keep their index. */
function without(value: unknown, [step, ...more]: readonly PropertyKey[]): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    return more.length === 0
      ? value.slice(0, Number(step))
      : value.map((member, index) => (index === step ? without(member, more) : member));
  }
  const { [step]: member, ...others } = value as Record<PropertyKey, unknown>;
  return more.length === 0 || member === undefined ? others : { ...others, [step]: without(member, more) };
}

/** Replaces the issue of a union by the issues of the variant that fits the kind of the written value. */
function plainIssues(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const variants = issue.errors.filter((inner) => !inner.some((one) => one.path.length === 0 && isOfKind(one)));
  const [fitting] = variants;
  if (!fitting || variants.length > 1) return [issue];
  return fitting.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as Issue).flatMap(plainIssues);
}

function isOfKind(issue: Issue): boolean {
  if (issue.code === 'invalid_union') return issue.errors.every((inner) => inner.some((one) => one.path.length === 0 && isOfKind(one)));
  return issue.code === 'invalid_type' || issue.code === 'invalid_value';
}

interface CustomParams {
  /** The offset of the mistake in the text. */
  readonly offset?: number;
  /** True if the name is wrong, not the value. */
  readonly isName?: boolean;
}

function problemsOf(issue: Issue, schema: z.ZodType, { source, at }: Place): Problem[] {
  const path = issue.path as At;
  const place = [...at, ...path];
  if (issue.code === 'unrecognized_keys') {
    const known = namesAt(toJsonSchema(schema), path, issue.input);
    return issue.keys.map((key) => {
      const isAlone = !isMapping(issue.input) || issue.input[key] === null;
      return source.atName([...place, key], unknownKey(key, known, { place, isAlone }));
    });
  }
  if (isMissing(issue)) {
    const choices = issue.code === 'invalid_value' && issue.values.length > 1 ? `; expected ${choicesText(issue.values.map(String))}` : '';
    const missing = `the key "${String(path.at(-1))}" is missing${choices}`;
    return [source.at(place.slice(0, -1), `${missing}${missingAdvice[path.slice(-2).join('.')] ?? ''}`)];
  }
  const message = isChoice(issue) ? choiceMessage(issue, schema, isSecret(place)) : messageOf(issue, isSecret(place));
  const { offset, isName }: CustomParams = issue.code === 'custom' ? (issue.params ?? {}) : {};
  return [isName ? source.atName(place, message) : source.at(place, message, offset)];
}

/** True if the value must never be printed. Headers that are not a mapping may be the secret itself. */
function isSecret(place: At): boolean {
  return isUnderAuth(place.map(String)) || place.at(-1) === 'headers';
}

/** Names of the form that options have. Any other unknown name under `auth` may be the secret itself. */
const optionForm = /^[a-z]+(?:_[a-z]+)*$/;

interface UnknownKey {
  readonly place: At;
  /** True for a key without a value. */
  readonly isAlone: boolean;
}

function unknownKey(key: string, known: readonly string[], { place, isAlone }: UnknownKey): string {
  const suggestion = didYouMean(key, known);
  const isOption = authOptions.has(key) || (optionForm.test(key) && !isAlone);
  const isHidden = holdsSecret(key) || (isSecret(place) && suggestion === '' && !isOption);
  return `${isHidden ? 'unknown key' : `unknown key "${key}"`}${suggestion || (known.length > 0 ? `; expected one of ${known.join(', ')}` : '')}`;
}

/** True if the wrong option is the `type` that chooses the variant. */
function isChoice(issue: Issue): boolean {
  return issue.code === 'invalid_union' && 'discriminator' in issue && issue.discriminator !== undefined;
}
