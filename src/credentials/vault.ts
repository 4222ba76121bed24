import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { AutomateError } from '../core/failure.ts';
import { entryOf } from '../core/map-entry.ts';
import { orUndefined } from '../core/value/value.ts';
import { modeOthersCanRead } from '../files/stat.ts';
import { createStateFile, type StateFile } from '../files/state-file.ts';
import type { SecretBackend } from './backend.ts';
import { checkedSecret, readSecretFile } from './environment.ts';

/** The passphrase is in an environment variable or a file, or the user types it. */
interface Passphrase {
  /** The reason why there is no passphrase; undefined if there is one or the user can be asked. */
  problem(): string | undefined;
  /** `isNew` is true if the vault is about to be created. Throws an AutomateError (`credential`) if there is no passphrase. */
  get(isNew: boolean): Promise<string>;
  /** Forgets a typed passphrase that did not open the vault. Returns false if the user has not typed one. */
  forget(): boolean;
  /** True if a variable contains the passphrase or its file's path. The user is then not asked. */
  isGiven(): boolean;
  /** The source of the passphrase, for messages. */
  source(): string;
}

/** Number of wrong passphrases after which a command fails. */
const maxTries = 3;

/** Keeps all secrets in one file, encrypted with a key derived from a passphrase. */
export class Vault implements SecretBackend {
  readonly name = 'vault';
  readonly path: string;
  readonly #file: StateFile<VaultFile>;
  readonly #passphrase: Passphrase;
  /** Keyed by salt, and kept in memory because deriving a key takes 0.25 s. */
  readonly #keys = new Map<string, Promise<Buffer>>();
  #wrongTries = 0;

  constructor(path: string, passphrase: Passphrase) {
    this.path = path;
    this.#file = createStateFile(path, isVaultFile);
    this.#passphrase = passphrase;
  }

  async problem(): Promise<string | undefined> {
    const problem = this.#passphrase.problem();
    if (problem !== undefined || !this.#passphrase.isGiven()) return problem;
    try {
      await this.#passphrase.get(false);
      await this.#decrypt(this.#file.read());
      return undefined;
    } catch (error) {
      if (error instanceof AutomateError) return error.message;
      throw error;
    }
  }

  async unlock(): Promise<void> {
    const found = this.#file.read();
    await (found ? this.#decrypt(found) : this.#passphrase.get(true));
  }

  async read(accounts: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const secrets = await this.#decrypt(this.#file.read());
    return new Map([...secrets].filter(([account]) => accounts.includes(account)));
  }

  async write(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    const found = this.#file.read();
    const secrets = await this.#decrypt(found);
    for (const [account, secret] of changes) {
      if (secret === undefined) secrets.delete(account);
      else secrets.set(account, secret);
    }
    const kdf = found?.kdf ?? newKdf();
    await this.#file.write(encryptSecrets(secrets, kdf, await this.#key(kdf, found === undefined)));
  }

  async #decrypt(found: VaultFile | undefined): Promise<Map<string, string>> {
    if (!found) return new Map();
    for (;;) {
      const secrets = decryptSecrets(found, await this.#key(found.kdf, false));
      if (secrets) return secrets;
      this.#wrongTries += 1;
      if (this.#wrongTries >= maxTries || !this.#passphrase.forget()) throw this.#cannotBeOpened();
      this.#keys.delete(found.kdf.salt);
    }
  }

  #key(kdf: Kdf, isNew: boolean): Promise<Buffer> {
    return entryOf(this.#keys, kdf.salt, () => this.#passphrase.get(isNew).then((text) => deriveKey(text, kdf)));
  }

  #cannotBeOpened(): AutomateError {
    const reason = `the vault ${this.path} cannot be opened: the passphrase is wrong, or the file was changed`;
    return new AutomateError('credential', `${reason}\ncheck ${this.#passphrase.source()}`);
  }
}

/** The secrets are encrypted with AES-256-GCM, and binary fields are Base64 text. */
interface VaultFile {
  readonly version: 1;
  readonly kdf: Kdf;
  readonly iv: string;
  readonly tag: string;
  readonly data: string;
}

/** The parameters of scrypt (RFC 7914). */
interface Kdf {
  readonly name: 'scrypt';
  readonly n: number;
  readonly r: number;
  readonly p: number;
  readonly salt: string;
}

/** Uses a random salt. Deriving a key takes 128 MB of memory and 0.25 s. */
function newKdf(): Kdf {
  return { name: 'scrypt', n: 2 ** 17, r: 8, p: 1, salt: randomBytes(16).toString('base64') };
}

/** Normalizes the passphrase, so that an accented letter may be typed as one character or as two. */
function deriveKey(passphrase: string, { n, r, p, salt }: Kdf): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFKC'), Buffer.from(salt, 'base64'), 32, { N: n, r, p, maxmem: 256 * n * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

/** Uses a new random nonce. */
function encryptSecrets(secrets: ReadonlyMap<string, string>, kdf: Kdf, key: Buffer): VaultFile {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: 16 });
  cipher.setAAD(clearFields({ version: 1, kdf }));
  const data = Buffer.concat([cipher.update(JSON.stringify([...secrets])), cipher.final()]);
  const base64 = { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data: data.toString('base64') };
  return { version: 1, kdf, ...base64 };
}

