import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { AutomateError } from '../core/failure.ts';
import type { SecretBackend } from './backend.ts';
import { withoutOwnVariables } from './environment.ts';

/** Sent to the separate keychain process on its stdin as one line of JSON, because other users can see command-line arguments. */
export interface KeychainRequest extends KeychainTask {
  readonly service: string;
}

interface KeychainTask {
  readonly read?: readonly string[];
  /** A secret of `null` deletes the stored one. */
  readonly write?: readonly (readonly [account: string, secret: string | null])[];
}

/** The separate keychain process writes this as JSON to its stdout. */
export type KeychainAnswer = { readonly found: readonly (readonly [account: string, secret: string])[] } | { readonly error: string };

interface KeychainOptions {
  /** Each home folder of automate has a different service name in the keychain. */
  readonly service: string;
  readonly environment: NodeJS.ProcessEnv;
  /** The keychain may meanwhile ask the user for a password. */
  readonly timeoutMs: number;
}

const probe = 'probe';

/** The Secret Service on Linux, the Keychain on macOS and the Credential Manager on Windows. */
export function createKeychain(options: KeychainOptions): SecretBackend {
  return {
    name: 'keychain',
    async problem() {
      for (const secret of [probe, null]) {
        const answer = await requestAnswer({ write: [[probe, secret]] }, options);
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
    const answer = await requestAnswer(request, options);
    if ('error' in answer) throw new AutomateError('credential', `the keychain cannot be used: ${keychainReason(answer.error)}`);
    return answer.found;
  }
}

async function requestAnswer(task: KeychainTask, { service, environment, timeoutMs }: KeychainOptions): Promise<KeychainAnswer> {
  const helper = fileURLToPath(new URL('keychain-process.js', import.meta.url));
  const child = spawn(process.execPath, [helper], { stdio: ['pipe', 'pipe', 'ignore'], env: withoutOwnVariables(environment) });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  child.stdin.on('error', () => {});
  // stdin stays open, because closing it would tell the other process that this process has ended.
  child.stdin.write(`${JSON.stringify({ service, ...task } satisfies KeychainRequest)}\n`);
  try {
    const failed = new Promise<never>((_, reject) => child.on('error', reject));
    return JSON.parse(await Promise.race([text(child.stdout), failed])) as KeychainAnswer;
  } catch {
    return { error: isLate ? `no answer within ${timeoutMs / 1000} s` : 'its library cannot be loaded here' };
  } finally {
    clearTimeout(timer);
  }
}

/** Explains common errors of the keychain library. Other messages only lose their prefix. */
function keychainReason(message: string): string {
  if (/DBUS_SESSION_BUS_ADDRESS|DBus error|dbus|D-Bus/i.test(message)) return 'no session bus (D-Bus) here, as under cron or over ssh';
  if (/no result found/i.test(message)) return 'it has no collection for secrets: log in at the desktop, or unlock it once';
  if (/dismissed|locked/i.test(message)) return 'it is locked';
  return message.replace(/^(?:Platform failure|Couldn't access platform storage): /, '');
}
