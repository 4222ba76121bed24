import { nearest, nearestOnes } from '../text/suggest.ts';
import { createEnvironment } from './cel.ts';
import { functionsOf, registerFunctions } from './functions.ts';
import { hasMacro } from './references.ts';

/** The error for text that is not valid CEL, or for an expression of the wrong type. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  constructor(
    message: string,
    /** The 0-based position of the mistake in the expression; undefined if the error concerns the whole expression. */
    readonly offset?: number,
  ) {
    super(message);
  }
}

export interface CelError {
  readonly code?: string;
  readonly summary?: string;
  readonly message: string;
  readonly range?: { readonly start: number; readonly end: number };
}

export const tooDeep =
  'expected a shorter expression: this one has too many nested operators\ncompute parts of it in a set node before this one, or compare with a list: status in ["a", "b"]';

/** True if the error says that the expression is nested too deep for the CEL library or for the stack. */
export function isTooDeep({ code, message }: CelError): boolean {
  return code === 'limit_exceeded' || /^Maximum call stack/.test(message);
}

/** Replaces the internal names in a message from the CEL library with the names that the user wrote. */
export function written(text: string): string {
  const [, operator, type] = /^(Ternary condition|Logical operator) (?:must be|requires) bool(?: operands)?, got '(.+)'$/.exec(text) ?? [];
  if (operator !== undefined) return `expected true or false ${operator.startsWith('T') ? 'before ?' : 'beside && and ||'}, found ${type}`;
  return text.replaceAll(hasMacro, 'has');
}

/** `parses` returns true if a string is a valid expression. */
export function parseError(error: CelError, source: string, parses: (text: string) => boolean): ExpressionError {
  if (isTooDeep(error)) return expressionError(error);
  return (
    bracesError(source, parses) ??
    trailingError(error, source) ??
    equalsError(error, source) ??
    tokenError(error, source) ??
    choiceError(error, source) ??
    expressionError(error)
  );
}

/** The error if the expression would be valid without the braces around its fields, as in `{{field}}`. */
function bracesError(source: string, parses: (text: string) => boolean): ExpressionError | undefined {
  const bare = source.replace(/\{\{\s*((?:vars\.)?\w+)\s*\}\}/g, '$1');
  if (bare === source || !parses(bare)) return undefined;
  return new ExpressionError(`expected fields without braces, as in: ${bare}`, source.indexOf('{{'));
}

/** The error if text follows the end of the expression. The CEL library reports only the last character of that text. */
function trailingError({ code, summary = '', range }: CelError, source: string): ExpressionError | undefined {
  if (code !== 'unexpected_character' || !summary.endsWith("'") || !range) return undefined;
  const found = source.slice(range.start, range.end);
  return new ExpressionError(
    `not a CEL expression: expected the end of the expression, or an operator such as == or &&, found ${found}${otherOperator(source, range.start)}`,
    range.start,
  );
}

/** The way to write an operator that other languages have as a word. */
function otherOperator(source: string, at: number): string {
  const [word] = /^(?:and|or)\b/i.exec(source.slice(at)) ?? [];
  if (word !== undefined) return `\nwrite ${word.toLowerCase() === 'and' ? '&&' : '||'} instead of ${word}`;
  return /\bnot\s+$/i.test(source.slice(0, at)) ? '\nwrite ! instead of not' : '';
}

/** The error if the expression contains = instead of ==, or === instead of ==. */
function equalsError({ range }: CelError, source: string): ExpressionError | undefined {
  const [tripled] = (range && /[=!]==$/.exec(source.slice(0, range.start + 1))) ?? [];
  if (range && tripled)
    return new ExpressionError(`not a CEL expression: expected ${tripled.slice(0, 2)} to compare, found ${tripled}`, range.start - 2);
  if (!range || !/^[^=<>!]=\s*[^=\s]/.test(source.slice(Math.max(0, range.start - 1)))) return undefined;
  return new ExpressionError('not a CEL expression: expected == to compare, found =', range.start);
}

/** The tokens that the CEL library can expect, by their names in its messages. */
const tokens: Readonly<Record<string, string>> = {
  ...{ LPAREN: '(', RPAREN: ')', LBRACKET: '[', RBRACKET: ']', RBRACE: '}', COLON: ':', COMMA: ',', IDENTIFIER: 'a name' },
};

function tokenError({ code, summary = '', range }: CelError, source: string): ExpressionError | undefined {
  if (!range || (code !== 'expected_token' && code !== 'unexpected_token')) return undefined;
  const [, name = ''] = /^Expected (\w+)/.exec(summary) ?? [];
  const expected = code === 'unexpected_token' ? 'a value' : (tokens[name] ?? name);
  return new ExpressionError(
    `not a CEL expression: expected ${expected}, found ${source.slice(range.start, range.end) || 'the end'}`,
    range.start,
  );
}

