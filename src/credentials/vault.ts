import { AutomateError } from '../core/failure.ts';
import { createStateFile, type StateFile } from '../files/state-file.ts';
import type { SecretBackend } from './backend.ts';
import { decryptSecrets, deriveKey, encryptSecrets, isVaultFile, type Kdf, newKdf, type VaultFile } from './vault-file.ts';

/** The source of the vault's passphrase, which is an environment variable, a file or the user. */
export interface Passphrase {
  /** Returns the reason why there is no passphrase; undefined if there is one or if the user can be asked for it. */
  problem(): string | undefined;
  /**
   * Resolves to the passphrase. `isNew` is true if the vault is about to be created. Throws an AutomateError (`credential`) if there is no
   * passphrase.
   */
  get(isNew: boolean): Promise<string>;
  /** Forgets a passphrase that the user typed and that did not open the vault. Returns false if the user has not typed one. */
  forget(): boolean;
  /** Returns true if a variable contains the passphrase or the path of its file. The user is then not asked for it. */
  isGiven(): boolean;
  /** Returns a description of where the passphrase came from, for messages. */
  source(): string;
}

/** Number of wrong passphrases after which a command fails. */
const maxTries = 3;

/** A store that keeps all secrets in one file, which is encrypted with a key derived from a passphrase. */
export class Vault implements SecretBackend {
  readonly name = 'vault';
  readonly #file: StateFile<VaultFile>;
  readonly #passphrase: Passphrase;
  /** Encryption keys, keyed by the salt that they were derived with. They are kept in memory, because deriving a key takes 0.25 s. */
  readonly #keys = new Map<string, Promise<Buffer>>();
  #wrongTries = 0;

  constructor(path: string, passphrase: Passphrase) {
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
    const known = this.#keys.get(kdf.salt);
    if (known) return known;
    const key = this.#passphrase.get(isNew).then((text) => deriveKey(text, kdf));
    this.#keys.set(kdf.salt, key);
    return key;
  }

  #cannotBeOpened(): AutomateError {
    const reason = `the vault ${this.#file.path} cannot be opened: the passphrase is wrong, or the file was changed`;
    return new AutomateError('credential', `${reason}\ncheck ${this.#passphrase.source()}`);
  }
}
