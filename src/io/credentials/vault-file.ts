import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { orUndefined } from '../../core/value/value.ts';

/** The vault on disk: secrets under AES-256-GCM. Binary fields are in Base64. */
export interface VaultFile {
  readonly version: 1;
  readonly kdf: Kdf;
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

/** Key derivation from the passphrase (RFC 7914). */
export interface Kdf {
  readonly name: 'scrypt';
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
}

/** The derivation of a new vault: 128 MB and a quarter of a second, with its own salt. */
export function newKdf(): Kdf {
  return { name: 'scrypt', n: 2 ** 17, r: 8, p: 1, salt: randomBytes(16).toString('base64') };
}

/** Derives the key. A passphrase may be typed with composed or decomposed letters. */
export function deriveKey(passphrase: string, { n, r, p, salt }: Kdf): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), Buffer.from(salt, 'base64'), 32, { N: n, r, p, maxmem: 256 * n * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

/** Encrypts secrets with a new nonce. */
export function encryptSecrets(secrets: ReadonlyMap<string, string>, kdf: Kdf, key: Buffer): VaultFile {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
  cipher.setAAD(clearFields({ version: 1, kdf }));
  const data = Buffer.concat([cipher.update(JSON.stringify([...secrets])), cipher.final()]);
  const base64 = { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data: data.toString('base64') };
  return { version: 1, kdf, ...base64 };
}

/** Decrypts the secrets. Absent if the key is wrong or any byte was changed. */
export function decryptSecrets(vault: VaultFile, key: Buffer): Map<string, string> | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(vault.iv, 'base64'), { authTagLength: 16 });
  decipher.setAAD(clearFields(vault));
  decipher.setAuthTag(Buffer.from(vault.tag, 'base64'));
  const bytes = orUndefined(() => Buffer.concat([decipher.update(Buffer.from(vault.data, 'base64')), decipher.final()]));
  return bytes && new Map(JSON.parse(bytes.toString()) as [string, string][]);
}

/** The unencrypted fields. They are authenticated together with the secrets, so that a changed field is noticed. */
function clearFields({ version, kdf: { name, n, r, p, salt } }: Pick<VaultFile, 'version' | 'kdf'>): Buffer {
  return Buffer.from(JSON.stringify([version, name, n, r, p, salt]));
}

/** Bounds of the work for a key: a changed file must not use up all memory, nor make the key cheap to guess. */
const bounds = { n: [2 ** 14, 2 ** 18], r: [8, 16], p: [1, 4] } as const;

/** True for a vault as this version writes it. */
export function isVaultFile(found: unknown): found is VaultFile {
  const { version, kdf, iv, tag, data } = (found ?? {}) as Partial<VaultFile>;
  const areTexts = [iv, tag, data, kdf?.salt].every((text) => typeof text === 'string');
  return version === 1 && areTexts && isKdf(kdf as Kdf) && byteLength(iv as string) === 12 && byteLength(tag as string) === 16;
}

function isKdf({ name, n, r, p }: Kdf): boolean {
  return name === 'scrypt' && isWithin(n, bounds.n) && Number.isInteger(Math.log2(n)) && isWithin(r, bounds.r) && isWithin(p, bounds.p);
}

function byteLength(base64: string): number {
  return Buffer.from(base64, 'base64').length;
}

function isWithin(number: number, [least, max]: readonly [number, number]): boolean {
  return Number.isInteger(number) && number >= least && number <= max;
}
