import { Environment } from '@marcbachmann/cel-js';
import { nearest } from '../text/suggest.ts';
import { registerFunctions } from './functions.ts';

/** The parameter and receiver types of a function that expressions can call. */
interface Signature {
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
  ...{ floor: 'int', some: 'exists', any: 'exists', every: 'all', today: 'now', date: 'timestamp', btoa: 'base64.encode' },
};

/** Matches the types of the CEL library that expressions cannot use. */
const unused = /^(?:CelNamespace|OptionalNamespace|optional)\b/;

let known: readonly Signature[] | undefined;

/** Returns the functions and methods that expressions can call. */
export function knownFunctions(): readonly Signature[] {
  known ??= registerFunctions(new Environment())
    .getDefinitions()
    .functions.filter(({ receiverType, params }) => !unused.test(receiverType ?? '') && params.every(({ type }) => !unused.test(type)))
    .map(({ name, receiverType, params }) => ({ name, receiver: receiverType ?? undefined, params: params.map(({ type }) => type) }));
  return known;
}

/** Rewords the CEL library's message about a call that matches no function; undefined for any other message. */
export function overloadText(summary: string): string | undefined {
  const [, receiver, name, list = ''] = /^found no matching overload for '(?:(.+)\.)?([^.(]+)\((.*)\)'$/s.exec(summary) ?? [];
  if (name === undefined) return undefined;
  const found = { name, receiver, params: list === '' ? [] : list.split(', ') };
  const named = knownFunctions().filter((signature) => signature.name === name);
  return named.length === 0 ? unknownText(found) : wrongText(found, named);
}

function unknownText({ name, receiver }: Signature): string {
  const kinds = receiver === 'dyn' ? ['string', 'list'] : [baseOf(receiver)];
  const choices = kinds.map((kind) => namesFor(kind));
  const near = nearest(name, [...choices.flat(), ...Object.keys(otherNames)]);
  const other = near !== undefined && Object.hasOwn(otherNames, near) ? otherNames[near] : near;
  const subject = receiver === undefined ? `function "${name}"` : receiver === 'dyn' ? `"${name}"` : `"${name}" for ${kindText(receiver)}`;
  if (other !== undefined) return `CEL has no ${subject}; did you mean "${other}"?`;
  const lists = choices.map((names, index) => `${receiver === 'dyn' ? `for ${kindText(kinds[index])} ` : ''}there are ${names.join(', ')}`);
  return `CEL has no ${subject}; ${lists.join('; ')}`;
}

/** Returns the names of all functions, or of all methods of a type. */
function namesFor(kind: string | undefined): string[] {
  const suited = knownFunctions().filter(({ receiver }) => baseOf(receiver) === kind);
  return [...new Set(suited.map(({ name }) => name))].sort();
}

function kindText(type: string | undefined): string {
  return type === 'string' ? 'text' : `a ${typeText(type ?? '')}`;
}

/** Maximum number of signatures that a message lists. */
const maxShown = 4;

function wrongText(found: Signature, named: readonly Signature[]): string {
  const isAlike = ({ receiver }: Signature) => (receiver === undefined) === (found.receiver === undefined);
  const ofType = named.filter(({ receiver }) => receiver !== undefined && baseOf(receiver) === baseOf(found.receiver));
  const alike = ofType.length > 0 ? ofType : named.filter(isAlike);
  const texts = [...new Set((alike.length > 0 ? alike : named).map(signatureText))];
  const expected = texts.length > maxShown ? [...texts.slice(0, maxShown), '...'] : texts;
  return `expected ${expected.join(' or ')}, found ${signatureText(found)}${textAdvice(found, alike)}`;
}

/**
 * Returns advice to convert a string argument to a number. It is empty unless every function of this name with this number of arguments
 * expects a number there.
 */
function textAdvice(found: Signature, expected: readonly Signature[]): string {
  const suited = expected.filter(({ params }) => params.length === found.params.length);
  const wanted = found.params.flatMap((type, index) => (type === 'string' ? [suited.map(({ params }) => params[index] ?? '')] : []));
  const numbers = wanted.find((types) => types.length > 0 && types.every((type) => /^(?:int|uint|double)$/.test(type)));
  return numbers ? ` (a CSV cell is text: convert it, as in ${numbers.includes('double') ? 'double(price)' : 'int(age)'})` : '';
}

function signatureText({ name, receiver, params }: Signature): string {
  return `${receiver === undefined ? '' : `${typeText(receiver)}.`}${name}(${params.map(typeText).join(', ')})`;
}

function baseOf(type: string | undefined): string | undefined {
  return type?.replace(/<.*/, '');
}

function typeText(type: string): string {
  const [, short] = /^google\.protobuf\.(\w+)$/.exec(type) ?? [];
  if (short !== undefined) return short.toLowerCase();
  return type === 'dyn' ? 'any' : type === 'ast' ? 'expression' : (baseOf(type) as string);
}
