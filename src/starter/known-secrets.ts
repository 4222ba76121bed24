import { percentDecoded } from '../core/template/url.ts';
import { bytesOfBase64 } from '../core/text/base64.ts';
import { holdsToken, looksRandom, tokenIn } from '../core/text/secret-shapes.ts';
import { freeName } from '../core/text/suggest.ts';
import { hasSecretName, isNamedSecret, isPossiblySecret, isSecretHeader, type NameRule, surenessOf } from '../flow/secrets/secret-text.ts';

/** The secrets of a file. A value that is one of them is recognized in every part of a request, whatever its name is there. */
export class KnownSecrets {
  readonly #values = new Set<string>();
  /** Values that no other text contains by chance, keyed by their first characters: a recording can have thousands. */
  readonly #distinct = new Map<string, string[]>();
  readonly #variables = new Map<string, 'always' | 'without value'>();
  /** Names of credentials, keyed by the texts that stand for values which are not in the file. */
  readonly #standIns = new Map<string, string>();

  add(value: string): void {
    for (const text of [value, percentDecoded(value)]) {
      if (text.length < shortest || /^\{\{[^{}]*\}\}$/.test(text)) continue;
      this.#add(text);
    }
  }

  #add(text: string): void {
    if (this.#values.has(text)) return;
    this.#values.add(text);
    if (!isDistinct(text)) return;
    const start = text.slice(0, shortestDistinct);
    const same = this.#distinct.get(start);
    if (same) same.push(text);
    else this.#distinct.set(start, [text]);
  }

