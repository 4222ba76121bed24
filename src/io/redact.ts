import { isObject, type Value } from '../core/value.ts';

/** Takes secrets out of everything that is written. */
export interface Redactor {
  /** From now on this is a secret, too. */
  add(secret: string): void;
  /** Whether a text holds a secret, in any encoding. */
  isIn(text: string): boolean;
  /** The text with `***` for every secret. */
  text(text: string): string;
  /** The value with `***` for every secret in its texts, names and numbers. */
  value(value: Value): Value;
}

/** A shorter text is no secret, and would take everyday words out of the data. */
const shortestSecret = 4;

/** Makes a redactor that knows no secret yet. */
export function createRedactor(): Redactor {
  const forms = new Set<string>();
  let pattern: RegExp | undefined;
  const redactor: Redactor = {
    add(secret) {
      for (const form of secretForms(secret)) if (form.length >= shortestSecret) forms.add(form);
      // The longest first, so that no end of a longer form is left over.
      const alternatives = [...forms].sort((a, b) => b.length - a.length).map(escaped);
      if (alternatives.length > 0) pattern = new RegExp(alternatives.join('|'), 'g');
    },
    isIn: (text) => pattern !== undefined && text.search(pattern) >= 0,
    text: (text) => (pattern === undefined ? text : text.replace(pattern, '***')),
    value(value) {
      if (typeof value === 'string') return redactor.text(value);
      if (Array.isArray(value)) return value.map(redactor.value);
      if (isObject(value)) {
        return Object.fromEntries(Object.entries(value).map(([name, member]) => [redactor.text(name), redactor.value(member)]));
      }
      if (value === null || typeof value === 'boolean') return value;
      const digits = typeof value === 'number' ? String(value) : value.text;
      return redactor.isIn(digits) ? redactor.text(digits) : value;
    },
  };
  return redactor;
}

/** A secret as it is, percent-encoded, JSON-escaped, and inside base64 at each of the three ways it can fall. */
function secretForms(secret: string): string[] {
  const percent = encodeURIComponent(secret.toWellFormed());
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    percent.replaceAll('%20', '+'),
    json,
    JSON.stringify(json).slice(1, -1),
    secret.replaceAll('"', '""'),
    json.replaceAll('"', '""'),
    ...base64Forms(secret),
  ];
}

/** The characters of base64 that the secret alone decides, whatever stands around it, in both alphabets. */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < 6) return [bytes.toString('base64').replace(/=+$/, '')];
  const inner = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const certain = Math.floor(((offset + bytes.length) * 8) / 6);
    return text.slice(offset === 0 ? 0 : offset + 1, certain);
  });
  return [...inner, ...inner.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))];
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
