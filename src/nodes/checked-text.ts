import { Failure } from '../core/failure.ts';
import type { BuildContext } from '../core/node.ts';
import type { Fields } from '../core/record.ts';
import { referencedFields, textTemplate } from '../core/template/template.ts';

/** The form that a string must have. */
export interface TextForm {
  readonly pattern: RegExp;
  /** A description that follows the word `expected` in messages, for example `a year such as 2024`. */
  readonly expected: string;
}

/**
 * Compiles a template for a string that must have a certain form. A template without references is checked immediately, and a mistake is
 * reported as a problem of the flow. Otherwise, a record fails if its string has a different form.
 */
export function checkedText(
  text: string,
  { pattern, expected }: TextForm,
  at: readonly (string | number)[],
  context: BuildContext,
): (fields: Fields) => string {
  const message = (found: string) => `expected ${expected}, found ${JSON.stringify(found.length > 40 ? `${found.slice(0, 40)}…` : found)}`;
  if (referencedFields(text).length === 0 && !pattern.test(text.trim())) context.problem(at, message(text));
  const render = textTemplate(text);
  return (fields) => {
    const written = render(fields).trim();
    if (!pattern.test(written)) throw new Failure('request', message(written), { sent: false });
    return written;
  };
}
