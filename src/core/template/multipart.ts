import type { EvaluationClock } from '../condition/evaluation.ts';
import { Failure } from '../failure.ts';
import type { SecretOf } from '../ports.ts';
import type { Fields } from '../record.ts';
import type { FormPart } from '../transfer.ts';
import { isObject, textOf, type Value } from '../value/value.ts';
import type { Special, SpecialValue } from './body.ts';
import { type TextTemplate, textTemplate, valueTemplate } from './template.ts';

/** Renders a record into the parts of a form that sends files. Without `secretOf`, each secret is rendered as `***`. */
export type PartsTemplate = (fields: Fields, clock: EvaluationClock, secretOf?: SecretOf) => FormPart[];

interface WrittenFile {
  readonly file: string;
  readonly name?: string;
  readonly content_type?: string;
}

/** True for `{ file: PATH }` in a form, with or without `name` and `content_type`. */
function isFile(value: Value): value is Value & WrittenFile {
  return isObject(value) && typeof value.file === 'string';
}

export function sendsFiles(form: Readonly<Record<string, Value>> | undefined): boolean {
  return Object.values(form ?? {}).some((value) => (Array.isArray(value) ? value : [value]).some(isFile));
}

/** A form field is repeated for each element of a list. `special` returns a function for a value that is not plain data. */
export function partsTemplate(form: Readonly<Record<string, Value>>, special: Special): PartsTemplate {
  const members = Object.entries(form).flatMap(([name, written]) =>
    (Array.isArray(written) ? written : [written]).map((value) => partTemplate(textTemplate(name), value, special(value))),
  );
  return (fields, clock, secretOf) => members.flatMap((render) => render(fields, clock, secretOf));
}

function partTemplate(name: TextTemplate, value: Value, special: SpecialValue | undefined): PartsTemplate {
  if (isFile(value)) return fileTemplate(name, value);
  const contentOf: SpecialValue = special ?? (typeof value === 'string' ? valueTemplate(value) : () => value);
  return (fields, clock, secretOf) => {
    const found = contentOf(fields, clock, secretOf);
    return (Array.isArray(found) ? found : [found]).map((one) => ({ name: name(fields), value: wellFormed(textOf(one), name(fields)) }));
  };
}

function fileTemplate(name: TextTemplate, { file, name: fileName, content_type: contentType }: WrittenFile): PartsTemplate {
  const [path, ownName, type] = [textTemplate(file), optional(fileName), optional(contentType)];
  return (fields) => {
    const shown = name(fields);
    const written = type?.(fields);
    if (written !== undefined && !/^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x7e]*)?$/.test(written)) {
      throw new Failure(
        'request',
        `expected a content type such as image/png for "${shown}" in the form, found ${JSON.stringify(written)}`,
        {
          sent: false,
        },
      );
    }
    return [{ name: shown, file: path(fields), fileName: ownName?.(fields), contentType: written }];
  };
}

function optional(text: string | undefined): TextTemplate | undefined {
  return text === undefined ? undefined : textTemplate(text);
}

function wellFormed(text: string, name: string): string {
  if (text.isWellFormed()) return text;
  throw new Failure('request', `"${name.toWellFormed()}" in the form contains a broken character (a lone surrogate)`, { sent: false });
}
