import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { orUndefined } from '../core/value/value.ts';

/** The content of the vault file. Its secrets are encrypted with AES-256-GCM, and binary fields are Base64 text. */
export interface VaultFile {
  readonly version: 1;
  readonly kdf: Kdf;
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

/** The parameters with which scrypt (RFC 7914) derives the encryption key from the passphrase. */
export interface Kdf {
  readonly name: 'scrypt';
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
}

/**
 * Creates the parameters for deriving a new vault's encryption key, with a random salt. Deriving a key takes 128 MB of memory and 0.25 s.
 */
export function newKdf(): Kdf {
  return { name: 'scrypt', n: 2 ** 17, r: 8, p: 1, salt: randomBytes(16).toString('base64') };
}

/**
 * Derives the encryption key from the passphrase. The passphrase is normalized, so that an accented letter may be typed as one character or
 * as two.
 */
export function deriveKey(passphrase: string, { n, r, p, salt }: Kdf): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), Buffer.from(salt, 'base64'), 32, { N: n, r, p, maxmem: 256 * n * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

/** Encrypts the secrets with the key and a new random nonce. */
export function encryptSecrets(secrets: ReadonlyMap<string, string>, kdf: Kdf, key: Buffer): VaultFile {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
  cipher.setAAD(clearFields({ version: 1, kdf }));
  const data = Buffer.concat([cipher.update(JSON.stringify([...secrets])), cipher.final()]);
  const base64 = { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data: data.toString('base64') };
  return { version: 1, kdf, ...base64 };
}

/** Decrypts the secrets in a vault. Returns undefined if the key is wrong or the file has been changed. */
export function decryptSecrets(vault: VaultFile, key: Buffer): Map<string, string> | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(vault.iv, 'base64'), { authTagLength: 16 });
  decipher.setAAD(clearFields(vault));
  decipher.setAuthTag(Buffer.from(vault.tag, 'base64'));
  const bytes = orUndefined(() => Buffer.concat([decipher.update(Buffer.from(vault.data, 'base64')), decipher.final()]));
  return bytes && new Map(JSON.parse(bytes.toString()) as [string, string][]);
}

/**
 * Returns the unencrypted fields of the vault as bytes. They are authenticated with the encrypted secrets, so that a change to them is
 * detected.
 */
function clearFields({ version, kdf: { name, n, r, p, salt } }: Pick<VaultFile, 'version' | 'kdf'>): Buffer {
  return Buffer.from(JSON.stringify([version, name, n, r, p, salt]));
}

/**
 * Minimum and maximum parameters for deriving the key. A manipulated vault file could otherwise exhaust memory or make the key easy to
 * guess.
 */
const bounds = { n: [2 ** 14, 2 ** 18], r: [8, 16], p: [1, 4] } as const;

/** Returns true if the content of a file is a vault that this version can read. */
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
