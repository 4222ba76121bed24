import * as z from 'zod';
import { didYouMean } from '../../core/text/suggest.ts';
import { choicesAt, toJsonSchema } from '../json-schema.ts';
import type { At } from '../source.ts';

type Issue = z.core.$ZodIssue;

/**
 * Returns the message for an option that has no valid variant, such as an unknown `type`. `hidden` is true if the value must not be
 * printed.
 */
export function choiceMessage({ path, input }: Issue, schema: z.ZodType, hidden: boolean): string {
  const choices = choicesAt(toJsonSchema(schema), path as At);
  const written = typeof input === 'object' && input !== null ? (input as Record<PropertyKey, unknown>)[path.at(-1) as string] : input;
  return `expected the type ${choicesText(choices)}${hidden ? '' : `, found ${kindOfValue(written)}${didYouMean(String(written), choices)}`}`;
}

/**
 * Returns the message for any other issue. It says what was expected and what was found. `hidden` is true if the value must not be printed.
 */
export function messageOf(issue: Issue, hidden: boolean): string {
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
      return issue.message + found;
    case 'too_small':
      if (issue.origin === 'array') return `${own ?? 'expected at least one'}, found an empty list`;
      return own ?? `expected at least ${issue.minimum}${found}`;
    case 'too_big':
      return `expected at most ${issue.maximum}${found}`;
    default:
      return issue.message;
  }
}

/** Returns the message that the schema itself contains; undefined if the message is zod's default. */
function ownMessage(issue: Issue): string | undefined {
  const words = z.config().localeError?.(issue as z.core.$ZodRawIssue);
  return issue.message === (typeof words === 'string' ? words : words?.message) ? undefined : issue.message;
}

/** Lists the choices as text: `a, b or c`. */
export function choicesText(choices: readonly string[]): string {
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