/** The error for `if(...)`, which spreadsheets have. */
function choiceError({ code, range }: CelError, source: string): ExpressionError | undefined {
  if (code !== 'reserved_identifier' || !range || !/^if\s*\(/.test(source.slice(range.start))) return undefined;
  return new ExpressionError('CEL has no function "if"\nwrite CONDITION ? VALUE : OTHER_VALUE', range.start);
}

/** Makes the message clearer. `writtenAt` converts an offset to the offset in `source`, the expression as the user wrote it. */
export function expressionError(error: CelError, writtenAt: (offset: number) => number = (offset) => offset, source = ''): ExpressionError {
  const { code, summary, range, message } = error;
  const offset = range && writtenAt(range.start);
  if (isTooDeep(error)) return new ExpressionError(tooDeep, offset);
  const reason = written(summary ?? (message.split('\n')[0] as string));
  if (code === 'reserved_identifier') return new ExpressionError(reservedWord(reason.split(': ')[1] as string), offset);
  const overload = overloadText(reason, source.slice(offset));
  if (overload !== undefined) return new ExpressionError(overload, offset);
  const advice = code === 'incompatible_ternary_branches' ? branchAdvice(reason) : operandAdvice(reason);
  return new ExpressionError(`not a CEL expression: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}${advice}`, offset);
}

/** The types of the two operands, if an operator does not accept them together. */
function operandTypes(summary: string): readonly string[] {
  const [, ...types] = /^no such overload: (\S+) \S+ (\S+)$/.exec(summary) ?? [];
  return types.map((type) => type.replace(/^dyn<(.*)>$/, '$1'));
}

const mixedNumbers = ' (int and double do not mix: convert them, as in double(price) * 2.0)';

/** `ofText` is the advice for text and a number. */
export function operandAdvice(
  reason: string,
  ofText = ' (text and numbers do not mix: convert one of them, as in int("5") or string(5))',
): string {
  const types = operandTypes(reason);
  const isNumber = types.includes('int') || types.includes('double');
  if (types.includes('string') && isNumber) return ofText;
  return types.includes('int') && types.includes('double') ? mixedNumbers : '';
}

function branchAdvice(reason: string): string {
  if (reason.includes("'null'")) return '\nwrite dyn(null) instead of null';
  return '\nwrite dyn(...) around one of the two values after the question mark, as in dyn("none")';
}

function reservedWord(word: string): string {
  const rename = `rename the field with a set node first: rename: { ${word}: ${word.replaceAll('__', '')}_field }`;
  return `"${word}" is a reserved word of CEL\n${rename}`;
}

/** The reserved words of CEL (Common Expression Language), which cannot be field names in an expression. */
const reserved =
  /^(?:as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void|while)$/;

/** True if an expression can refer to the field by its name alone. */
export function isCelName(field: string): boolean {
  return /^[A-Za-z_]\w*$/.test(field) && !reserved.test(field);
}

interface FunctionSignature {
  readonly name: string;
  /** The type to which the method belongs; undefined for a function that is not a method. */
  readonly receiver: string | undefined;
  readonly params: readonly string[];
}

/** Names of functions in other languages, mapped to the names of the same functions in CEL. */
const otherNames: Readonly<Record<string, string>> = {
  ...{ len: 'size', length: 'size', count: 'size', includes: 'contains', strip: 'trim', test: 'matches', extract: 'regex.extract' },
  ...{ lower: 'lowerAscii', toLowerCase: 'lowerAscii', upper: 'upperAscii', toUpperCase: 'upperAscii', replaceAll: 'replace' },
  ...{ substr: 'substring', slice: 'substring', toString: 'string', str: 'string', number: 'double', float: 'double', parseInt: 'int' },
  ...{
    floor: 'int',
    parseFloat: 'double',
    toFixed: 'round',
    isEmpty: 'size',
    match: 'matches',
    some: 'exists',
    any: 'exists',
    every: 'all',
    today: 'now',
    date: 'timestamp',
    btoa: 'base64.encode',
  },
  ...{ strptime: 'date.parse', parseDate: 'date.parse', strftime: 'date.format', formatDate: 'date.format', parseNumber: 'number.parse' },
  ...{ encodeURIComponent: 'url.encode', urlencode: 'url.encode', stringify: 'json.text', toJson: 'json.text', json_encode: 'json.text' },
  ...{ unaccent: 'text.fold', casefold: 'text.fold', normalize: 'text.fold', uuid5: 'uuid.of', uuid: 'uuid.of' },
};

const unused = /^(?:CelNamespace|OptionalNamespace|optional)\b/;

/** Computed once per process, because every expression can call the same functions. */
let known: readonly FunctionSignature[] | undefined;

/** @internal */
export function knownFunctions(): readonly FunctionSignature[] {
  known ??= registerFunctions(createEnvironment())
    .getDefinitions()
    .functions.filter(({ receiverType, params }) => !unused.test(receiverType ?? '') && params.every(({ type }) => !unused.test(type)))
    .map(({ name, receiverType, params }) => ({ name, receiver: receiverType ?? undefined, params: params.map(({ type }) => type) }));
  return known;
}

/** Rewords the CEL library's message about a call that matches no function; undefined for any other message. `call` is its text. */
export function overloadText(summary: string, call = ''): string | undefined {
  const [, receiver, name, list = ''] = /^found no matching overload for '(?:(.+)\.)?([^.(]+)\((.*)\)'$/s.exec(summary) ?? [];
  if (name === undefined) return undefined;
  const found = { name, receiver, params: list === '' ? [] : list.split(', ') };
  const named = knownFunctions().filter((signature) => signature.name === name);
  return named.length === 0 ? (libraryText(call) ?? unknownText(found)) : wrongText(found, named);
}

const maxNear = 3;
const allFunctions = 'docs/expressions.md lists all functions';

function unknownText({ name, receiver }: FunctionSignature): string {
  const kinds = receiver === 'dyn' ? ['string', 'list'] : [baseOf(receiver)];
  const choices = kinds.flatMap(namesFor);
  const near = nearest(name, [...choices, ...Object.keys(otherNames)]);
  const other = near !== undefined && Object.hasOwn(otherNames, near) ? otherNames[near] : near;
  const subject = receiver === undefined ? `function "${name}"` : receiver === 'dyn' ? `"${name}"` : `"${name}" for ${kindText(receiver)}`;
  if (other !== undefined) return `CEL has no ${subject}; did you mean "${other}"?`;
  return `CEL has no ${subject}; the nearest names are ${nearestOnes(name, choices, maxNear).join(', ')}\n${allFunctions}`;
}

/** The error for a call such as `text.lowr(name)`; undefined if it is not like a call of a library. */
function libraryText(call: string): string | undefined {
  const [, library = '', name = ''] = /^(\w+)\s*\.\s*(\w+)\s*\(/.exec(call) ?? [];
  const functions = functionsOf(library);
  if (functions.length === 0) return undefined;
  // A field can have the name of a library, so that methods of text and lists are meant just as well.
  const near = nearest(name, [...functions, ...['string', 'list'].flatMap(namesFor), ...Object.keys(otherNames)]);
  if (near === undefined)
    return `CEL has no "${library}.${name}"; expected ${functions.map((name) => `${library}.${name}`).join(', ')}\n${allFunctions}`;
  return functions.includes(near) ? `CEL has no "${library}.${name}"; did you mean "${library}.${near}"?` : undefined;
}

function namesFor(kind: string | undefined): string[] {
  const suited = knownFunctions().filter(({ receiver }) => baseOf(receiver) === kind);
  return [...new Set(suited.map(({ name }) => name))].sort();
}

function kindText(type: string | undefined): string {
  return type === 'string' ? 'text' : `a ${typeText(type ?? '')}`;
}

const maxShown = 4;

function wrongText(found: FunctionSignature, named: readonly FunctionSignature[]): string {
  const isAlike = ({ receiver }: FunctionSignature) => (receiver === undefined) === (found.receiver === undefined);
  const ofType = named.filter(({ receiver }) => receiver !== undefined && baseOf(receiver) === baseOf(found.receiver));
  const alike = ofType.length > 0 ? ofType : named.filter(isAlike);
  const textsBy = (show: typeof typeText) => [
    ...new Set((alike.length > 0 ? alike : named).map((signature) => signatureText(signature, show))),
  ];
  // Only the types of their elements tell some lists apart.
  const show = textsBy(typeText).includes(signatureText(found)) ? wholeType : typeText;
  const texts = textsBy(show);
  const expected = texts.length > maxShown ? [...texts.slice(0, maxShown), '...'] : texts;
  return `expected ${expected.join(' or ')}, found ${signatureText(found, show)}${textAdvice(found, alike)}`;
}

/** Advises conversion of a string to a number or time, if every function of this name with this number of arguments expects that there. */
function textAdvice(found: FunctionSignature, expected: readonly FunctionSignature[]): string {
  const suited = expected.filter(({ params }) => params.length === found.params.length);
  const wanted = found.params.flatMap((type, index) => (type === 'string' ? [suited.map(({ params }) => params[index] ?? '')] : []));
  const numbers = wanted.find((types) => types.length > 0 && types.every((type) => /^(?:int|uint|double)$/.test(type)));
  if (numbers) return ` (a CSV cell is text: convert it, as in ${numbers.includes('double') ? 'double(price)' : 'int(age)'})`;
  const isTime = wanted.some((types) => types.length > 0 && types.every((type) => type === 'google.protobuf.Timestamp'));
  return isTime ? ' (this is text: convert it, as in timestamp(created) or date.parse(created, "dd.MM.yyyy"))' : '';
}

function signatureText({ name, receiver, params }: FunctionSignature, show = typeText): string {
  // Nobody writes the argument with the evaluation.
  const types = params.filter((type) => type !== 'Evaluation').map((type) => show(type));
  return `${receiver === undefined ? '' : `${show(receiver)}.`}${name}(${types.join(', ')})`;
}

function wholeType(type: string): string {
  return type.includes('<') ? type : typeText(type);
}

function baseOf(type: string | undefined): string | undefined {
  return type?.replace(/<.*/, '');
}

function typeText(type: string): string {
  const [, short] = /^google\.protobuf\.(\w+)$/.exec(type) ?? [];
  if (short !== undefined) return short.toLowerCase();
  return type === 'dyn' ? 'any' : type === 'ast' ? 'expression' : (baseOf(type) as string);
}
