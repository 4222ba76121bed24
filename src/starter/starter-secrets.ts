import { parseDocument } from 'yaml';
import { maxSigners } from '../core/auth/auth.ts';
import { percentDecoded } from '../core/template/url.ts';
import { credentialNames, fieldFor, replacementFor } from '../flow/secrets/secret-advice.ts';
import { hostName, type LiteralSecret, literalSecrets, type SecretCarrier } from '../flow/secrets/secrets.ts';
import { isDistinct, KnownSecrets } from './known-secrets.ts';
import { unusableRequest, type WrittenAuth, type WrittenNode, withLiterals, yamlOf } from './written-node.ts';

export interface Cleaned {
  readonly node: WrittenNode;
  readonly credentials: readonly CredentialToStore[];
  readonly notes: readonly string[];
  readonly takesField: boolean;
}

export interface CredentialToStore {
  readonly name: string;
  readonly note: string;
}

export interface TranslatedAuth {
  readonly auth: readonly WrittenAuth[];
  readonly credentials: readonly CredentialToStore[];
  readonly notes: readonly string[];
}

/** The first word of a credential's name: the host to which it is sent. */
export function hostWord(url: string): string {
  return hostName(url)?.replace(/[^\w.-]/g, '') || 'my';
}

/** Replaces secrets with credentials, or removes them with a note. Throws an AutomateError (`usage`) if a secret is still left. */
export function withoutSecrets(written: WrittenNode, known = new KnownSecrets()): Cleaned {
  const cleaning = new Cleaning(written, known);
  const removed = new Map<string, LiteralSecret>();
  for (let found = likeliestFirst(written, known); found.length > 0; found = likeliestFirst(cleaning.cleaned.node, known)) {
    // A secret that is still there would otherwise be removed forever.
    const stuck = found.find((secret) => removed.has(keyOf(secret)));
    if (stuck) throw cleaning.refusal(stuck);
    for (const secret of found) {
      removed.set(keyOf(secret), secret);
      cleaning.remove(secret);
    }
  }
  const { cleaned } = cleaning;
  const left = JSON.stringify(cleaned.node);
  const again = [...removed.values()].find(({ carrier }) => isDistinct(secretOf(carrier)) && left.includes(secretOf(carrier)));
  if (again)
    throw unusableRequest(
      `${again.found} contains a secret that is also in another part of the request\nuse a field instead, such as {{token}}`,
    );
  const credentials = new Map(cleaned.credentials.map((credential) => [credential.name, credential]));
  return { ...cleaned, credentials: [...credentials.values()], notes: [...new Set(cleaned.notes)] };
}

function keyOf({ carrier }: LiteralSecret): string {
  return JSON.stringify([carrier.in, carrier.name, carrier.value]);
}

class Cleaning {
  readonly #names: ReturnType<typeof credentialNames>;
  cleaned: Cleaned;

  constructor(
    node: WrittenNode,
    readonly known: KnownSecrets,
  ) {
    const signers = (node.auth ?? []).map(({ credential }) => String(credential));
    const names = credentialNames(secretsOf(node, known), signers, (name) => known.isIn(name));
    this.#names = { ...names, of: (secret, kind) => known.credentialIn(secret.carrier.value) ?? names.of(secret, kind) };
    this.cleaned = { node, credentials: [], notes: [], takesField: false };
  }

  remove(secret: LiteralSecret): void {
    if (secret.carrier.in === 'body') this.#fromBody(secret);
    else this.#fromRequest(secret);
  }

  #fromBody(secret: LiteralSecret): void {
    const { node, credentials, notes, takesField } = this.cleaned;
    const { carrier, found, text } = secret;
    const isText = typeof node.body === 'string';
    const field = fieldFor(carrier, this.#names);
    const name = this.#names.of(secret, replacementFor(carrier, (shown) => shown).kind);
    const part = node.form ? 'form' : 'body';
    const body = isText ? inText(node.body as string, carrier, `{{${field}}}`) : replaced(node[part], carrier, { credential: name });
    // It was already replaced together with another secret, or it will be found again.
    if (JSON.stringify(body) === JSON.stringify(node[part])) return;
    const entry = neededCredential(found, text === carrier.value ? 'it' : 'the whole value', name);
    this.cleaned = {
      node: { ...node, [part]: body },
      credentials: isText ? credentials : [...credentials, entry],
      notes: isText ? [...notes, `${found} contains a secret, which is taken from the field "${field}"`] : notes,
      takesField: takesField || isText,
    };
  }

