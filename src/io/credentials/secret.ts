import type { CodedMessage, ErrorDetails } from '../../core/error-code.ts';
import type { BackendName } from './backend.ts';

/** A secret that was found. */
export interface Secret {
  readonly text: string;
  /** Its source in words: an environment variable, the keychain or the vault. */
  readonly from: string;
  /** The environment it is stored for; absent for the default one, and for a secret from a variable. */
  readonly env?: string;
  /** Time at which it was stored (ISO 8601). Part of its account's name; absent for a secret from a variable. */
  readonly setAt?: string;
  /** ISO 8601; absent if it does not expire. */
  readonly expiresAt?: string;
  /** True while the previous secret is stored as well, because this secret has not succeeded yet. */
  readonly hasPrevious?: boolean;
  /** The only hosts that the secret may be sent to; absent for any host. */
  readonly hosts?: readonly string[];
}

/** Result of a lookup. The secret of a command is not known before it is run. */
export type Finding = { readonly secret: Secret } | { readonly command: StoredCommand } | { readonly problem: CodedMessage };

/** A stored credential without its secret. Times are in ISO 8601. */
export interface StoredCredential {
  readonly name: string;
  /** The environment it belongs to. The same name may have a secret in each. */
  readonly env: string;
  readonly backend: BackendName;
  readonly setAt: string;
  readonly expiresAt?: string;
  readonly hosts?: readonly string[];
  readonly lastUsedAt?: string;
  /** The previous secret, stored until this one has succeeded. */
  readonly previous?: { readonly setAt: string; readonly expiresAt?: string; readonly hosts?: readonly string[] };
  /** The command line that gives the secret; absent if the backend stores it. With a command, the backend has the previous secret alone. */
  readonly command?: string;
  /** The time after which the command is run again; absent for never. */
  readonly forMs?: number;
}

/** A credential whose secret a command gives. */
export type StoredCommand = StoredCredential & { readonly command: string };

/** True for a credential whose secret a command gives. */
export function isCommand(credential: StoredCredential | undefined): credential is StoredCommand {
  return credential?.command !== undefined;
}

/** True if the backend of a credential stores something of it. */
export function isInBackend(credential: StoredCredential): boolean {
  return !isCommand(credential) || credential.previous !== undefined;
}

/** Name of a secret inside its backend. The time makes it unique, so a new secret never overwrites an older secret. */
export function accountOf({ env, name, setAt }: Pick<StoredCredential, 'env' | 'name' | 'setAt'>): string {
  return `${env}/${name} ${setAt}`;
}

/** The default environment. */
export const defaultEnv = 'default';

/** The environments that have a credential, if the chosen one does not; empty for none. */
export function elsewhereText(envs: readonly string[]): string {
  if (envs.length === 0) return '';
  return `; it is stored for the environment${envs.length === 1 ? '' : 's'} ${envs.join(', ')}`;
}

/** A problem with a credential. */
export function credentialProblem(
  credential: string,
  message: string,
  facts: Omit<ErrorDetails['credential'], 'credential'> = {},
): CodedMessage {
  return { message, code: 'credential', details: { credential, ...facts } };
}

/** True if a secret may be sent to the origin. Hosts are written `api.example.com` (any port), `api.example.com:8443` or `*.example.com`. */
export function isAllowedHost(origin: string, hosts: readonly string[] | undefined): boolean {
  if (hosts === undefined) return true;
  const { protocol, hostname, port } = new URL(origin);
  const here = port || (protocol === 'https:' ? '443' : '80');
  return hosts.some((allowed) => {
    const [, name = '', only = here] = /^(.*?)(?::(\d+))?$/.exec(allowed) ?? [];
    return only === here && (name.startsWith('*.') ? hostname.endsWith(name.slice(1)) : hostname === name);
  });
}

/** Message for a secret that must not be sent to the origin. */
export function hostRefusal(credential: string, { hosts = [] }: Pick<Secret, 'hosts'>, origin: string): string {
  return `the credential "${credential}" may be sent to ${hosts.join(', ')} only, not to ${new URL(origin).host}`;
}

const dayMs = 86_400_000;

/** Days before the expiry in which the warning is shown. */
const warnedDays = 14;

/** Warning that a secret will expire soon; absent while there is time. */
export function expiryWarning(name: string, expiresAt: string | undefined, nowMs: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  const left = (Date.parse(expiresAt) - nowMs) / dayMs;
  if (left >= warnedDays || left <= 0) return undefined;
  const days = Math.round(left);
  const when = left < 1 ? 'within a day' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  return `the credential "${name}" expires ${when} (${expiresAt.slice(0, 10)})`;
}
