import type * as z from 'zod';
import type { Problem } from '../core/failure.ts';
import { didYouMean } from '../core/suggest.ts';
import { namesAt, toJsonSchema } from './json-schema.ts';
import type { At, Source } from './source.ts';

type Issue = z.core.$ZodIssue;

/** Checks a value of a flow. What is wrong with it is added to the problems, each where it stands. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: { readonly source: Source; readonly at: At; readonly problems: Problem[] },
): z.output<Schema> | undefined {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  for (const issue of result.error.issues.flatMap(plainIssues)) where.problems.push(...problemsOf(issue, schema, where));
  return undefined;
}

/** An issue of a union is that of the variant that was meant: the one whose kind fits what was written. */
function plainIssues(issue: Issue): Issue[] {
  if (issue.code === 'invalid_key') return issue.issues.map((inner) => ({ ...inner, path: issue.path }) as Issue);
  if (issue.code !== 'invalid_union') return [issue];
  const variants = issue.errors.filter(
    (inner) => !inner.some(({ path, code }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')),
  );
  const [meant] = variants;
  if (!meant || variants.length > 1) return [issue];
  return meant.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as Issue).flatMap(plainIssues);
}

function problemsOf(issue: Issue, schema: z.ZodType, where: Parameters<typeof checked>[2]): Problem[] {
  const { source, at } = where;
  const path = issue.path as At;
  if (issue.code === 'unrecognized_keys') {
    const known = namesAt(toJsonSchema(schema), path);
    return issue.keys.map((key) => source.atName([...at, ...path, key], unknownKey(key, known)));
  }
  if (issue.code === 'invalid_type' && issue.input === undefined && path.length > 0) {
    return [source.at([...at, ...path.slice(0, -1)], `the key "${String(path.at(-1))}" is missing`)];
  }
  const offset = issue.code === 'custom' ? (issue.params as { offset?: number } | undefined)?.offset : undefined;
  const isSecret = [...at, ...path].includes('auth');
  return [source.at([...at, ...path], messageOf(issue, isSecret), offset)];
}

function unknownKey(key: string, known: readonly string[]): string {
  const suggestion = didYouMean(key, known);
  return `unknown key "${key}"${suggestion || (known.length > 0 ? `; expected one of ${known.join(', ')}` : '')}`;
}

function messageOf(issue: Issue, isSecret: boolean): string {
  if (issue.code === 'invalid_value') {
    const choices = issue.values.map(String);
    const found = isSecret ? '' : `, found ${JSON.stringify(issue.input)}`;
    return `expected ${listed(choices)}${found}${didYouMean(String(issue.input), choices)}`;
  }
  if (issue.code === 'invalid_union' && 'discriminator' in issue && issue.discriminator !== undefined) {
    return 'expected the type none, bearer, api_key, basic or oauth2_client_credentials';
  }
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    return `expected ${article(issue.expected)}, found ${isSecret ? 'something else' : kindOf(issue.input)}`;
  }
  return issue.message.replace(/^(?:Invalid input|Too small|Too big): /, '').replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
}

function listed(choices: readonly string[]): string {
  return choices.length === 1 ? `${choices[0]}` : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}

const words: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function article(expected: string): string {
  return words[expected] ?? expected;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
