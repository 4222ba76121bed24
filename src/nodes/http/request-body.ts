import { declaredCharset, labelledCharset, oneByteEncoding, type TextEncoding } from '../../core/answer/charset.ts';
import { pathTo } from '../../core/answer/path.ts';
import type { SessionAuth } from '../../core/auth/auth.ts';
import { takenNames } from '../../core/auth/session.ts';
import { compileExpression } from '../../core/condition/condition.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import { ExpressionError } from '../../core/condition/expression-error.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext, FieldUse } from '../../core/node.ts';
import { fieldUses } from '../../core/options/expressions.ts';
import { credentialName } from '../../core/options/names.ts';
import type { SecretBody } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import {
  type BodyOption,
  type BodySecret,
  type BodyTemplate,
  bodyTemplate,
  foundWithin,
  namesOf,
  payloadOf,
  type SecretKind,
  type Special,
  type SpecialValue,
  secretsWithin,
  secretValue,
} from '../../core/template/body.ts';
import { formTemplate } from '../../core/template/form.ts';
import { type PartsTemplate, partsTemplate, sendsFiles } from '../../core/template/multipart.ts';
import { type TextTemplate, textTemplate } from '../../core/template/template.ts';
import { isXmlType, xmlTemplate } from '../../core/template/xml.ts';
import { didYouMean, shortName } from '../../core/text/suggest.ts';
import { isObject, orUndefined, type Value, type ValuePath } from '../../core/value/value.ts';
import { tryOption } from '../call-policy.ts';
import type { HttpOptions } from './http-options.ts';

export function bodySecrets(options: HttpOptions, kinds: readonly SecretKind[]): BodySecret[] {
  const payload = payloadOf(options);
  return secretsWithin(payload?.value, [payload?.name ?? ''], kinds);
}

export interface Header {
  readonly name: string;
  readonly text: string;
  readonly at: readonly string[];
}

interface RequestBody {
  /** Renders the body; undefined if requests have no body. */
  readonly render: BodyTemplate | undefined;
  /** Converts the body to bytes; undefined for UTF-8. */
  readonly encode?: TextEncoding;
  /** Renders the parts of a form that sends files; undefined for any other body. */
  readonly parts?: PartsTemplate;
  /** The fields that expressions in the body require. */
  readonly reads: readonly FieldUse[];
  /** All fields that expressions in the body refer to. */
  readonly named: readonly string[];
  /** True if an expression in the body uses the time, so that no two runs send the same. */
  readonly usesNow: boolean;
  /** Throws a Failure unless the origin is written literally in the flow (`isNamed`). Undefined if the body has no secrets. */
  readonly secrets?: (fields: Fields, clock: EvaluationClock, to: { readonly origin: string; readonly isNamed: boolean }) => SecretBody;
}

/** Reports problems. `type` is undefined if it depends on the record. `session` is undefined if requests need no login first. */
export function compileBody(
  options: HttpOptions,
  { type: contentType, session }: { readonly type: Header | undefined; readonly session: SessionAuth | undefined },
  context: BuildContext,
): RequestBody {
  const payload = payloadOf(options);
  if (!payload) return { render: undefined, reads: [], named: [], usesNow: false };
  const { expressions, ...uses } = compiledExpressions(payload, context);
  if (payload.name === 'text' && contentType) return { ...compileText(options, contentType, context), ...uses };
  const kinds: readonly SecretKind[] = session ? ['credential', 'session'] : ['credential'];
  const special = (value: Value) => expressions.get(value) ?? secretValue(value, kinds);
  // In a body, it is ordinary data.
  if (payload.name === 'form' && !session)
    for (const { at } of bodySecrets(options, ['session'])) context.problem(at, '{ session: NAME } needs auth of type session');
  const parts = partsOf(payload, special);
  const render = parts ? undefined : tryOption(context, [payload.name], () => templateOf(payload, context, special));
  const { credentials, sessions } = checkedNames(bodySecrets(options, kinds), session, context);
  if (credentials.length + sessions.length === 0) return { render, parts, ...uses };
  return {
    render,
    parts,
    ...uses,
    secrets(fields, clock, { origin, isNamed }) {
      if (!isNamed) throw notNamed([...credentials, ...sessions], origin);
      return { credentials, sessions, render: (secretOf) => (parts ?? (render as BodyTemplate))(fields, clock, secretOf) };
    },
  };
}

/** Undefined if the body is no form that sends files. */
function partsOf({ name, value }: BodyOption, special: Special): PartsTemplate | undefined {
  const form = value as Record<string, Value>;
  return name === 'form' && sendsFiles(form) ? partsTemplate(form, special) : undefined;
}

/** A text of a known type. A record whose text cannot be encoded fails before it waits for its turn: no secret is inserted later. */
function compileText(options: HttpOptions, type: Header, context: BuildContext): Pick<RequestBody, 'render' | 'encode'> {
  const text = options.text as string;
  const isXml = isXmlType(type.text);
  if (options.raw && !isXml)
    context.problem(['raw'], 'raw is only for text whose Content-Type is XML, such as text/xml: nothing is escaped here');
  const render = tryOption(context, ['text'], () => (isXml ? compileXml(options, context) : textTemplate(text)));
  const encode = encodingFor(text, type, isXml, context);
  return render && encode ? { render: (fields) => encodable(render(fields), encode), encode } : { render };
}

