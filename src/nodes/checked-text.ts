import { Failure } from '../core/failure.ts';
import type { BuildContext } from '../core/node.ts';
import type { Fields } from '../core/record.ts';
import { referencedFields, textTemplate } from '../core/template/template.ts';

/** The form that a text has to have. */
export interface TextForm {
  readonly pattern: RegExp;
  /** The words after `expected` in messages, such as `a year such as 2024`. */
  readonly expected: string;
}

/** Compiles a text that has to have a form. A literal of another form is a problem of the flow; a record that renders another form fails. */
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
