// This file runs as a separate process, because a call to the keychain may never return and cannot be cancelled.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { AsyncEntry } from '@napi-rs/keyring';
import type { KeychainAnswer, KeychainRequest } from './keychain.ts';

/** On Linux, uses the Secret Service. The library's default is the kernel's keyring, which loses its content when the machine restarts. */
const options = { linux: { store: 'secret-service' } } as const;

if (isMainThread) waitForRequest();
else parentPort?.postMessage(await answerTo(workerData as KeychainRequest));

/** Uses a worker thread, because a keychain call blocks its thread. Kills this process when stdin ends, because the parent has ended. */
function waitForRequest(): void {
  let request = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    request += chunk;
    if (request.endsWith('\n')) new Worker(new URL(import.meta.url), { workerData: JSON.parse(request) }).on('message', writeAnswer);
  });
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL'));
}

function writeAnswer(answer: KeychainAnswer): void {
  process.stdout.write(JSON.stringify(answer), () => process.exit());
}

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
