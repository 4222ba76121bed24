import { Failure } from '../failure.ts';
import type { Fields } from '../record.ts';
import { isObject, textOf, type Value } from '../value/value.ts';

/** A piece of a template: text as it stands, or a reference to a field. */
export type Part = string | { readonly field: string };

const reference = /\{\{([\p{L}\p{M}\p{N}_]+)\}\}/gu;

/** Splits a text at its references. Only letters, digits and underscores make a name; everything else stays text. */
export function templateParts(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(reference)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ field: match[1] as string });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** The names of the fields that a text refers to, each once. */
export function referencedFields(text: string): string[] {
  const names = templateParts(text).flatMap((part) => (typeof part === 'string' ? [] : [part.field]));
  return [...new Set(names)];
}

/** True if `{{name}}` can refer to a field of this name. */
export function isReferable(name: string): boolean {
  return /^[\p{L}\p{M}\p{N}_]+$/u.test(name);
}

/** The nearest name that a reference can hold. Empty if no character can stay. */
export function referable(name: string): string {
  return name.replace(/[^\p{L}\p{M}\p{N}_]+/gu, '_').replace(/^_+|_+$/g, '');
}

/** Texts that look like references but are not, such as `{{first-name}}`, `{{ id }}` and `{{id`. */
export function nearReferences(text: string): string[] {
  const found = text.match(/\{\{[^{}]*\}\}|\{\{[\p{L}\p{M}\p{N}_]+\}?/gu) ?? [];
  return found.filter((braces) => referencedFields(braces).length === 0);
}

/** References of other tools in a URL: `{id}`, `${id}`, `<id>`. No URL holds these characters unencoded. */
export function foreignReferences(url: string): string[] {
  return url.match(/(?<!\{)\$?\{[\p{L}\p{M}\p{N}_]+\}(?!\})|<[\p{L}\p{M}\p{N}_]+>/gu) ?? [];
}

/** The way out for a variable of the shell in a text, such as `${API_URL}`: it does not reach flows. Empty for any other text. */
export function shellVariableAdvice(text: string): string {
  const name = /\$\{([A-Za-z_]\w*)\}|^\$([A-Z_][A-Z0-9_]*)/
    .exec(text)
    ?.slice(1)
    .find((found) => found !== undefined);
  if (name === undefined) return '';
  const variable = name.toLowerCase();
  return `\na flow does not see the variables of the shell\nname it in the flow: vars: { ${variable}: VALUE }, and write {{vars.${variable}}}`;
}

/** A field's value. Throws a Failure if the record lacks it: a missing field is never an empty text. */
export function fieldOf(fields: Fields, name: string): Value {
  const value = fields.get(name);
  if (value === undefined) throw missingField(name, fields);
  return value;
}

/** The failure of a record that lacks a field. If an earlier node failed and passed the record on, the message adds that node's reason. */
export function missingField(name: string, fields: Fields): Failure {
  const error = fields.get('_error');
  const before = isObject(error) && typeof error.message === 'string' ? `; before, ${textOf(error.node ?? null)}: ${error.message}` : '';
  return new Failure('template', `the record has no field "${name}"${before}`, { sent: false });
}

/** Renders a record into a text. */
export type TextTemplate = (fields: Fields) => string;

/** Compiles a template. */
export function textTemplate(text: string): TextTemplate {
  const parts = templateParts(text);
  if (parts.every((part) => typeof part === 'string')) return () => text;
  return (fields) => {
    let rendered = '';
    for (const part of parts) rendered += typeof part === 'string' ? part : textOf(fieldOf(fields, part.field));
    return rendered;
  };
}

/** Compiles the template of a field. A text that is only one reference keeps the value's type. */
export function valueTemplate(text: string): (fields: Fields) => Value {
  const [only, ...more] = templateParts(text);
  if (only !== undefined && typeof only !== 'string' && more.length === 0) return (fields) => fieldOf(fields, only.field);
  return textTemplate(text);
}

/**
 * Compiles a header's value. Throws a Failure for control characters, which could begin another header (RFC 9110, 5.5):
 * at once if the flow holds them, else for each record that does.
 */
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
  if (/\p{Cc}/u.test(value)) throw refused('must not hold a line break or another control character');
  if (!value.isWellFormed()) throw refused('holds a broken character (a lone surrogate)');
}
