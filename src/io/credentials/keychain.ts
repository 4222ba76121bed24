import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { AutomateError } from '../../core/failure.ts';
import type { SecretBackend } from './backend.ts';

/** What the keychain's process is told on stdin, on one line; nothing secret is among its arguments. */
export interface KeychainRequest extends KeychainTask {
  readonly service: string;
}

interface KeychainTask {
  readonly read?: readonly string[];
  /** `null` takes a secret away. */
  readonly write?: readonly (readonly [account: string, secret: string | null])[];
}

/** What it answers on stdout. */
export type KeychainAnswer = { readonly found: readonly (readonly [account: string, secret: string])[] } | { readonly error: string };

/** What the keychain is reached with. */
export interface KeychainOptions {
  /** Keeps the secrets of one home apart from another's. */
  readonly service: string;
  readonly environment: NodeJS.ProcessEnv;
  /** How long it may take: with a person there, a window may ask for a password. */
  readonly patienceMs: number;
}

const probe = 'probe';

/** Makes the keeper that is the operating system's keychain: the Secret Service on Linux, the Keychain on macOS, the Credential Manager on Windows. */
export function createKeychain(options: KeychainOptions): SecretBackend {
  return {
    name: 'keychain',
    async problem() {
      for (const secret of [probe, null]) {
        const answer = await answerOf({ write: [[probe, secret]] }, options);
        if ('error' in answer) return keychainReason(answer.error);
      }
      return undefined;
    },
    read: async (accounts) => new Map(await ask({ read: accounts })),
    async write(changes) {
      await ask({ write: [...changes].map(([account, secret]) => [account, secret ?? null] as const) });
    },
  };

  async function ask(request: KeychainTask): Promise<readonly (readonly [string, string])[]> {
    const answer = await answerOf(request, options);
    if ('error' in answer) throw new AutomateError('credential', `the keychain cannot be used: ${keychainReason(answer.error)}`);
    return answer.found;
  }
}

async function answerOf(task: KeychainTask, { service, environment, patienceMs }: KeychainOptions): Promise<KeychainAnswer> {
  const helper = fileURLToPath(new URL('keychain-process.js', import.meta.url));
  const child = spawn(process.execPath, [helper], { stdio: ['pipe', 'pipe', 'ignore'], env: withoutOurs(environment) });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, patienceMs);
  child.stdin.on('error', () => {});
  // Not ended: by its end the other process knows that this one is gone.
  child.stdin.write(`${JSON.stringify({ service, ...task } satisfies KeychainRequest)}\n`);
  try {
    const failed = new Promise<never>((_, reject) => child.on('error', reject));
    return JSON.parse(await Promise.race([text(child.stdout), failed])) as KeychainAnswer;
  } catch {
    return { error: isLate ? `no answer within ${patienceMs / 1000} s` : 'its library cannot be loaded here' };
  } finally {
    clearTimeout(timer);
  }
}

/** Our own variables may hold secrets, and the keychain needs none of them. */
function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('AUTOMATE_')));
}

/** The library's words for what happens most. */
function keychainReason(message: string): string {
  if (/DBUS_SESSION_BUS_ADDRESS|DBus error|dbus|D-Bus/i.test(message)) return 'no session bus (D-Bus) here, as under cron or over ssh';
  if (/no result found/i.test(message)) return 'it has no collection to keep secrets in: log in at the desktop, or unlock it once';
  if (/dismissed|locked/i.test(message)) return 'it is locked';
  return message.replace(/^(?:Platform failure|Couldn't access platform storage): /, '');
}
