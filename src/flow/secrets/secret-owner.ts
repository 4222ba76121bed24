import { isMap, isPair, isScalar, isSeq } from 'yaml';

/** The connection or node that holds a secret. */
export interface Owner {
  /** Names for its credential, the best first. */
  readonly names: readonly string[];
  /** True if it names a credential already. */
  readonly hasCredential: boolean;
}

/** Finds the owner among the ancestors of a value, from the top of the document. */
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

/** The label of a host before its public suffix. Absent for an address, for this machine, and for a host that a record decides. */
export function hostName(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined;
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?([^/?#@:]+)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (/^[\d.]*$|^localhost$/.test(host)) return undefined;
  const labels = host.replace(suffixOfTwo, '.suffix').split('.');
  return labels.at(-2) ?? labels[0];
}

/** A public suffix of two labels, for example `.co.uk`. */
const suffixOfTwo = /(?<=.)\.(?:co|com|org|net|gov|gob|gouv|ac|edu|ne|or|go)\.[a-z]{2}$/;
