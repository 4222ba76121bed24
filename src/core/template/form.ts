import { Failure } from '../failure.ts';
import { textOf, type Value } from '../value/value.ts';
import type { BodyTemplate, SpecialValue } from './body.ts';
import { textTemplate, valueTemplate } from './template.ts';

/** A list repeats its form field for each element. `special` returns a function for a value that is not plain data. */
export function formTemplate(form: Readonly<Record<string, Value>>, special: (value: Value) => SpecialValue | undefined): BodyTemplate {
  const members = Object.entries(form).map(([name, written]) => ({
    name: textTemplate(name),
    values: (Array.isArray(written) ? written : [written]).map((value) => special(value) ?? formValue(value)),
  }));
  return (fields, clock, secretOf) => {
    const pairs: string[] = [];
    for (const { name, values } of members) {
      for (const value of values) pairs.push(...pairsOf(name(fields), value(fields, clock, secretOf)));
    }
    return pairs.join('&');
  };
}

function formValue(value: Value): SpecialValue {
  return typeof value === 'string' ? valueTemplate(value) : () => value;
}

function pairsOf(name: string, value: Value): string[] {
  return (Array.isArray(value) ? value : [value]).map((one) => `${encoded(name, name)}=${encoded(textOf(one), name)}`);
}

function encoded(text: string, name: string): string {
  if (text.isWellFormed()) return encodeURIComponent(text);
  throw new Failure('request', `"${name.toWellFormed()}" in the form contains a broken character (a lone surrogate)`, { sent: false });
}
