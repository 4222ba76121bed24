import { credentialName } from '../../core/options/names.ts';
import type { LiteralSecret } from './secrets.ts';

/** The kind of a secret. The invented name of its credential ends with this word. */
export type CredentialKind = 'token' | 'login' | 'secret' | 'password';

/** Invents names for credentials. The names can be printed, because they contain no part of a secret. */
export interface CredentialNames {
  /**
   * Returns a name for the credential that will contain a literal secret, such as `crm-token`. Different secrets always get different
   * names.
   */
  of(secret: LiteralSecret, kind: CredentialKind): string;
  /** True if a word contains no part of a secret, and can be a name. */
  isFree(word: string): boolean;
}

/** Invents credential names for a flow's literal secrets. `taken` lists the names that other credentials already have. */
export function credentialNames(secrets: readonly LiteralSecret[], taken: readonly string[] = []): CredentialNames {
  const values = secrets.map(({ carrier }) => carrier.value.toLowerCase());
  const pieces = values.flatMap((value) => value.match(/[\p{L}\p{N}_-]{4,}/gu) ?? []);
  const given = new Map<string, string | undefined>(taken.map((name) => [name, undefined]));
  return { of: nameOf, isFree };

  function nameOf({ owner, carrier }: LiteralSecret, kind: string): string {
    const secret = carrier.value.replace(/^\s*bearer\s+/i, '').trim();
    const named = `${owner.names.find((name) => isFree(name) && isName(`${name}-${kind}`)) ?? 'my'}-${kind}`;
    for (let count = 1; ; count++) {
      const name = count === 1 ? named : `${named}-${count}`;
      if (given.has(name) && given.get(name) !== secret) continue;
      given.set(name, secret);
      return name;
    }
  }

  function isFree(word: string): boolean {
    const lower = word.toLowerCase();
    if (pieces.some((piece) => lower.includes(piece))) return false;
    return isName(word) && !(/\d/.test(word) && values.some((value) => value.includes(lower)));
  }
}

function isName(text: string): boolean {
  return credentialName.safeParse(text).success;
}