function templateOf({ name, value }: BodyOption, { isCell }: BuildContext, special: Special): BodyTemplate {
  if (name === 'form') return formTemplate(value as Record<string, Value>, special);
  return name === 'text' ? textTemplate(value as string) : bodyTemplate(value, isCell, special);
}

/**
 * Returns the encoding for the charset that the Content-Type states, or for the one in the declaration of an XML text; undefined for UTF-8.
 * Reports a charset in which no text can be written.
 */
function encodingFor(text: string, { text: type, at }: Header, isXml: boolean, context: BuildContext): TextEncoding | undefined {
  const labelled = labelledCharset(type);
  const charset = labelled ?? (isXml ? declaredCharset(text) : undefined);
  if (charset === undefined || orUndefined(() => new TextDecoder(charset))?.encoding === 'utf-8') return undefined;
  const encode = oneByteEncoding(charset);
  if (encode) return encode;
  const message = `a text cannot be sent in the charset "${shortName(charset)}"\nwrite utf-8, or a charset with one byte per character such as iso-8859-1`;
  if (labelled === undefined) context.problem(['text'], message, text.indexOf(charset));
  else context.problem(at, message, at[0] === 'connection' ? undefined : type.lastIndexOf(charset));
  return undefined;
}

function encodable(text: string, encode: TextEncoding): string {
  encode(text);
  return text;
}

/** Compiles an XML text, and reports references that cannot be escaped. */
function compileXml({ raw = [] }: HttpOptions, context: BuildContext): TextTemplate {
  const { names, render, problems } = xmlTemplate({ ...context.writtenText(['text']), raw });
  for (const { message, offset } of problems) context.problem(['text'], message, offset);
  for (const [index, name] of raw.entries())
    if (!names.includes(name)) context.problem(['raw', index], `text has no {{${name}}}${didYouMean(name, names)}`);
  return render;
}

/** Compiles the expressions in a body. Reports text that is not a valid expression. */
function compiledExpressions({ name, value }: BodyOption, context: BuildContext) {
  const expressions = new Map<Value, SpecialValue>();
  const reads: FieldUse[] = [];
  const named: string[] = [];
  let usesNow = false;
  for (const { holder, source, at } of expressionsWithin(value, [name])) {
    try {
      const expression = compileExpression(source);
      context.warnOfCells(at, expression);
      expressions.set(holder, (fields, clock) => naming(at, () => expression.evaluate(fields, clock)));
      reads.push(...fieldUses(expression, at));
      named.push(...expression.named);
      usesNow ||= expression.usesNow;
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      context.problem(at, error.message, error.offset);
      expressions.set(holder, () => null);
    }
  }
  return { expressions, reads, named, usesNow };
}

/** Evaluates an expression. If it fails, adds the expression's path to the failure, because a body can contain many expressions. */
function naming(at: ValuePath, evaluate: () => Value): Value {
  try {
    return evaluate();
  } catch (error) {
    throw error instanceof Failure
      ? error.withMessage(`${at.slice(0, -1).reduce<string>(pathTo, '')} cannot be made: ${error.message}`)
      : error;
  }
}

function checkedNames(
  found: readonly BodySecret[],
  session: SessionAuth | undefined,
  context: BuildContext,
): Pick<SecretBody, 'credentials' | 'sessions'> {
  const taken = session ? takenNames(session) : [];
  for (const { kind, name, at } of found) {
    const [issue] = kind === 'credential' ? (credentialName.safeParse(name).error?.issues ?? []) : [];
    const unknown =
      kind === 'session' && !taken.includes(name) ? `the session has no value "${name}"${didYouMean(name, taken)}` : undefined;
    const problem = issue?.message ?? unknown;
    if (problem !== undefined) context.problem(at, `${problem}\na body with data of that shape is written as JSON text`);
  }
  return namesOf(found);
}

function notNamed(credentials: readonly string[], origin: string): Failure {
  const names = credentials.map((name) => `"${name}"`).join(', ');
  const reason = 'that origin is not written literally in the flow';
  return new Failure('request', `the body contains a secret (${names}), which is not sent to ${origin}: ${reason}`, { sent: false });
}

/** An expression that stands for a value in a body, such as `{ cel: "int(age)" }`. */
interface BodyExpression {
  /** The object that contains the expression, as written. */
  readonly holder: Value;
  readonly source: string;
  readonly at: ValuePath;
}

/** The expressions among the values in a body. If the body itself is an object with the member `cel`, that is an ordinary member. */
function expressionsWithin(body: Value | undefined, at: ValuePath): BodyExpression[] {
  return foundWithin(body, at, (value, path) => {
    const isOne = isObject(value) && typeof value.cel === 'string' && Object.keys(value).length === 1;
    return isOne ? { holder: value, source: value.cel as string, at: [...path, 'cel'] } : undefined;
  });
}
