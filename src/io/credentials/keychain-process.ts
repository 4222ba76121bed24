// Runs in a process of its own: a call to the keychain cannot be given up, and it may wait for ever.
import { text } from 'node:stream/consumers';
import { AsyncEntry } from '@napi-rs/keyring';
import type { KeychainAnswer, KeychainRequest } from './keychain.ts';

/** Without it, keys that a restart of the machine loses are taken on Linux. */
const options = { linux: { store: 'secret-service' } } as const;

process.stdout.write(JSON.stringify(await answerTo(JSON.parse(await text(process.stdin)) as KeychainRequest)), () => process.exit());

async function answerTo({ service, read = [], write = [] }: KeychainRequest): Promise<KeychainAnswer> {
  try {
    const found: [string, string][] = [];
    for (const account of read) {
      const secret = await new AsyncEntry(service, account, options).getPassword();
      if (secret !== null) found.push([account, secret]);
    }
    for (const [account, secret] of write) {
      const entry = new AsyncEntry(service, account, options);
      if (secret === null) await entry.deletePassword();
      else await entry.setPassword(secret);
    }
    return { found };
  } catch (error) {
    return { error: (error as Error).message };
  }
}
