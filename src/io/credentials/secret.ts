import type { BackendName } from './backend.ts';

/** A secret that was found. */
export interface Secret {
  readonly text: string;
  /** An environment variable, a keychain or a vault, in words. */
  readonly from: string;
  /** The environment it is kept for; absent for that of those who name none, and for one from a variable. */
  readonly env?: string;
  /** When it was kept, which tells it from others of its name; absent for one from the environment. */
  readonly setAt?: string;
  /** ISO 8601; absent when it does not expire. */
  readonly expiresAt?: string;
  /** Whether the secret before it is still kept, because this one has not succeeded yet. */
  readonly hasPrevious?: boolean;
  /** The only hosts that it may be sent to; absent for all that a flow names. */
  readonly hosts?: readonly string[];
}

/** What came of a look-up. */
export type Finding = { readonly secret: Secret } | { readonly problem: string };

/** What is known of a kept credential, and never the secret itself. Times are in ISO 8601. */
export interface StoredCredential {
  readonly name: string;
  /** Keeps secrets of the same name apart. */
  readonly env: string;
  readonly backend: BackendName;
  readonly setAt: string;
  readonly expiresAt?: string;
  readonly hosts?: readonly string[];
  readonly lastUsedAt?: string;
  /** The one before it, kept until this one has succeeded. */
  readonly previous?: { readonly setAt: string; readonly expiresAt?: string; readonly hosts?: readonly string[] };
}

/** Name of a secret inside its backend. The time makes it unique, so a new secret never overwrites an old one. */
export function accountOf({ env, name, setAt }: Pick<StoredCredential, 'env' | 'name' | 'setAt'>): string {
  return `${env}/${name} ${setAt}`;
}

/** The environment of those who name none. */
export const defaultEnv = 'default';

/** How a command line says the environment: ` --env staging`; nothing for that of those who name none. */
export function envOption(env: string = defaultEnv): string {
  return env === defaultEnv ? '' : ` --env ${env}`;
}

/** Whether a secret may be sent to a host: `api.example.com` at any port, `api.example.com:8443` or `*.example.com`. */
export function isAllowedHost(origin: string, hosts: readonly string[] | undefined): boolean {
  if (hosts === undefined) return true;
  const { protocol, hostname, port } = new URL(origin);
  const here = port || (protocol === 'https:' ? '443' : '80');
  return hosts.some((allowed) => {
    const [, name = '', only = here] = /^(.*?)(?::(\d+))?$/.exec(allowed) ?? [];
    return only === here && (name.startsWith('*.') ? hostname.endsWith(name.slice(1)) : hostname === name);
  });
}

/** Why a secret is not sent to a host. */
export function hostRefusal(credential: string, { hosts = [] }: Pick<Secret, 'hosts'>, origin: string): string {
  return `the credential "${credential}" may be sent to ${hosts.join(', ')} only, not to ${new URL(origin).host}`;
}

const dayMs = 86_400_000;

/** So long before its end a secret is warned of. */
const warnedDays = 14;

/** That a secret will expire soon; absent while there is time. */
export function expiryWarning(name: string, expiresAt: string | undefined, nowMs: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  const left = (Date.parse(expiresAt) - nowMs) / dayMs;
  if (left >= warnedDays || left <= 0) return undefined;
  const days = Math.round(left);
  const when = left < 1 ? 'within a day' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  return `the credential "${name}" expires ${when} (${expiresAt.slice(0, 10)})`;
}

/** What to do where a secret is refused to a host. */
export function hostsHint(credential: string, env: string | undefined): string {
  return `set it again with other --hosts if that is meant: automate credentials set ${credential}${envOption(env)}`;
}
