import type { CodedMessage, ErrorDetails } from '../core/error-code.ts';
import type { BackendName } from './backend.ts';

/** A credential's secret, with its source and restrictions. */
export interface Secret {
  readonly text: string;
  /** The source of the secret, for messages. This is the name of a variable, `the keychain`, `the vault` or `its command`. */
  readonly from: string;
  /** The environment that the secret belongs to. It is undefined for the default environment and for a secret from a variable. */
  readonly env?: string;
  /**
   * The time when the secret was set (ISO 8601). It is also part of the name that the secret is stored under. Undefined if the secret is
   * from a variable.
   */
  readonly setAt?: string;
  /** The time when the secret expires (ISO 8601); undefined if it does not expire. */
  readonly expiresAt?: string;
  /** True if the previous secret is still stored. The previous secret is deleted when a request with this secret succeeds. */
  readonly hasPrevious?: boolean;
  /** The hosts that the secret may be sent to; undefined if it may be sent to any host. */
  readonly hosts?: readonly string[];
}

/** The result of looking up a credential. It is the secret, the command that prints the secret, or the problem that was found. */
export type Finding = { readonly secret: Secret } | { readonly command: StoredCommand } | { readonly problem: CodedMessage };

/** A stored credential's name and settings, without the secret. All times are in ISO 8601. */
export interface StoredCredential {
  readonly name: string;
  /** The environment that the credential belongs to. Credentials of different environments may have the same name. */
  readonly env: string;
  readonly backend: BackendName;
  readonly setAt: string;
  readonly expiresAt?: string;
  readonly hosts?: readonly string[];
  readonly lastUsedAt?: string;
  /** The settings of the previous secret, which is kept until a request with the current one has succeeded. */
  readonly previous?: { readonly setAt: string; readonly expiresAt?: string; readonly hosts?: readonly string[] };
  /**
   * The command line that prints the secret. It is undefined if the secret itself is stored. If there is a command, the only stored secret
   * is the previous one, if any.
   */
  readonly command?: string;
  /** Time in ms until the command is run again for a new secret. If undefined, only a 401 makes it run again. */
  readonly forMs?: number;
}

/** A credential whose secret is printed by a command. */
export type StoredCommand = StoredCredential & { readonly command: string };

/** True if a command prints the credential's secret. */
export function isCommand(credential: StoredCredential | undefined): credential is StoredCommand {
  return credential?.command !== undefined;
}

/** True if the credential has a current or previous secret in the keychain or vault. */
export function isInBackend(credential: StoredCredential): boolean {
  return !isCommand(credential) || credential.previous !== undefined;
}

/**
 * Returns the name that a secret is stored under. It contains the time when the secret was set, so that a new secret never overwrites an
 * older one.
 */
export function accountOf({ env, name, setAt }: Pick<StoredCredential, 'env' | 'name' | 'setAt'>): string {
  return `${env}/${name} ${setAt}`;
}

/**
 * Returns the texts to mask for a secret: the secret with and without leading and trailing spaces, which HTTP removes. If the secret is
 * `username:password`, also the password alone.
 */
export function textsToMask(secret: string): string[] {
  const password = secret.includes(':') ? secret.slice(secret.indexOf(':') + 1) : secret;
  return [secret, secret.trim(), password, password.trim()];
}

/** Returns the end of a message, which lists the other environments that have the same credential. It is empty if there are none. */
export function elsewhereText(envs: readonly string[]): string {
  if (envs.length === 0) return '';
  return `; it is stored for the environment${envs.length === 1 ? '' : 's'} ${envs.join(', ')}`;
}

/** Creates the error message for a problem with a credential, with the error code and details. */
export function credentialProblem(
  credential: string,
  message: string,
  facts: Omit<ErrorDetails['credential'], 'credential'> = {},
): CodedMessage {
  return { message, code: 'credential', details: { credential, ...facts } };
}

/**
 * Returns true if a secret may be sent to the origin. `hosts` contains the allowed hosts as `api.example.com` (any port),
 * `api.example.com:8443` or `*.example.com`.
 */
export function isAllowedHost(origin: string, hosts: readonly string[] | undefined): boolean {
  if (hosts === undefined) return true;
  const { protocol, hostname, port } = new URL(origin);
  const here = port || (protocol === 'https:' ? '443' : '80');
  return hosts.some((allowed) => {
    const [, name = '', only = here] = /^(.*?)(?::(\d+))?$/.exec(allowed) ?? [];
    return only === here && (name.startsWith('*.') ? hostname.endsWith(name.slice(1)) : hostname === name);
  });
}

/** Returns the error message if a secret may not be sent to the origin because of its allowed hosts. */
export function hostRefusal(credential: string, { hosts = [] }: Pick<Secret, 'hosts'>, origin: string): string {
  return `the credential "${credential}" can be sent only to ${hosts.join(', ')}, not to ${new URL(origin).host}`;
}

const dayMs = 86_400_000;

/** A warning is shown if a secret expires in fewer than this many days. */
const warnedDays = 14;

/** Returns a warning if a secret expires soon. Otherwise, or if the secret has already expired, returns undefined. */
export function expiryWarning(name: string, expiresAt: string | undefined, nowMs: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  const left = (Date.parse(expiresAt) - nowMs) / dayMs;
  if (left >= warnedDays || left <= 0) return undefined;
  const days = Math.round(left);
  const when = left < 1 ? 'within a day' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  return `the credential "${name}" expires ${when} (${expiresAt.slice(0, 10)})`;
}
