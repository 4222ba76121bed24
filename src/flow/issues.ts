import * as z from 'zod';
import { authOptions } from '../core/auth/auth.ts';
import type { Problem } from '../core/failure.ts';
import { didYouMean, nearest } from '../core/text/suggest.ts';
import { isMapping, type ValuePath } from '../core/value/value.ts';
import { choicesAt, namesAt, toJsonSchema } from './json-schema.ts';
import { holdsSecret } from './secrets/mask.ts';
import { isUnderAuth } from './secrets/secrets.ts';
import type { FlowSource } from './source.ts';

type Issue = z.core.$ZodIssue;

export interface Place {
  readonly source: FlowSource;
  readonly at: ValuePath;
  readonly problems: Problem[];
  readonly wrong?: Set<PropertyKey>;
}

/** Reports problems at their positions. Returns the value without its invalid parts, or `undefined` if too little is left to compile. */
export function checkedBy<Schema extends z.ZodType>(schema: Schema, value: unknown, place: Place): z.output<Schema> | undefined {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const all = withoutLengths(result.error.issues.flatMap(plainIssues));
  const unknown = all.filter((issue) => issue.code === 'unrecognized_keys');
  const issues = unknown.length > 0 && isMapping(value) ? unknown : all;
  for (const issue of issues) place.problems.push(...problemsOf(issue, schema, place));
  for (const { path } of issues) if (path[0] !== undefined) place.wrong?.add(path[0]);
  if (issues === all) return rest(schema, value, issues);
  // First moves the values of misspelt keys to the correct keys, so that the other problems are found.
  const corrected = unknown.reduce((left, issue) => withCorrectedKeys(left, issue, schema, place), value as Record<PropertyKey, unknown>);
  return checkedBy(schema, corrected, place);
}

/** Leaves out the length of a text in place of a list, which zod checks, too. */
function withoutLengths(issues: readonly Issue[]): Issue[] {
  const kinds = new Set(issues.flatMap(({ code, path }) => (code === 'invalid_type' ? [path.join('.')] : [])));
  return issues.filter(({ code, path }) => (code !== 'too_small' && code !== 'too_big') || !kinds.has(path.join('.')));
}

function isMissing(issue: Issue): boolean {
  return (
    (issue.code === 'invalid_type' || issue.code === 'invalid_value' || issue.code === 'invalid_union') &&
    issue.input === undefined &&
    issue.path.length > 0 &&
    !isChoice(issue)
  );
}

/** They determine the meaning of all other options. If one is invalid, further problems would not help the user. */
const decisive = new Set<PropertyKey>(['type', 'connection']);

/** Replace invalid required options: a method that may have a body, and conditions that read no field. */
const standIns: Readonly<Record<PropertyKey, string>> = { method: 'POST', while: 'true', until: 'true' };

/** Added to the message about a missing key whose value is hard to guess. */
const missingAdvice: Readonly<Record<string, string>> = {
  'auth.credential': '\nexpected the name under which the secret is stored, such as credential: my-token',
  where: '\nwhere is the condition of the records to keep; records for which when is false skip the node, and are kept, too',
  'paginate.items': '\nexpected the path of the list on a page: data.items, or $body if the answer is the list',
};

/** Removes the invalid parts and, if the rest is still invalid, the enclosing parts, too. */
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

function withoutAll(value: Record<PropertyKey, unknown>, paths: readonly (readonly PropertyKey[])[]): unknown {
  const left = paths.reduce<unknown>(without, value) as Record<PropertyKey, unknown>;
  const missing = paths.flatMap(([key]) => (key !== undefined && Object.hasOwn(standIns, key) ? [[key, standIns[key]]] : []));
  return { ...left, ...Object.fromEntries(missing) };
}

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
    const correct = meantKey(key, namesAt(toJsonSchema(schema), path as ValuePath, around));
    if (correct === undefined || Object.hasOwn(around, correct)) continue;
    left = withMember(left, [...path, correct], around[key]) as Record<PropertyKey, unknown>;
    source.rename([...at, ...(path as ValuePath), key], correct);
  }
  return left;
}

function memberAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((around, step) => (around as Record<PropertyKey, unknown>)[step], value);
}

/** All parents of the member must already exist. */
function withMember(value: unknown, [step, ...more]: readonly PropertyKey[], member: unknown): unknown {
  if (step === undefined) return member;
  const inside = withMember((value as Record<PropertyKey, unknown>)[step], more, member);
  return Array.isArray(value) ? value.with(Number(step), inside) : { ...(value as object), [step]: inside };
}

/** After a removed list element, removes all later ones, too, so that the remaining ones keep their index. */
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

/** Replaces a union's issue by those of the variant that fits the value's type, if only one variant does. */
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
  /** The offset of the mistake in the option's text. */
  readonly offset?: number;
  /** True if the option's name is invalid, rather than its value. */
  readonly isName?: boolean;
}

function problemsOf(issue: Issue, schema: z.ZodType, { source, at }: Place): Problem[] {
  const path = issue.path as ValuePath;
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
  const changed = takesString(issue) && !isSecret(place) && place.at(-1) !== 'cel' ? source.changedNumber(place) : undefined;
  if (changed !== undefined) return [source.at(place, changed)];
  const message = isChoice(issue) ? choiceMessage(issue, schema, isSecret(place)) : messageOf(issue, isSecret(place));
  const { offset, isName }: CustomParams = issue.code === 'custom' ? (issue.params ?? {}) : {};
  return [isName ? source.atName(place, message) : source.at(place, message, offset)];
}

