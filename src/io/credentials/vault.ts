import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { AutomateError } from '../../core/failure.ts';
import { createStateFile } from '../files/state-file.ts';
import type { SecretBackend } from './backend.ts';

/** Where the vault's passphrase comes from. */
export interface Passphrase {
  /** Why there is none; absent when there is one, or somebody who can be asked for it. */
  problem(): string | undefined;
  /** `isNew`: for a vault that is about to be made. Throws an AutomateError (`credential`). */
  get(isNew: boolean): Promise<string>;
  /** The one that was got does not open the vault. Answers whether somebody can be asked for another. */
  refuse(): boolean;
  /** Whether it is there without asking anybody. */
  isGiven(): boolean;
  /** Where it comes from, in words. */
  source(): string;
}

interface VaultFile {
  readonly version: 1;
  readonly kdf: Kdf;
  /** Base64, as are the others. */
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

/** How the key is made of the passphrase (RFC 7914). */
interface Kdf {
  readonly name: 'scrypt';
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
}

const newKdf = (): Kdf => ({ name: 'scrypt', n: 2 ** 17, r: 8, p: 1, salt: randomBytes(16).toString('base64') });

/** A person may mistype. */
const mostTries = 3;

/** Makes the keeper that is an encrypted file: AES-256-GCM with a key made of a passphrase. */
export function createVault(path: string, passphrase: Passphrase): SecretBackend {
  const file = createStateFile(path, isVaultFile);
  const keys = new Map<string, Promise<Buffer>>();
  let refusals = 0;
  return {
    name: 'vault',
    async problem() {
      const problem = passphrase.problem();
      if (problem !== undefined || !passphrase.isGiven()) return problem;
      try {
        await passphrase.get(false);
        await opened(file.read());
        return undefined;
      } catch (error) {
        if (error instanceof AutomateError) return error.message;
        throw error;
      }
    },
    async prepare() {
      const found = file.read();
      await (found ? opened(found) : passphrase.get(true));
    },
    async read(accounts) {
      const secrets = await opened(file.read());
      return new Map(accounts.flatMap((account) => (secrets.has(account) ? [[account, secrets.get(account) as string]] : [])));
    },
    async write(changes) {
      const found = file.read();
      const secrets = await opened(found);
      for (const [account, secret] of changes) {
        if (secret === undefined) secrets.delete(account);
        else secrets.set(account, secret);
      }
      await file.write(await closed(secrets, found?.kdf ?? newKdf(), found === undefined));
    },
  };

  async function opened(found: VaultFile | undefined): Promise<Map<string, string>> {
    if (!found) return new Map();
    for (;;) {
      const text = decrypted(found, await keyOf(found.kdf, false));
      if (text !== undefined) return new Map(JSON.parse(text) as [string, string][]);
      if (++refusals < mostTries && passphrase.refuse()) keys.delete(found.kdf.salt);
      else
        throw new AutomateError(
          'credential',
          `the vault ${path} cannot be opened: the passphrase is another, or the file was changed\ncheck ${passphrase.source()}`,
        );
    }
  }

  async function closed(secrets: ReadonlyMap<string, string>, kdf: Kdf, isNew: boolean): Promise<VaultFile> {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', await keyOf(kdf, isNew), iv, { authTagLength: 16 });
    cipher.setAAD(headOf({ version: 1, kdf }));
    const data = Buffer.concat([cipher.update(JSON.stringify([...secrets])), cipher.final()]);
    const base64 = { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data: data.toString('base64') };
    return { version: 1, kdf, ...base64 };
  }

  /** Takes a quarter of a second, so each is made once. */
  function keyOf(kdf: Kdf, isNew: boolean): Promise<Buffer> {
    const known = keys.get(kdf.salt);
    if (known) return known;
    const key = passphrase.get(isNew).then((text) => derived(text, kdf));
    keys.set(kdf.salt, key);
    return key;
  }
}

/** Absent when the key is another, or anything was changed. */
function decrypted(vault: VaultFile, key: Buffer): string | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(vault.iv, 'base64'), { authTagLength: 16 });
  decipher.setAAD(headOf(vault));
  decipher.setAuthTag(Buffer.from(vault.tag, 'base64'));
  try {
    return Buffer.concat([decipher.update(Buffer.from(vault.data, 'base64')), decipher.final()]).toString();
  } catch {
    return undefined;
  }
}

/** What stands in the file in the clear is signed, too. */
function headOf({ version, kdf: { name, n, r, p, salt } }: Pick<VaultFile, 'version' | 'kdf'>): Buffer {
  return Buffer.from(JSON.stringify([version, name, n, r, p, salt]));
}

/** Somebody who can write the file must not be able to make us take all memory, or next to no time. */
const most = { n: 2 ** 18, r: 16, p: 4 };

function derived(passphrase: string, { n, r, p, salt }: Kdf): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), Buffer.from(salt, 'base64'), 32, { N: n, r, p, maxmem: 256 * n * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

function isVaultFile(found: unknown): found is VaultFile {
  const { version, kdf, iv, tag, data } = (found ?? {}) as Partial<VaultFile>;
  const { name, n, r, p, salt } = kdf ?? ({} as Partial<Kdf>);
  const areTexts = [iv, tag, data, salt].every((text) => typeof text === 'string');
  const isKdf =
    name === 'scrypt' &&
    isWithin(n, 2 ** 14, most.n) &&
    Number.isInteger(Math.log2(n as number)) &&
    isWithin(r, 8, most.r) &&
    isWithin(p, 1, most.p);
  return version === 1 && areTexts && isKdf && bytesIn(iv as string) === 12 && bytesIn(tag as string) === 16;
}

function bytesIn(base64: string): number {
  return Buffer.from(base64, 'base64').length;
}

function isWithin(number: unknown, least: number, most: number): boolean {
  return Number.isInteger(number) && (number as number) >= least && (number as number) <= most;
}