  #fromRequest(secret: LiteralSecret): void {
    const { node, credentials, notes, takesField } = this.cleaned;
    const { carrier, found } = secret;
    const bare = withoutCarrier(node, secret);
    if (!bare) throw this.refusal(secret);
    const { kind, what = 'it', auth } = replacementFor(carrier, (text) => text);
    const signers = node.auth ?? [];
    if (signers.length === maxSigners || signers.some((other) => secretPlace(other) === secretPlace(auth))) {
      const reason =
        signers.length === maxSigners
          ? `a request carries at most ${maxSigners} credentials`
          : 'auth already sets that part of the request';
      this.cleaned = { ...this.cleaned, node: bare, notes: [...notes, `${found} contains a secret and was left out: ${reason}`] };
      return;
    }
    const name = this.#names.of(secret, kind);
    this.cleaned = {
      node: { ...bare, auth: [...signers, { ...auth, credential: name }] },
      credentials: [...credentials, neededCredential(found, what === 'it' && this.#isPart(carrier) ? 'its whole value' : what, name)],
      notes,
      takesField,
    };
  }

  #isPart({ name, value }: SecretCarrier): boolean {
    return /^cookie$/i.test(name) || (this.known.credentialIn(value) !== undefined && !this.known.isStandIn(secretOf({ value })));
  }

  refusal({ found, carrier }: LiteralSecret): Error {
    return unusableRequest(
      `${found} contains a secret, which must not be written into a flow\nuse a field instead, such as {{${fieldFor(carrier, this.#names)}}}`,
    );
  }
}

function neededCredential(found: string, what: string, name: string): CredentialToStore {
  return { name, note: `not written: ${found}; store ${what.replace(/^it as /, '')} as the credential ${name}` };
}

/** Returns a string that identifies the header or query parameter in which this way to sign a request puts the secret. */
export function secretPlace({ header = 'Authorization', query }: WrittenAuth): string {
  return query === undefined ? String(header).toLowerCase() : `?${query}`;
}

/** The secret that most likely signs the request comes first, and a cookie last, because browsers send cookies with every request. */
function likeliestFirst(node: WrittenNode, known: KnownSecrets): LiteralSecret[] {
  const likelihood = ({ carrier }: LiteralSecret) => {
    if (carrier.in !== 'header') return 1;
    return /^authorization$/i.test(carrier.name) ? 3 : /^cookie$/i.test(carrier.name) ? 0 : 2;
  };
  return secretsOf(node, known).sort((one, other) => likelihood(other) - likelihood(one));
}

/** Returns the literal secrets that the check of a flow would report, and every other value whose name might belong to a secret. */
function secretsOf(node: WrittenNode, known: KnownSecrets): LiteralSecret[] {
  return literalSecrets(parseDocument(yamlOf([node])), known.rule);
}

function withoutCarrier(node: WrittenNode, { carrier }: LiteralSecret): WrittenNode | undefined {
  const { url } = node;
  switch (carrier.in) {
    case 'header': {
      const { headers, ...others } = node;
      const left = Object.entries(headers ?? {}).filter(([name]) => name !== carrier.name);
      return left.length === 0 ? others : { ...node, headers: Object.fromEntries(left) };
    }
    case 'query': {
      const [path = '', query = ''] = url.split(/\?(.*)/s);
      const left = query.split('&').filter((parameter) => {
        const [name = '', value] = parameter.split(/=(.*)/s);
        return value !== carrier.value || ![name, percentDecoded(name)].includes(carrier.name);
      });
      return left.join('&') === query ? undefined : { ...node, url: left.length === 0 ? path : `${path}?${left.join('&')}` };
    }
    case 'login':
      return { ...node, url: url.replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#]*@/i, '$1') };
    default:
      return undefined;
  }
}

function replaced(value: unknown, carrier: SecretCarrier, substitute: object, name = 'body'): unknown {
  if (Array.isArray(value)) return value.map((member) => replaced(member, carrier, substitute, name));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([own, member]) => [own, replaced(member, carrier, substitute, own)]));
  return isIt(String(value), name, carrier) ? substitute : value;
}

function inText(json: string, carrier: SecretCarrier, reference: string): string {
  return withLiterals(json, (literal, name) => (isIt(literal, name, carrier) ? `"${reference}"` : undefined));
}

function isIt(text: string, name: string, carrier: SecretCarrier): boolean {
  return text.includes(carrier.value) && (name === carrier.name || isDistinct(carrier.value));
}

function secretOf({ value }: Pick<SecretCarrier, 'value'>): string {
  return value.replace(/^\s*(?:bearer|basic|token)\s+/i, '');
}
