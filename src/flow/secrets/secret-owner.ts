import { isMap, isPair, isScalar, isSeq } from 'yaml';

/** The connection or node that contains a secret. */
export interface Owner {
  /** Possible names for the secret's credential, with the best one first. */
  readonly names: readonly string[];
  /** True if the connection or node already refers to a credential. */
  readonly hasCredential: boolean;
}

/**
 * Finds the connection or node that contains a value. `ancestors` are the YAML nodes that contain the value, beginning at the top of the
 * document.
 */
export function ownerOf(ancestors: readonly unknown[]): Owner {
  const isNode = (index: number) => isSeq(ancestors[index - 1]) && keyOfMember(ancestors[index - 2]) === 'nodes';
  const isConnection = (index: number) => index === 5 && keyOfMember(ancestors[2]) === 'connections';
  const data = ancestors.findIndex((ancestor) => /^(?:body|form|fields|arguments)$/.test(keyOfMember(ancestor) ?? ''));
  const at = ancestors.findLastIndex((_, index) => (data < 0 || index < data) && (isNode(index) || isConnection(index)));
  const map = ancestors[at];
  if (!isMap(map)) return { names: [], hasCredential: false };
  const candidates = isConnection(at) ? [keyOfMember(ancestors[at - 1])] : [hostName(map.get('url')), map.get('connection'), map.get('id')];
  return {
    names: candidates.filter((name) => typeof name === 'string'),
    hasCredential: isSeq(map.get('auth')) || map.getIn(['auth', 'credential']) !== undefined,
  };
}

function keyOfMember(node: unknown): string | undefined {
  return isPair(node) && isScalar(node.key) ? String(node.key.value) : undefined;
}

/**
 * Returns the label before the public suffix of a host, such as `example` in api.example.com. Returns undefined for an IP address, for this
 * machine, and for a host that comes from a record.
 */
export function hostName(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined;
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?([^/?#@:]+)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (/^[\d.]*$|^localhost$/.test(host)) return undefined;
  const labels = host.replace(suffixOfTwo, '.suffix').split('.');
  return labels.at(-2) ?? labels[0];
}

/** Matches a public suffix that consists of two labels, such as `.co.uk`. */
const suffixOfTwo = /(?<=.)\.(?:co|com|org|net|gov|gob|gouv|ac|edu|ne|or|go)\.[a-z]{2}$/;
