import { createCipheriv, randomBytes, scryptSync } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { type Workplace, workplace } from './cli.ts';

/** The passphrase of all vaults in tests. */
export const passphrase = 'correct horse battery staple';

/** The content of a vault file. */
// biome-ignore lint/suspicious/noExplicitAny: that is what tests do to it
export type VaultFile = any;

const kdf = { name: 'scrypt', n: 2 ** 14, r: 8, p: 1, salt: randomBytes(16).toString('base64') };
const key = scryptSync(passphrase, Buffer.from(kdf.salt, 'base64'), 32, { N: kdf.n, r: kdf.r, p: kdf.p });

/** Creates a vault whose key can be derived quickly. It stays that way when the tool writes to it. */
export function lightVault(secrets: readonly (readonly [account: string, secret: string])[] = []): VaultFile {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(JSON.stringify([1, ...Object.values(kdf)])));
  const data = Buffer.concat([cipher.update(JSON.stringify(secrets)), cipher.final()]).toString('base64');
  return { version: 1, kdf: { ...kdf }, iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data };
}

/** Creates a workplace with a vault from `lightVault`. `env`: the variables that unlock it. */
export async function vaultPlace(files: Record<string, string> = {}): Promise<Workplace & { readonly env: Record<string, string> }> {
  const place = await workplace(files);
  await mkdir(place.path('.automate'));
  await place.write('.automate/vault.json', JSON.stringify(lightVault()));
  return { ...place, env: { AUTOMATE_VAULT_PASSPHRASE: passphrase } };
}
