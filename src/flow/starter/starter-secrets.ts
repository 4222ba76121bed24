import { parseDocument } from 'yaml';
import { percentDecoded } from '../../core/template/query.ts';
import { credentialNames } from '../secrets/credential-names.ts';
import { fieldFor, replacementFor } from '../secrets/secret-advice.ts';
import { isPossiblySecret } from '../secrets/secret-text.ts';
import { type Carrier, type LiteralSecret, literalSecrets } from '../secrets/secrets.ts';
import { unusableRequest, type WrittenAuth, type WrittenNode, withLiterals, yamlOf } from './written-node.ts';

/** A node without literal secrets. */
export interface Cleaned {
  readonly node: WrittenNode;
  /** The credentials that the flow names in place of secrets. */
  readonly credentials: readonly NeededCredential[];
  /** Notes about changes to the request. */
  readonly notes: readonly string[];
}

/** A credential that a flow needs, and a note about its place and the secret to store. */
export interface NeededCredential {
  readonly name: string;
  readonly note: string;
}

/** Makes a credential of each secret. A secret that no credential can carry is left out, with a note. Throws an AutomateError (`usage`). */
export function withoutSecrets(written: WrittenNode): Cleaned {
  const cleaning = new Cleaning(written);
  const removed: LiteralSecret[] = [];
  for (let secret = firstSecret(written); secret; secret = firstSecret(cleaning.cleaned.node)) {
    cleaning.remove(secret);
    removed.push(secret);
  }
  const { cleaned } = cleaning;
  const left = JSON.stringify(cleaned.node);
  const again = removed.find(({ carrier }) => isDistinct(secretOf(carrier)) && left.includes(secretOf(carrier)));
  if (again)
    throw unusableRequest(
      `${again.found} holds a secret that another part of the request contains, too\nput a field there, such as {{token}}`,
    );
  return { ...cleaned, notes: [...new Set(cleaned.notes)] };
}

const maxSigners = 4;

/** Takes secret after secret out of a node. */
class Cleaning {
  readonly #names: ReturnType<typeof credentialNames>;
  cleaned: Cleaned;

  constructor(node: WrittenNode) {
    const signers = (node.auth ?? []).map(({ credential }) => String(credential));
    this.#names = credentialNames(secretsOf(node), signers);
    this.cleaned = { node, credentials: [], notes: [] };
  }

  remove(secret: LiteralSecret): void {
    if (secret.carrier.in === 'body') this.#fromBody(secret);
    else this.#fromRequest(secret);
  }

  #fromBody(secret: LiteralSecret): void {
    const { node, credentials, notes } = this.cleaned;
    const { carrier, found, text } = secret;
    const isText = typeof node.body === 'string';
    const field = fieldFor(carrier, this.#names);
    const name = this.#names.of(secret, replacementFor(carrier, (shown) => shown).kind);
    const part = node.form ? 'form' : 'body';
    const body = isText ? inText(node.body as string, carrier, `{{${field}}}`) : replaced(node[part], carrier, { credential: name });
    if (JSON.stringify(body) === JSON.stringify(node[part])) throw this.#refusal(secret);
    const entry = neededCredential(found, text === carrier.value ? 'it' : 'the whole value', name);
    this.cleaned = {
      node: { ...node, [part]: body },
      credentials: isText ? credentials : [...credentials, entry],
      notes: isText ? [...notes, `${found} holds a secret: it is taken from the field "${field}"`] : notes,
    };
  }

  #fromRequest(secret: LiteralSecret): void {
    const { node, credentials, notes } = this.cleaned;
    const { carrier, found } = secret;
    const bare = withoutCarrier(node, secret);
    if (!bare) throw this.#refusal(secret);
    const { kind, what = 'it', auth } = replacementFor(carrier, (text) => text);
    const signers = node.auth ?? [];
    if (signers.length === maxSigners || signers.some((other) => secretPlace(other) === secretPlace(auth))) {
      const reason =
        signers.length === maxSigners ? `a request carries at most ${maxSigners} credentials` : 'auth fills that place already';
      this.cleaned = { credentials, node: bare, notes: [...notes, `${found} holds a secret and was left out: ${reason}`] };
      return;
    }
    const name = this.#names.of(secret, kind);
    this.cleaned = {
      node: { ...bare, auth: [...signers, { ...auth, credential: name }] },
      credentials: [...credentials, neededCredential(found, what, name)],
      notes,
    };
  }

  #refusal({ found, carrier }: LiteralSecret): Error {
    return unusableRequest(
      `${found} holds a secret, which must not stand in a flow\nput a field there, such as {{${fieldFor(carrier, this.#names)}}}`,
    );
  }
}

function neededCredential(found: string, what: string, name: string): NeededCredential {
  return { name, note: `not written: ${found}; store ${what.replace(/^it as /, '')} as the credential ${name}` };
}

/** The place of a request that a way to sign fills. */
export function secretPlace({ header = 'Authorization', query }: WrittenAuth): string {
  return query === undefined ? String(header).toLowerCase() : `?${query}`;
}

/** The secret that most likely signs the request. A cookie is the last choice: browsers send it everywhere. */
function firstSecret(node: WrittenNode): LiteralSecret | undefined {
  const likelihood = ({ carrier }: LiteralSecret) => {
    if (carrier.in !== 'header') return 1;
    return /^authorization$/i.test(carrier.name) ? 3 : /^cookie$/i.test(carrier.name) ? 0 : 2;
  };
  return secretsOf(node).sort((one, other) => likelihood(other) - likelihood(one))[0];
}

/** The literal secrets, as the check of a flow finds them, and every value whose name may stand for one. */
function secretsOf(node: WrittenNode): LiteralSecret[] {
  return literalSecrets(parseDocument(yamlOf([node])), isPossiblySecret);
}

/** The node without a secret's carrier. Absent if the request would change. */
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

/** The value with `substitute` in place of every text that holds the secret. */
function replaced(value: unknown, carrier: Carrier, substitute: object, name = 'body'): unknown {
  if (Array.isArray(value)) return value.map((member) => replaced(member, carrier, substitute, name));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([own, member]) => [own, replaced(member, carrier, substitute, own)]));
  return isIt(String(value), name, carrier) ? substitute : value;
}

function inText(json: string, carrier: Carrier, reference: string): string {
  return withLiterals(json, (literal, name) => (isIt(literal, name, carrier) ? `"${reference}"` : undefined));
}

function isIt(text: string, name: string, carrier: Carrier): boolean {
  return text.includes(carrier.value) && (name === carrier.name || isDistinct(carrier.value));
}

/** True if a secret is distinct enough to be searched for elsewhere. `admin` is a user's name, too. */
function isDistinct(secret: string): boolean {
  return secret.length >= 8 && /\d/.test(secret);
}

function secretOf({ value }: Carrier): string {
  return value.replace(/^\s*(?:bearer|basic|token)\s+/i, '');
}
