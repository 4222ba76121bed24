import { type Document, isCollection, isMap, isPair, isScalar, isSeq, type Node, type Pair, visit } from 'yaml';
import { allAuthNames, authOptions } from '../../core/auth/auth.ts';
import { credentialName, name as plainName } from '../../core/options/names.ts';
import { withoutTokens } from '../../core/template/token-text.ts';
import { editDistance } from '../../core/text/suggest.ts';
import { hasLiteral } from './secret-text.ts';
import { isUnderAuth, type LiteralSecret } from './secrets.ts';

/** Hides the parts of a flow that must never be printed: values under `auth`, and literal secrets. */
export interface Mask {
  /** The flow's lines. Masked texts keep their length, so that positions stay the same. */
  readonly lines: readonly string[];
  message(text: string): string;
}

/** Makes a flow's mask. In broken YAML it hides too much rather than too little. */
export function createMask(text: string, document: Document, literals: readonly LiteralSecret[], isBroken: boolean): Mask {
  const hidden = [...literals.map(({ range }) => range), ...authRanges(text, document), ...namedRanges(document)];
  if (isBroken) hidden.push(...brokenRanges(text));
  const values = [...literals.map((secret) => secret.text), ...aliasedTexts(document)].filter((value) => value.length >= 4);
  let masked = text;
  for (const [start, end] of hidden) masked = masked.slice(0, start) + blank(masked.slice(start, end)) + masked.slice(end);
  for (const value of values) masked = masked.replaceAll(value, blank);
  return {
    lines: withoutPatterns(masked, blank).split('\n'),
    message: (message) =>
      withoutPatterns(
        values.reduce((said, value) => said.replaceAll(value, '***'), message),
        () => '***',
      ),
  };
}

/** Stars for the beginning, blanks for the rest. */
function blank(text: string): string {
  return text.replace(/[^\r\n]/g, (_character, index: number) => (index < 3 ? '*' : ' '));
}

type HiddenRange = readonly [number, number];

/** Names that users take for options under `auth`. */
const mistakenOptions = /^(?:token|key|value|name|user|client_secret|secret|password)$/;

/** True for a key under `auth` that may be printed. Any other text there may be the secret itself. */
export function isAuthName(name: string): boolean {
  return mistakenOptions.test(name) || isLike(name, [...authOptions, ...allAuthNames]);
}

/** True for one of these words, or a word of letters that is misspelt by two at most: a secret is never that near. */
function isLike(text: string, words: readonly string[]): boolean {
  if (words.includes(text)) return true;
  return /^[A-Za-z_]+$/.test(text) && words.some((word) => word.length >= 5 && editDistance(text.toLowerCase(), word) <= 2);
}

/** `auth` and its misspellings. */
const likeAuth = /^(?:aut|auh|atu|uat|ath|uth)/i;

function authRanges(text: string, document: Document): HiddenRange[] {
  const ranges: HiddenRange[] = [];
  visit(document, {
    Pair(_key, pair, ancestors) {
      const names = [...ancestors, pair].flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
      if (!likeAuth.test(names.at(-1) ?? '') || names.includes('body') || names.includes('fields')) return undefined;
      ranges.push(...valueRanges(text, pair));
      return visit.SKIP;
    },
  });
  return ranges;
}

