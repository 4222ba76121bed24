// This file runs as a separate process, because a call to the keychain may never return and cannot be cancelled.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { AsyncEntry } from '@napi-rs/keyring';
import type { KeychainAnswer, KeychainRequest } from './keychain.ts';

/**
 * Makes the library use the Secret Service on Linux. By default, it would use the kernel's keyring, which loses its content when the
 * machine restarts.
 */
const options = { linux: { store: 'secret-service' } } as const;

if (isMainThread) waitForRequest();
else parentPort?.postMessage(await answerTo(workerData as KeychainRequest));

/**
 * Waits for a request on stdin and handles it in a worker thread, because a call to the keychain blocks its thread. When stdin ends, the
 * parent process has ended, so this process kills itself.
 */
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
