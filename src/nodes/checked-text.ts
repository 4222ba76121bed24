import { Failure } from '../core/failure.ts';
import type { BuildContext } from '../core/node.ts';
import type { Fields } from '../core/record.ts';
import { referencedFields, textTemplate } from '../core/template/template.ts';

/** The form that a text has to have. */
export interface TextForm {
  readonly pattern: RegExp;
  /** As in `expected a year such as 2024`. */
  readonly expected: string;
}

/** Compiles a text of a form. A wrong one is a problem if the flow itself writes it, and fails the record that makes it. */
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
