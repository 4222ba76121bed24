import { credentialName } from '../../core/options/names.ts';
import type { LiteralSecret } from './secrets.ts';

/** The last word of a credential's name. */
export type CredentialKind = 'token' | 'login' | 'secret' | 'password';

/** Invents names for credentials. They hold no part of a secret, so they may be printed. */
export interface CredentialNames {
  /** A name for the credential of a literal secret, such as `crm-token`. Two secrets never get the same name. */
  of(secret: LiteralSecret, kind: CredentialKind): string;
  /** True if a word holds no part of a secret. */
  isFree(word: string): boolean;
}

/** Invents names for a flow's literal secrets. `taken`: names of other credentials. */
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
