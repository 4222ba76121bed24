import { Failure } from '../failure.ts';
import type { Fields } from '../record.ts';
import { freeName } from '../text/suggest.ts';
import { isObject, textOf, type Value } from '../value/value.ts';

/** A part of a template, which is literal text or a reference to a field. */
export type TemplatePart = string | { readonly field: string };

const reference = /\{\{([\p{L}\p{M}\p{N}_]+)\}\}/gu;

/** Names in references such as `{{field}}` consist only of letters, digits and underscores. Everything else is literal text. */
export function templateParts(text: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const match of text.matchAll(reference)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ field: match[1] as string });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** Returns the names of the fields that the text refers to, without duplicates. */
export function referencedFields(text: string): string[] {
  const names = templateParts(text).flatMap((part) => (typeof part === 'string' ? [] : [part.field]));
  return [...new Set(names)];
}

/** True if `{{name}}` can refer to a field with this name. */
export function isReferable(name: string): boolean {
  return /^[\p{L}\p{M}\p{N}_]+$/u.test(name);
}

/** Returns the most similar name that a reference can contain. It is empty if the name has no allowed character. */
export function referable(name: string): string {
  return name.replace(/[^\p{L}\p{M}\p{N}_]+/gu, '_').replace(/^_+|_+$/g, '');
}

/** The name that is proposed for a column that a reference cannot contain. */
export function aliasFor(column: string): string {
  return referable(column).toLowerCase() || 'field';
}

/** Returns a unique name for each column that a reference can contain. Such a name has only letters, digits and underscores. */
export function referableNames(columns: readonly string[]): ReadonlyMap<string, string> {
  const used = new Set(columns);
  const names = new Map<string, string>();
  for (const column of columns) {
    if (column !== '') names.set(column, isReferable(column) ? column : nameFor(column));
  }
  return names;

  function nameFor(column: string): string {
    const name = freeName(aliasFor(column), (taken) => used.has(taken));
    used.add(name);
    return name;
  }
}

/** Returns the parts of a template that look like references but are not, such as `{{first-name}}`, `{{ id }}` and `{{id`. */
export function nearReferences(text: string): string[] {
  const found = text.match(/\{\{[^{}]*\}\}|\{\{[\p{L}\p{M}\p{N}_]+\}?/gu) ?? [];
  return found.filter((braces) => referencedFields(braces).length === 0);
}

/** Other tools' syntax: `{id}`, `${id}`, `<id>`, which are never valid in a URL, and `:id` as a segment of the path. */
export function foreignReferences(url: string): string[] {
  return url.match(/(?<!\{)\$?\{[\p{L}\p{M}\p{N}_]+\}(?!\})|<[\p{L}\p{M}\p{N}_]+>|(?<=\/):[A-Za-z_]\w*(?=[/?#]|$)/gu) ?? [];
}

/** Variables of the shell, such as `${API_URL}`. Names in small letters are left out: they are valid text in many languages. */
export function shellReferences(text: string): string[] {
  return text.match(/\$\{[A-Z_][A-Z0-9_]*\}/g) ?? [];
}

/** Returns advice if the text contains a shell variable, such as `${API_URL}`, as flows do not replace it; empty for any other text. */
export function shellVariableAdvice(text: string): string {
  const name = /\$\{([A-Za-z_]\w*)\}|^\$([A-Z_][A-Z0-9_]*)/
    .exec(text)
    ?.slice(1)
    .find((found) => found !== undefined);
  if (name === undefined) return '';
  const variable = name.toLowerCase();
  return `\na flow does not see the variables of the shell\ndeclare it in the flow: vars: { ${variable}: VALUE }, and write {{vars.${variable}}}`;
}

/** Returns a field's value. Throws a Failure if the record lacks the field, because an empty value would hide the mistake. */
export function fieldOf(fields: Fields, name: string): Value {
  const value = fields.get(name);
  if (value === undefined) throw missingField(name, fields);
  return value;
}

/** If the record continues in spite of an earlier failure, the message adds the reason of that failure. */
export function missingField(name: string, fields: Fields): Failure {
  const error = fields.get('_error');
  const before = isObject(error) && typeof error.message === 'string' ? `; before, ${textOf(error.node ?? null)}: ${error.message}` : '';
  return new Failure('template', `the record has no field "${name}"${before}`, { sent: false });
}

export type TextTemplate = (fields: Fields) => string;

export function textTemplate(text: string): TextTemplate {
  const parts = templateParts(text);
  if (parts.every((part) => typeof part === 'string')) return () => text;
  return (fields) => {
    let rendered = '';
    for (const part of parts) rendered += typeof part === 'string' ? part : textOf(fieldOf(fields, part.field));
    return rendered;
  };
}

/** Compiles a template that renders a value. If the text consists of a single reference, the field's value keeps its type. */
export function valueTemplate(text: string): (fields: Fields) => Value {
  const [only, ...more] = templateParts(text);
  if (only !== undefined && typeof only !== 'string' && more.length === 0) return (fields) => fieldOf(fields, only.field);
  return textTemplate(text);
}

/** Control characters could start another header (RFC 9110, 5.5). They cause a Failure, immediately if the flow itself contains them. */
export function headerTemplate(name: string, text: string): TextTemplate {
  refuseControls(name, text);
  const render = textTemplate(text);
  return (fields) => {
    const value = render(fields);
    refuseControls(name, value);
    return value;
  };
}

function refuseControls(name: string, value: string): void {
  const refused = (reason: string) => new Failure('request', `the header "${name}" ${reason}`, { sent: false });
  if (/\p{Cc}/u.test(value)) throw refused('must not contain a line break or another control character');
  if (!value.isWellFormed()) throw refused('contains a broken character (a lone surrogate)');
}