/** The ranges of a pair's value, without punctuation and known names. Anchors, tags and comments are not part of the YAML values. */
function valueRanges(text: string, { key, value }: Pair): HiddenRange[] {
  const start = (key as Node).range?.[1] ?? 0;
  const end = (value as Node | null)?.range?.[2] ?? start;
  const around = [...text.slice(start, end).matchAll(/(?<=\s)[&!*#][^\n]*/g)].map((match): HiddenRange => {
    const from = start + match.index;
    return [from, from + (match[0].startsWith('#') ? match[0].length : (/^\S+/.exec(match[0])?.[0].length ?? 1))];
  });
  return [...around, ...(isAuthType(value) ? [] : nodeRanges(value))];
}

/** True for the name of a type of auth, also a misspelt one. */
function isAuthType(node: unknown): boolean {
  return isScalar(node) && isLike(String(node.value), allAuthNames);
}

function nodeRanges(node: unknown): HiddenRange[] {
  if (isPair(node)) {
    if (isPublic(node)) return [];
    const isKnown = isScalar(node.key) && isAuthName(String(node.key.value)) && isSomething(node.value);
    return [...(isKnown ? [] : nodeRanges(node.key)), ...nodeRanges(node.value)];
  }
  if (isCollection(node)) return node.items.flatMap(nodeRanges);
  return isScalar(node) && node.range && isSomething(node) ? [[node.range[0], node.range[1]]] : [];
}

/** The shapes of right values beside a credential. A value of another shape may be the secret itself, in the wrong place. */
const publicShapes: ReadonlyMap<unknown, RegExp> = new Map([
  ['username', /^[\w.@+-]+$/],
  ['client_id', /^[\w.@+-]+$/],
  ['token_url', /^https:\/\/[\w.-]+(?::\d+)?\/[\w./-]*$/],
  ['header', /^[A-Za-z]+(?:-[A-Za-z]+)*$/],
  ['query', /^[a-z]+(?:_[a-z]+)*$/i],
]);

/** True for an option with a value that is no secret: a type, the name of a credential, or such as a user name. */
function isPublic({ key, value }: Pair): boolean {
  if (!isScalar(key) || !isScalar(value) || typeof value.value !== 'string') return false;
  if (key.value === 'type') return isAuthType(value);
  // A token in such a value is a literal secret, which is hidden as such.
  if (publicShapes.get(key.value)?.test(value.value)) return true;
  return (key.value === 'credential' || key.value === 'client_credential') && isCredentialName(value.value);
}

function isCredentialName(text: string): boolean {
  return plainName.safeParse(text).success && credentialName.safeParse(text).success;
}

/** True for a list of names such as `[Accept, X-Request-Id]`. A text with digits, or a long word, may be the secret itself. */
function areHeaderNames(value: unknown): boolean {
  const names = isSeq(value) ? value.items : [];
  return names.length > 0 && names.every((one) => isScalar(one) && /^[A-Za-z]{1,20}(?:-[A-Za-z]{1,20})*$/.test(String(one.value)));
}

function isSomething(node: unknown): boolean {
  return !isScalar(node) || node.value !== null;
}

/** The values of names that stand for a secret, anywhere, and headers that are not a mapping. */
function namedRanges(document: Document): HiddenRange[] {
  const ranges: HiddenRange[] = [];
  visit(document, {
    Pair(_key, pair, ancestors) {
      const { key, value } = pair;
      if (!isScalar(key) || isPublic(pair) || isNamedCredential(pair, ancestors)) return;
      const name = String(key.value);
      if (holdsSecret(name)) ranges.push(...nodeRanges(key));
      if (secretName.test(name) && isScalar(value) && hasLiteral(String(value.value))) ranges.push(...nodeRanges(value));
      if (name === 'headers' && !isMap(value) && !areHeaderNames(value)) ranges.push(...nodeRanges(value));
    },
  });
  return ranges;
}

/** True for a variable of a server on this machine under `credentials`, with the name of a credential. */
function isNamedCredential({ value }: Pair, ancestors: readonly unknown[]): boolean {
  const around = ancestors.at(-2);
  const isListed = isPair(around) && isScalar(around.key) && around.key.value === 'credentials';
  return isListed && isScalar(value) && typeof value.value === 'string' && isCredentialName(value.value);
}

/** True if a key includes its value, because a colon or a space is missing. */
export function holdsSecret(key: string): boolean {
  return /(?:authorization|api[-_]?key|token|secret|passw\w*|passphrase|credential|bearer)["']?[\s:=]+\S/i.test(key);
}

const secretName = /authorization|api[-_]?key|token$|secret|passw|passphrase|credential$|bearer/i;

/** For broken YAML: the text after each name that stands for a secret, to the end of its block. */
function brokenRanges(text: string): HiddenRange[] {
  const ranges: HiddenRange[] = [];
  let offset = 0;
  let blockIndent: number | undefined;
  // The value may stand at the column of its name.
  let isExpected = false;
  for (const line of text.split('\n')) {
    const indent = /^[\s?-]*/.exec(line)?.[0].replaceAll('\t', '        ').length ?? 0;
    const isInside = blockIndent !== undefined && (isExpected || indent > blockIndent || !startsWithKey.test(line));
    if (!isInside) blockIndent = undefined;
    if (line.trim() !== '') isExpected = false;
    const name = secretKey.exec(line);
    if (isInside) ranges.push([offset + line.search(/\S|$/), offset + line.length]);
    else if (name) {
      blockIndent = indent;
      const start = name.index + name[0].length;
      isExpected = line.slice(start).trim() === '';
      ranges.push([offset + start, offset + line.length]);
    }
    offset += line.length + 1;
  }
  return ranges;
}

const startsWithKey = /^[\s-]*["']?[\w-]+["']?\s*:(?:\s|$)/;

const secretKey =
  /(?<![\w-])(?:auth|headers|credential|[\w-]*(?:authorization|api[-_]?key|token|secret|passw\w*|passphrase|bearer))["']?(?:\s*:(?!\/\/)\s*|\s+|$)/i;

/** The texts that aliases under `auth` stand for. They are written elsewhere. */
function aliasedTexts(document: Document): string[] {
  const texts: string[] = [];
  visit(document, {
    Alias(_key, alias, ancestors) {
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []));
      if (!isUnderAuth(names)) return;
      const target = alias.resolve(document);
      visit(target as Node | null, { Scalar: (_name, scalar) => void texts.push(String(scalar.value)) });
    },
  });
  return texts.filter((text) => !isAuthName(text));
}

const secretComment = /(#[^\n]*(?:authorization|api[-_]?key|token|secret|passw\w*|credential|bearer)["']?\s*[:=]\s*)(\S+)/gi;

/** A member of a JSON text. */
const secretMember = /(["'][\w-]*(?:authorization|api[-_]?key|token|secret|passw\w*)["']\s*:\s*["']?)(?!\{\{)([^\s"',}]+)/gi;

/** Hides texts that look like a secret anywhere. */
function withoutPatterns(text: string, hide: (secret: string) => string): string {
  const hideSecond = (_all: string, before: string, secret: string) => before + hide(secret);
  const hidden = text
    .replace(/(\b(?:bearer|basic)[ \t]+)(?!\{\{|--)([^\s"',{}]{6,})/gi, hideSecond)
    .replace(secretMember, hideSecond)
    .replace(secretComment, hideSecond)
    .replace(/(:\/\/)([^/\s"'@?#]+)(?=@)/g, hideSecond)
    .replace(/([?&](?:[\w-]*(?:key|token|secret)|password)=)(?!\{\{)([^&#\s"']+)/gi, hideSecond);
  return withoutTokens(hidden, hide);
}