/** Undefined if the key is wrong or the file has been changed. */
function decryptSecrets(vault: VaultFile, key: Buffer): Map<string, string> | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(vault.iv, 'base64'), { authTagLength: 16 });
  decipher.setAAD(clearFields(vault));
  decipher.setAuthTag(Buffer.from(vault.tag, 'base64'));
  const bytes = orUndefined(() => Buffer.concat([decipher.update(Buffer.from(vault.data, 'base64')), decipher.final()]));
  return bytes && new Map(JSON.parse(bytes.toString()) as [string, string][]);
}

/** These unencrypted fields are authenticated with the secrets, so that a change to them is detected. */
function clearFields({ version, kdf: { name, n, r, p, salt } }: Pick<VaultFile, 'version' | 'kdf'>): Buffer {
  return Buffer.from(JSON.stringify([version, name, n, r, p, salt]));
}

/** A manipulated vault file could otherwise exhaust memory or make the key easy to guess. */
const bounds = { n: [2 ** 14, 2 ** 18], r: [8, 16], p: [1, 4] } as const;

/** True if this version can read the vault. */
function isVaultFile(found: unknown): found is VaultFile {
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

const variable = 'AUTOMATE_VAULT_PASSPHRASE';

const noPassphrase = `there is no passphrase\nset ${variable}, or ${variable}_FILE to the name of a file that contains it`;

/**
 * The passphrase is in a variable or a file, or the user types it. `ask` is undefined without a terminal. `warn` is called if other users
 * can read the passphrase's file.
 */
export function createPassphrase(
  environment: NodeJS.ProcessEnv,
  ask?: (isNew: boolean, isAgain: boolean) => Promise<string>,
  warn?: (text: string) => void,
): Passphrase {
  let typed: Promise<string> | undefined;
  let isAgain = false;
  let isWarned = false;
  const isGiven = () => Boolean(environment[variable] || environment[`${variable}_FILE`]);
  return {
    isGiven,
    source() {
      if (environment[variable]) return variable;
      return isGiven() ? `the file in ${variable}_FILE` : 'what was typed';
    },
    problem: () => (isGiven() || ask ? undefined : noPassphrase),
    async get(isNew) {
      const given = environment[variable];
      if (given) return checkedSecret(given, variable);
      const file = environment[`${variable}_FILE`];
      if (file) {
        const mode = modeOthersCanRead(file);
        if (mode !== undefined && !isWarned)
          warn?.(`other users can read ${file}, which contains the vault's passphrase (mode ${mode})\nchange that: chmod 600 ${file}`);
        isWarned = true;
        return readSecretFile(file, `${variable}_FILE`);
      }
      if (!ask) throw new AutomateError('credential', `the vault cannot be opened: ${noPassphrase}`);
      typed ??= ask(isNew, isAgain);
      return typed;
    },
    forget() {
      if (!typed) return false;
      typed = undefined;
      isAgain = true;
      return true;
    },
  };
}
