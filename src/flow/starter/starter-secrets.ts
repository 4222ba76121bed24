import { parseDocument } from 'yaml';
import { percentDecoded } from '../../core/template/query.ts';
import { credentialNames } from '../secrets/credential-names.ts';
import { fieldFor, replacementFor } from '../secrets/secret-advice.ts';
import { type Carrier, type LiteralSecret, literalSecrets } from '../secrets/secrets.ts';
import { refusal, type WrittenNode, withLiterals, yamlOf } from './written-node.ts';

/** A node without literal secrets. */
export interface Cleaned {
  readonly node: WrittenNode;
  /** The secrets of the request that the flow names instead: the place, the part to store, and the credential's name. */
  readonly credentials: readonly { readonly found: string; readonly what: string; readonly name: string }[];
  /** Notes about changes to the request. */
  readonly notes: readonly string[];
}

/** Moves one secret into the node's credential. A request cannot carry a second one, nor one in its body. Throws an AutomateError (`usage`). */
export function withoutSecrets(written: WrittenNode): Cleaned {
  const names = credentialNames(secretsOf(written));
  let cleaned: Cleaned = { node: written, credentials: [], notes: [] };
  const removed: LiteralSecret[] = [];
  for (let secret = firstSecret(written); secret; secret = firstSecret(cleaned.node)) {
    cleaned = without(secret);
    removed.push(secret);
  }
  const left = JSON.stringify(cleaned.node);
  const again = removed.find(({ carrier }) => isDistinct(secretOf(carrier)) && left.includes(secretOf(carrier)));
  if (again)
    throw refusal(`${again.found} holds a secret that another part of the request contains, too\nput a field there, such as {{token}}`);
  return { ...cleaned, notes: [...new Set(cleaned.notes)] };

  function without(secret: LiteralSecret): Cleaned {
    const { node, credentials, notes } = cleaned;
    const { carrier, found } = secret;
    if (carrier.in === 'body') {
      const field = fieldFor(carrier, names);
      const change = typeof node.body === 'string' ? inText : replaced;
      const body = change(node.body as string, carrier, `{{${field}}}`);
      if (JSON.stringify(body) === JSON.stringify(node.body)) throw literalRefusal(secret);
      return { ...cleaned, node: { ...node, body }, notes: [...notes, `${found} holds a secret: it is taken from the field "${field}"`] };
    }
    const bare = withoutCarrier(node, secret);
    if (!bare) throw literalRefusal(secret);
    if (node.auth)
      return { ...cleaned, node: bare, notes: [...notes, `${found} holds a secret and was left out: a request carries one credential`] };
    const { kind, what = 'it', auth } = replacementFor(carrier, (text) => text);
    const name = names.of(secret, kind);
    return {
      node: { ...bare, auth: { ...auth, credential: name } },
      credentials: [...credentials, { found, what, name }],
      notes,
    };
  }

  function literalRefusal({ found, carrier }: LiteralSecret): Error {
    return refusal(`${found} holds a secret, which must not stand in a flow\nput a field there, such as {{${fieldFor(carrier, names)}}}`);
  }
}

/** The secret that most likely signs the request. A cookie is the last choice: browsers send it everywhere. */
function firstSecret(node: WrittenNode): LiteralSecret | undefined {
  const likelihood = ({ carrier }: LiteralSecret) => {
    if (carrier.in !== 'header') return 1;
    return /^authorization$/i.test(carrier.name) ? 3 : /^cookie$/i.test(carrier.name) ? 0 : 2;
  };
  return secretsOf(node).sort((one, other) => likelihood(other) - likelihood(one))[0];
}

/** The literal secrets, as the check of a flow finds them. */
function secretsOf(node: WrittenNode): LiteralSecret[] {
  return literalSecrets(parseDocument(yamlOf([node])));
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

/** The value with a reference in place of every text that holds the secret. */
function replaced(value: unknown, carrier: Carrier, reference: string, name = 'body'): unknown {
  if (Array.isArray(value)) return value.map((member) => replaced(member, carrier, reference, name));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([own, member]) => [own, replaced(member, carrier, reference, own)]));
  return isIt(String(value), name, carrier) ? reference : value;
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
