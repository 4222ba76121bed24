import { inQuotes } from '../answer/response.ts';
import type { EvaluationClock } from '../condition/evaluation.ts';
import { Failure } from '../failure.ts';
import type { SecretBody, SecretOf } from '../ports.ts';
import type { Fields } from '../record.ts';
import { isObject, jsonOf, textOf, type Value, type ValuePath } from '../value/value.ts';
import { fieldOf, type TemplatePart, templateParts } from './template.ts';

/** A piece of a body's JSON text. It is constant text, or a function that renders a field or a secret there. */
type BodyPiece = string | BodyTemplate;

/** Renders a record into a body. Without `secretOf`, each secret is rendered as `***`. */
export type BodyTemplate = (fields: Fields, clock: EvaluationClock, secretOf?: SecretOf) => string;

/** Renders a value that is not plain data: the secret of a credential, or the result of an expression. */
export type SpecialValue = (fields: Fields, clock: EvaluationClock, secretOf?: SecretOf) => Value;

/**
 * A mapping or list always becomes valid JSON; a string is JSON text with references such as `{{field}}`. `isCell` is true for a field from
 * a table (CSV), in which numbers are text. `special` returns a function for a value that is not plain data. Throws an Error with the
 * reason if the text can never become JSON.
 */
export function bodyTemplate(
  body: Value,
  isCell: (field: string) => boolean,
  special: Special = () => undefined,
  name: BodyName = 'body',
): BodyTemplate {
  if (typeof body === 'string') return jsonTextTemplate(body, isCell, name);
  return templateOf(piecesOf(body, special));
}

/** The body of a tool call consists of its arguments. */
type BodyName = 'body' | 'arguments';

function bodyIs(name: BodyName): string {
  return name === 'body' ? 'the body is' : 'the arguments are';
}

export type Special = (value: Value) => SpecialValue | undefined;

/** The members that mark a secret. `session` is ordinary data in requests that need no login first. */
export type SecretKind = 'credential' | 'session';

/** Returns a function that renders the secret if the value is `{ credential: NAME }`; undefined for any other value. */
export function secretValue(value: Value, kinds: readonly SecretKind[] = ['credential']): SpecialValue | undefined {
  const found = secretIn(value, kinds);
  return found && ((_fields, _clock, secretOf = masked) => secretOf(found.name, found.kind));
}

function masked(): string {
  return '***';
}

/** The option that is written as the body of a request. */
export interface BodyOption {
  readonly name: 'body' | 'form' | 'text';
  readonly value: Value;
}

/** The Content-Type of a body, unless the user states one. */
export const contentTypes = { body: 'application/json', form: 'application/x-www-form-urlencoded', text: 'text/plain; charset=utf-8' };

export function payloadOf({ body, form, text }: { readonly [Name in BodyOption['name']]?: unknown }): BodyOption | undefined {
  if (body !== undefined) return { name: 'body', value: body as Value };
  if (form !== undefined) return { name: 'form', value: form as Value };
  return text === undefined ? undefined : { name: 'text', value: text as Value };
}

export interface BodySecret {
  readonly kind: SecretKind;
  readonly name: string;
  readonly at: ValuePath;
}

/** Undefined for a value that is not `{ credential: NAME }`. */
function secretIn(value: Value | undefined, kinds: readonly SecretKind[]): Omit<BodySecret, 'at'> | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  const kind = kinds.find((one) => typeof value[one] === 'string');
  return kind && { kind, name: value[kind] as string };
}

/** If the body itself is an object with the member `credential`, that is an ordinary member. */
export function secretsWithin(body: Value | undefined, at: ValuePath, kinds: readonly SecretKind[]): BodySecret[] {
  return foundWithin(body, at, (value, path) => {
    const found = secretIn(value, kinds);
    return found && { ...found, at: [...path, found.kind] };
  });
}

/** Searches the values inside the body, but not the body itself, and not inside what was found. */
export function foundWithin<Found>(
  body: Value | undefined,
  at: ValuePath,
  find: (value: Value, at: ValuePath) => Found | undefined,
): Found[] {
  const values: [string | number, Value][] = Array.isArray(body) ? [...body.entries()] : isObject(body) ? Object.entries(body) : [];
  return values.flatMap(([key, value]) => find(value, [...at, key]) ?? foundWithin(value, [...at, key], find));
}

export function namesOf(secrets: readonly BodySecret[]): Pick<SecretBody, 'credentials' | 'sessions'> {
  const named = (wanted: SecretKind) => [...new Set(secrets.flatMap(({ kind, name }) => (kind === wanted ? [name] : [])))];
  return { credentials: named('credential'), sessions: named('session') };
}

function piecesOf(value: Value, special: Special): BodyPiece[] {
  const inside = (member: Value): BodyPiece[] => {
    const render = special(member);
    return render ? [(fields, clock, secretOf) => jsonOf(render(fields, clock, secretOf))] : piecesOf(member, special);
  };
  if (typeof value === 'string') return stringPieces(value);
  if (Array.isArray(value)) return ['[', ...separated(value.map(inside)), ']'];
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('JSON has no number for infinity or "not a number"');
  if (!isObject(value)) return [jsonOf(value)];
  const members = Object.keys(value).map((name) => [...textPieces(templateParts(name)), ':', ...inside(value[name] as Value)]);
  return ['{', ...separated(members), '}'];
}

