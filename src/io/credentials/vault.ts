import { AutomateError } from '../../core/failure.ts';
import { createStateFile, type StateFile } from '../files/state-file.ts';
import type { SecretBackend } from './backend.ts';
import { decryptSecrets, deriveKey, encryptSecrets, isVaultFile, type Kdf, newKdf, type VaultFile } from './vault-file.ts';

/** Source of the vault's passphrase: a variable, a file, or the user. */
export interface Passphrase {
  /** The reason for which there is no passphrase; absent if there is a passphrase, or a user to ask. */
  problem(): string | undefined;
  /** `isNew`: for a vault that is about to be created. Throws an AutomateError (`credential`). */
  get(isNew: boolean): Promise<string>;
  /** Forgets a passphrase that did not open the vault. False if there is no user to ask for another passphrase. */
  forget(): boolean;
  /** True if the passphrase is known without asking the user. */
  isGiven(): boolean;
  /** Its source in words, for messages. */
  source(): string;
}

/** Number of wrong passphrases that a user may type. */
const maxTries = 3;

/** A backend that is one file, encrypted with a key made from a passphrase. */
export class Vault implements SecretBackend {
  readonly name = 'vault';
  readonly #file: StateFile<VaultFile>;
  readonly #passphrase: Passphrase;
  /** By salt. Deriving a key takes a quarter of a second, so each is made once. */
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