function takesString(issue: Issue): boolean {
  if (issue.code === 'invalid_union') return issue.errors.some((variant) => variant.some(takesString));
  return issue.code === 'invalid_type' && issue.expected === 'string';
}

/** True if the value might contain secrets and must never be printed. If `headers` is not a mapping, its value might itself be a secret. */
function isSecret(place: ValuePath): boolean {
  return isUnderAuth(place.map(String)) || place.at(-1) === 'headers';
}

/** Matches names that are spelled like options. Any other unknown name under `auth` might be a secret. */
const optionForm = /^[a-z]+(?:_[a-z]+)*$/;

interface UnknownKey {
  readonly place: ValuePath;
  /** True if the key has no value, as if a secret was written in place of an option. */
  readonly isAlone: boolean;
}

/** Other tools and libraries have these names for options. */
const otherNames: Readonly<Record<string, string>> = { data: 'body', json: 'body', payload: 'body', uri: 'url', endpoint: 'url' };

const parameterNames: ReadonlySet<string> = new Set(['params', 'parameters', 'query', 'qs']);

function meantKey(key: string, known: readonly string[]): string | undefined {
  const other = Object.hasOwn(otherNames, key) ? otherNames[key] : undefined;
  return other !== undefined && known.includes(other) ? other : nearest(key, known);
}

function unknownKey(key: string, known: readonly string[], { place, isAlone }: UnknownKey): string {
  if (parameterNames.has(key) && known.includes('url')) return `unknown key "${key}"; parameters belong into the url: "...?name={{field}}"`;
  // Other variants of the mapping have it.
  if (known.includes(key)) return `the key "${key}" does not go together with the other keys here`;
  const meant = meantKey(key, known);
  const suggestion = meant === undefined ? '' : `; did you mean "${meant}"?`;
  const isOption = authOptions.has(key) || (optionForm.test(key) && !isAlone);
  const isHidden = holdsSecret(key) || (isSecret(place) && suggestion === '' && !isOption);
  return `${isHidden ? 'unknown key' : `unknown key "${key}"`}${suggestion || (known.length > 0 ? `; expected one of ${known.join(', ')}` : '')}`;
}

/** True if the invalid option is the `type` that selects the variant. */
function isChoice(issue: Issue): boolean {
  return issue.code === 'invalid_union' && 'discriminator' in issue && issue.discriminator !== undefined;
}

/** For an option without a valid variant, such as an unknown `type`. A `hidden` value must not be printed. */
function choiceMessage({ path, input }: Issue, schema: z.ZodType, hidden: boolean): string {
  const choices = choicesAt(toJsonSchema(schema), path as ValuePath);
  const written = typeof input === 'object' && input !== null ? (input as Record<PropertyKey, unknown>)[path.at(-1) as string] : input;
  return `expected the type ${choicesText(choices)}${hidden ? '' : `, found ${kindOfValue(written)}${didYouMean(String(written), choices)}`}`;
}

/** Says what was expected and what was found. A `hidden` value must not be printed. */
function messageOf(issue: Issue, hidden: boolean): string {
  const found = hidden ? '' : `, found ${kindOfValue(issue.input)}`;
  const own = ownMessage(issue);
  switch (issue.code) {
    case 'invalid_value': {
      const choices = issue.values.map(String);
      return `${own ?? `expected ${choicesText(choices)}`}${found}${didYouMean(String(issue.input), choices)}`;
    }
    case 'invalid_type':
      return `${own ?? `expected ${words[issue.expected] ?? issue.expected}`}${found}`;
    case 'invalid_union':
      return `${own ?? `expected ${choicesText(kindsIn(issue))}`}${found}`;
    case 'too_small':
      if (issue.origin === 'array') return `${own ?? 'expected at least one'}, found ${countOf(issue.input)}`;
      return own ?? `expected at least ${issue.minimum}${found}`;
    case 'too_big':
      return `expected at most ${issue.maximum}${found}`;
    default:
      return issue.message;
  }
}

/** The kinds of values that the variants of a union expect. */
function kindsIn({ errors }: z.core.$ZodIssueInvalidUnion): string[] {
  const issues = errors.flat().filter(({ path }) => path.length === 0);
  return [...new Set(issues.flatMap((issue) => (issue.code === 'invalid_type' ? [words[issue.expected] ?? issue.expected] : [])))];
}

function countOf(list: unknown): string {
  const { length } = list as unknown[];
  return length === 0 ? 'an empty list' : `a list of ${length}`;
}

/** Undefined if the message is zod's default. */
function ownMessage(issue: Issue): string | undefined {
  const words = z.config().localeError?.(issue as z.core.$ZodRawIssue);
  return issue.message === (typeof words === 'string' ? words : words?.message) ? undefined : issue.message;
}

/** `a, b or c`. */
function choicesText(choices: readonly string[]): string {
  return choices.length === 1 ? `${choices[0]}` : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}

const words: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