function separated(lists: BodyPiece[][]): BodyPiece[] {
  return lists.flatMap((list, index) => (index === 0 ? list : [',', ...list]));
}

/** Splits a string into pieces of JSON text. If the string consists of a single reference, the field's value keeps its type. */
function stringPieces(text: string): BodyPiece[] {
  const parts = templateParts(text);
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'object') return [(fields) => jsonOf(fieldOf(fields, only.field))];
  return textPieces(parts);
}

function textPieces(parts: TemplatePart[]): BodyPiece[] {
  return ['"', ...parts.map((part): BodyPiece => (typeof part === 'string' ? jsonEscaped(part) : insideString(part.field))), '"'];
}

function insideString(field: string): BodyPiece {
  return (fields) => jsonEscaped(textOf(fieldOf(fields, field)));
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function jsonTextTemplate(text: string, isCell: (field: string) => boolean, name: BodyName): BodyTemplate {
  const pieces: BodyPiece[] = [];
  let quoted = false;
  for (const part of templateParts(text)) {
    if (typeof part === 'string') {
      pieces.push(part);
      quoted = isQuotedAfter(part, quoted);
    } else pieces.push(quoted ? insideString(part.field) : jsonValue(part.field, isCell(part.field), name));
  }
  const render = templateOf(pieces);
  if (pieces.every((piece) => typeof piece === 'string')) {
    checkJson(text, (reason) => new Error(`${bodyIs(name)} not JSON: ${withoutExcerpt(reason)}${otherBody(text)}`));
    return render;
  }
  refuseHopeless(text, name);
  return (fields, clock) => {
    const rendered = render(fields, clock);
    checkJson(rendered, (reason) => new Failure('request', `${bodyIs(name)} not JSON after rendering: ${reason}`, { sent: false }));
    return rendered;
  };
}

/** `quotedBefore` is true if the piece begins inside a JSON string. */
export function isQuotedAfter(text: string, quotedBefore: boolean): boolean {
  let quoted = quotedBefore;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') quoted = !quoted;
    else if (text[i] === '\\' && quoted) i++;
  }
  return quoted;
}

/** Values in place of a reference while JSON text is checked. Each is as long as the reference, so that positions stay correct. */
const samples: readonly ((length: number) => string)[] = [
  (length) => '1'.repeat(length),
  (length) => `"${'x'.repeat(length - 2)}"`,
  (length) => 'null'.padEnd(length),
];

/** Throws an Error if the text is not JSON, no matter which sample stands for the references. Such text would fail for every record. */
function refuseHopeless(text: string, name: BodyName): void {
  const reasons: string[] = [];
  for (const sample of samples) {
    let quoted = false;
    const filled = templateParts(text).map((part) => {
      if (typeof part !== 'string') return quoted ? 'x'.repeat(lengthOf(part)) : sample(lengthOf(part));
      quoted = isQuotedAfter(part, quoted);
      return part;
    });
    try {
      JSON.parse(filled.join(''));
      return;
    } catch (error) {
      reasons.push((error as Error).message);
    }
  }
  throw new Error(`${bodyIs(name)} not JSON for any record: ${withoutExcerpt(reasons[0] as string)}${otherBody(text)}`);
}

function otherBody(text: string): string {
  if (/^\s*(?:[[{"]|-?\d|true|false|null|\{\{)/.test(text)) return '';
  return '\nsend a form with form: { name: value } instead of body, and any other text with text:';
}

function lengthOf({ field }: { readonly field: string }): number {
  return `{{${field}}}`.length;
}

/** Removes the text that JSON.parse quotes, because it might contain a secret. */
function withoutExcerpt(reason: string): string {
  return reason.replace(/, (?:\.{3})?".*" ?(?:\.{3})? is not valid JSON$/s, '').replace(/^Unexpected token '(.)'$/su, 'unexpected "$1"');
}

function checkJson(text: string, problem: (reason: string) => Error): void {
  try {
    JSON.parse(text);
  } catch (error) {
    throw problem((error as Error).message);
  }
}

const literal = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** The reference is not inside a JSON string. A CSV cell must already be a JSON literal. */
function jsonValue(field: string, isCell: boolean, name: BodyName): BodyPiece {
  return (fields) => {
    const value = fieldOf(fields, field);
    if (typeof value !== 'string' || !isCell) return jsonOf(value);
    if (literal.test(value)) return value;
    throw new Failure(
      'request',
      `the field "${field}" is used without quotes in the ${name}: expected a number, true, false or null, found ${inQuotes(value)}`,
      { sent: false },
    );
  };
}

function templateOf(pieces: BodyPiece[]): BodyTemplate {
  const merged: BodyPiece[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') merged[merged.length - 1] = last + piece;
    else merged.push(piece);
  }
  return (fields, clock, secretOf) => {
    let text = '';
    for (const piece of merged) text += typeof piece === 'string' ? piece : piece(fields, clock, secretOf);
    return text;
  };
}