  /** Takes the variables in the value of a header, parameter or member with this name, which then contain secrets if the name says so. */
  addVariables(name: string, text: string): void {
    for (const [, variable = ''] of text.matchAll(/\{\{\s*([^{}]+?)\s*\}\}/g)) {
      const certainties = (['header', 'query', 'body'] as const).map((place) => surenessOf(name, place));
      if (hasSecretName(name) || /^cookie$/i.test(name) || certainties.includes('always')) this.#variables.set(variable, 'always');
      else if (certainties.some((one) => one !== undefined) && !this.#variables.has(variable))
        this.#variables.set(variable, 'without value');
    }
  }

  /** True if the variable stands where a secret belongs. `value` is empty if it has none. */
  isVariable(name: string, value: string): boolean {
    const certainty = this.#variables.get(name);
    return certainty === 'always' || (certainty !== undefined && (value === '' || looksRandom(value)));
  }

  /** Returns a text to write in place of a secret, which becomes the credential with this name. */
  standIn(credential: string): string {
    const known = [...this.#standIns].find(([, name]) => name === credential);
    if (known) return known[0];
    const text = `Secret0value${this.#standIns.size}of0a0variable`;
    this.#standIns.set(text, credential);
    this.#add(text);
    return text;
  }

  /** Undefined if the text contains no secret that stands for a credential with a name. */
  credentialIn(text: string): string | undefined {
    return [...this.#standIns].find(([standIn]) => text.includes(standIn))?.[1];
  }

  isStandIn(text: string): boolean {
    return this.#standIns.has(text);
  }

  isIn(text: string): boolean {
    if (this.#values.size === 0) return false;
    const decoded = percentDecoded(text);
    if (this.#values.has(text) || this.#values.has(decoded)) return true;
    return this.#holdsDistinct(text) || (decoded !== text && this.#holdsDistinct(decoded));
  }

  #holdsDistinct(text: string): boolean {
    for (let at = 0; at <= text.length - shortestDistinct; at++) {
      const secrets = this.#distinct.get(text.slice(at, at + shortestDistinct));
      if (secrets?.some((secret) => text.startsWith(secret, at))) return true;
    }
    return false;
  }

  /** Judges by the name, or by the value. */
  readonly rule: NameRule = (name, place, text, isLiteral) => {
    // The members of a body that is JSON text are judged one by one.
    const isJsonText = name === 'body' && /^\s*[[{]/.test(text);
    return (
      isPossiblySecret(name, place, text, isLiteral) ||
      (!isJsonText && (this.isIn(text) || secretsNamedIn(percentDecoded(text)).length > 0))
    );
  };
}

const shortest = 6;
const shortestDistinct = 8;

/** True if a secret is distinctive enough to search for it elsewhere. `admin`, for example, might also be a user name. */
export function isDistinct(text: string): boolean {
  return text.length >= shortestDistinct && /\d/.test(text);
}

export interface WithFields {
  readonly text: string;
  readonly fields: readonly string[];
}

/** Puts `{{token}}`, or the result of `write`, in place of each secret in the path of a URL, because `auth` cannot put a credential there. */
export function pathWithFields(url: string, known: KnownSecrets, write = (field: string) => `{{${field}}}`): WithFields {
  const [, start = '', path = '', rest = ''] = /^((?:[a-z][a-z\d+.-]*:\/\/)?[^/?]*)([^?]*)(.*)$/is.exec(url) ?? [];
  const fields: string[] = [];
  const segments = path.split('/');
  const isSecret = (segment: string) => known.isIn(segment) || holdsToken(percentDecoded(segment));
  // Some tokens, as those of webhooks, are recognized by the host and the segments before them.
  const last = tokenIn(start + path)
    ?.split('/')
    .at(-1);
  const replaced = segments.map((segment) => {
    if (!isSecret(segment) && (segment === '' || segment !== last)) return segment;
    const field = (known.credentialIn(percentDecoded(segment)) ?? 'token').replace(/[^\p{L}\p{M}\p{N}_]+/gu, '_');
    fields.push(field);
    return write(field);
  });
  return fields.length === 0 ? { text: url, fields } : { text: start + replaced.join('/') + rest, fields };
}

const named = [
  /<(?:[\w-]+:)?([\w.-]{1,60})(?:\s[^<>]*)?>(?:\s*<!\[CDATA\[)?([^<>\]]+)(?=(?:\]\]>\s*)?<\/)/g,
  /([\w.-]{1,60})\s*=\s*["']([^"'<>&]+)(?=["'])/g,
  /"([\w.-]{1,60})"\s*:\s*"((?:[^"\\]|\\.)+)(?=")/g,
  /(?:^|[&?;\s])([\w.-]{1,60})=([^&\s"'<>;]+)/g,
];

/** Puts `{{name}}` in place of each secret in a text, such as XML, because a text cannot contain a credential. */
export function textWithFields(text: string, known: KnownSecrets): WithFields {
  const fields = new Map<string, string>();
  const isTaken = (name: string) => [...fields.values()].includes(name);
  const whole = named.reduce(
    (left, pattern) =>
      left.replace(pattern, (found: string, name: string, value: string) => {
        if (!known.rule(name, 'body', value.trim(), !/^\s*\{\{/.test(value))) return found;
        const field = fields.get(value) ?? freeName(name.replace(/[^\p{L}\p{M}\p{N}_]+/gu, '_'), isTaken);
        fields.set(value, field);
        return `${found.slice(0, found.length - value.length)}{{${field}}}`;
      }),
    text,
  );
  return { text: whole, fields: [...new Set(fields.values())] };
}

const secretNames =
  '[\\w.-]{0,60}(?:token|secret|passw|pwd|pass|session|jwt|key|credential|csrf|xsrf|sid|auth|assertion|otp|sig)[\\w.-]{0,60}';
/** Quotes can have backslashes before them, because a string often contains JSON. */
const quoted = '\\\\*"([^"\\\\]{1,8192})';
const secretMember = new RegExp(`\\\\*"(${secretNames})\\\\*"\\s*:\\s*(?:${quoted}|(\\{\\{[^{}]*\\}\\}))`, 'gi');
const secretPair = new RegExp(
  `\\\\*"(?:name|key|field|header)\\\\*"\\s*:\\s*\\\\*"(${secretNames})\\\\*"\\s*,\\s*\\\\*"value\\\\*"\\s*:\\s*${quoted}`,
  'gi',
);
const secretArgument = new RegExp(`\\b(${secretNames})\\s*:\\s*${quoted}`, 'gi');
const secretInUrl = new RegExp(`[?&](${secretNames})=([^&\\s"'<>\\\\]{1,8192})`, 'gi');
const secretElement = new RegExp(
  `<(?:[\\w-]+:)?(${secretNames})(?:\\s[^<>]*)?>(?:\\s*<!\\[CDATA\\[)?([^<>\\]]{1,8192})(?:\\]\\]>\\s*)?</`,
  'gi',
);

/** The names and values in a text, such as JSON, XML, a URL or GraphQL, whose names suggest a secret. */
function namesAndValuesIn(text: string): (readonly [name: string, value: string])[] {
  const patterns = [secretMember, secretPair, secretArgument, secretInUrl, ...(text.includes('</') ? [secretElement] : [])];
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, name = '', quoted, bare = '']) => [name, quoted ?? bare] as const),
  );
}

function secretsNamedIn(text: string): string[] {
  const isSecret = (name: string, value: string) =>
    isPossiblySecret(name, 'body', value, true) && (hasSecretName(name) || isNamedSecret(name, 'body', value, true));
  return namesAndValuesIn(text).flatMap(([name, value]) => (isSecret(name, value) ? [value] : []));
}

export function addSecretsIn(text: string, known: KnownSecrets): void {
  for (const [name, value] of namesAndValuesIn(text)) {
    known.addVariables(name, value);
    if (hasSecretName(name) || isNamedSecret(name, 'body', value, true)) known.add(value);
  }
}

/** The password of a URL such as `https://me:PASSWORD@example.com`; empty if it has none. */
export function passwordIn(url: string): string {
  return /^\w+:\/\/[^/?#@]*:([^/?#@]*)@/.exec(url)?.[1] ?? '';
}

export function addSecretPairs(pairs: string, known: KnownSecrets): void {
  for (const pair of pairs.split('&')) {
    const [name = '', value = ''] = pair.split(/=(.*)/s).map((part) => percentDecoded(part.replaceAll('+', ' ')));
    known.addVariables(name, value);
    const isSignature = /signature$/i.test(name) && isDistinct(value);
    if (isSignature || isPossiblySecret(name, 'query', value, true) || isPossiblySecret(name, 'body', value, true)) known.add(value);
  }
}

/** A cookie can also be a setting such as the language, which other parts of a request contain, too. */
export function addCookie(name: string, value: string, known: KnownSecrets): void {
  const isNamed = /sess|sid|token|auth|[cx]srf|jwt|login|remember|secret|key/i.test(name);
  if ((isNamed && isDistinct(value)) || looksRandom(value) || (value.length >= 20 && /\d/.test(value) && /[a-z]/i.test(value)))
    known.add(value);
}

/** Adds the secret in a header, or every cookie in `Cookie` and `Set-Cookie`. */
export function addSecretHeader(name: string, value: string, known: KnownSecrets): void {
  known.addVariables(name, value);
  if (/^(?:cookie|set-cookie)$/i.test(name)) {
    // Set-Cookie has a cookie and its attributes on each line.
    for (const [, cookie = '', text = ''] of value.matchAll(/(?:^|[;\n]\s*)([^=;\s]+)=([^;\n]*)/g)) addCookie(cookie, text, known);
  } else if (isSecretHeader(name, value, isPossiblySecret)) {
    const [, scheme = '', token = value] = /^\s*(\w+)\s+(\S+)\s*$/.exec(value) ?? [];
    known.add(token);
    if (/^basic$/i.test(scheme)) known.add((bytesOfBase64(token) ?? '').split(/:(.*)/s)[1] ?? '');
  }
}
