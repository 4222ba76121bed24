import { type NamedPlace, type SecretName, secretShapes } from '../../core/text/secret-shapes.ts';

/** The certainty that a name belongs to a secret: `always`, or only if the value has a certain form. */
export type Sureness = 'always' | NonNullable<SecretName['if']>;

const rows = secretShapes.filter((shape) => 'named' in shape);

const whole = new Map(
  rows.flatMap((row): [string, Sureness][] => row.in.map((place) => [`${place} ${plainName(row.named)}`, row.if ?? 'always'])),
);

const partial = rows.filter(({ named }) => named.startsWith('*'));

/** Returns how certain it is that the value with this name is a secret; `undefined` if the name does not suggest a secret. */
export function surenessOf(name: string, place: NamedPlace): Sureness | undefined {
  const named = whole.get(`${place} ${plainName(name)}`) ?? whole.get(`${place} ${plainName(name.replace(/^x[-_]/i, ''))}`);
  // `appid` can be a secret key, but `app_id` only identifies the client.
  if (named === 'generated' && /[-_]id$|[a-z]Id$/.test(name)) return undefined;
  if (named || /idempotency/i.test(name) || isAboutSecret(name)) return named;
  const row = partial.find((candidate) => candidate.in.includes(place) && isPartOf(name, candidate.named));
  return row && (row.if ?? 'always');
}

function isPartOf(name: string, pattern: string): boolean {
  const dashed = name.replaceAll('_', '-').toLowerCase();
  return pattern.endsWith('*') ? dashed.includes(pattern.slice(1, -1)) : dashed.endsWith(pattern.slice(1));
}

/** True for a name that is about a secret, but whose value is not the secret, such as `X-Secret-Version`. */
function isAboutSecret(name: string): boolean {
  return /secretar|secret.*[-_](?:id|name|version|type|hash)$/i.test(name);
}

/** True for a header whose value can look random without being a secret. */
export function isRandomHeader(name: string): boolean {
  return randomHeader.test(name);
}

const randomHeader =
  /ids?$|uuid|guid|hash|sha-?\d|md5|checksum|digest|fingerprint|etag|trace|span|baggage|correlation|version|revision|commit|build|cursor|continuation|nonce|idempoten|agent|^(?:accept|content|if|sec)-|^(?:accept|range|referer|origin|prefer|signature)$/i;

/** Returns a form of the name that is the same for different spellings. */
function plainName(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}
