import { Failure } from '../../core/failure.ts';
import { ExactNumber, isObject, type JsonObject, type Value } from '../../core/value/value.ts';

/** Arguments as the client takes them. Throws a Failure (`request`) for a number whose digits it would change. */
export function plainArguments(values: JsonObject): Record<string, unknown> {
  return plain(values) as Record<string, unknown>;
}

function plain(value: Value): unknown {
  if (value instanceof ExactNumber) return doubleOf(value);
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/** As many digits a double always holds. */
const safeDigits = 15;

function doubleOf({ text }: ExactNumber): number {
  const number = Number(text);
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  if (Number.isFinite(number) && digits.length <= safeDigits) return number;
  throw new Failure(
    'request',
    `the number ${text.slice(0, 60)} would lose digits on its way to the tool\nsend it as a text, if the tool takes one`,
    {
      sent: false,
    },
  );
}
