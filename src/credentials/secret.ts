import type { CodedMessage, CredentialRemedy, ErrorDetails } from '../core/error-code.ts';
import { Failure } from '../core/failure.ts';
import { defaultEnv } from '../core/run-options.ts';
import { orUndefined } from '../core/value/value.ts';
import type { BackendName } from './backend.ts';

export interface Secret {
  readonly text: string;
  /** For messages: the name of a variable, `the keychain`, `the vault` or `its command`. */
  readonly from: string;
  /** Undefined for the default environment and for a secret from a variable. */
  readonly env?: string;
  /** In ISO 8601; also part of the name that the secret is stored under. Undefined if the secret is from a variable. */
  readonly setAt?: string;
  /** In ISO 8601; undefined if the secret does not expire. */
  readonly expiresAt?: string;
  /** The previous secret is still stored until a request with this one succeeds. */
  readonly hasPrevious?: boolean;
  /** The hosts that the secret may be sent to; undefined for any host. */
  readonly hosts?: readonly string[];
}

export type Finding = { readonly secret: Secret } | { readonly command: StoredCommand } | { readonly problem: CodedMessage };

/** Settings without the secret. All times are in ISO 8601. */
export interface StoredCredential {
  readonly name: string;
  /** Credentials of different environments may have the same name. */
  readonly env: string;
  readonly backend: BackendName;
  readonly setAt: string;
  readonly expiresAt?: string;
  readonly hosts?: readonly string[];
  readonly lastUsedAt?: string;
  /** The previous secret is kept until a request with the current one has succeeded. */
  readonly previous?: { readonly setAt: string; readonly expiresAt?: string; readonly hosts?: readonly string[] };
  /** The command line that prints the secret, if the secret itself is not stored. Then only the previous secret can be stored. */
  readonly command?: string;
  /** Time in ms until the command is run again for a new secret. If undefined, only a 401 makes it run again. */
  readonly forMs?: number;
}

export type StoredCommand = StoredCredential & { readonly command: string };

export function isCommand(credential: StoredCredential | undefined): credential is StoredCommand {
  return credential?.command !== undefined;
}

/** True if the keychain or vault has a current or previous secret. */
export function isInBackend(credential: StoredCredential): boolean {
  return !isCommand(credential) || credential.previous !== undefined;
}

/** Contains the time when the secret was set, so that a new secret never overwrites an older one. */
export function accountOf({ env, name, setAt }: Pick<StoredCredential, 'env' | 'name' | 'setAt'>): string {
  return `${env}/${name} ${setAt}`;
}

/**
 * The secret with and without outer spaces, which HTTP removes, and the password alone if the secret is `username:password`. For a document,
 * also its secret members, and its key without the first and last line and without line breaks.
 */
export function textsToMask(secret: string): string[] {
  if (/-----BEGIN [^-]*-----/.test(secret) && !/^\s*\{/.test(secret)) return [secret, secret.trim(), ...keyTexts(secret)];
  const members = /^\s*\{/.test(secret) ? secretMembers(secret) : [];
  if (members.length > 0) return [secret, secret.trim(), ...members.flatMap(textsToMask)];
  const password = secret.includes(':') ? secret.slice(secret.indexOf(':') + 1) : secret;
  return [secret, secret.trim(), password, password.trim()];
}

function keyTexts(pem: string): string[] {
  return [...pem.replaceAll('\\n', '\n').matchAll(/-----BEGIN [^-]*-----(.*?)-----END/gs)].flatMap(([, text = '']) => {
    const key = text.replace(/^[\w-]+:.*$/gm, '').trim();
    return [key, key.replace(/\s+/g, '')];
  });
}

/** The members of a JSON key file that no output may contain. Ids, addresses and URLs are public. */
function secretMembers(text: string): string[] {
  const found = orUndefined(() => JSON.parse(text) as unknown);
  return Object.entries(Object(found) as object).flatMap(([name, value]) =>
    typeof value === 'string' && /(?:key|secret|token|password|passphrase)$/i.test(name) && !/^public/i.test(name) ? [value] : [],
  );
}

/** The end of a message, which lists the other environments with the same credential; empty if there are none. */
export function elsewhereText(envs: readonly string[]): string {
  if (envs.length === 0) return '';
  return `; it is stored for the environment${envs.length === 1 ? '' : 's'} ${envs.join(', ')}`;
}

export function credentialProblem(
  credential: string,
  message: string,
  facts: Omit<ErrorDetails['credential'], 'credential'> = {},
): CodedMessage {
  return { message, code: 'credential', details: { credential, ...facts } };
}

/** `text` is undefined if the backend does not have the secret. */
export function toFinding({ name, env, backend, setAt, expiresAt, hosts, previous }: StoredCredential, text: string | undefined): Finding {
  if (text === undefined) return { problem: unusable(name, `the ${backend} no longer has the credential "${name}"`, 'renew', env) };
  const limits = { ...(expiresAt && { expiresAt }), ...(hosts && { hosts }), ...(env !== defaultEnv && { env }) };
  return { secret: { text, from: `the ${backend}`, setAt, hasPrevious: previous !== undefined, ...limits } };
}

export function expiredProblem({ name, env, expiresAt = '' }: StoredCredential): CodedMessage {
  return unusable(name, `the credential "${name}" expired on ${expiresAt.slice(0, 10)}`, 'renew', env);
}

export function unopenedProblem({ name, backend }: StoredCredential, { message }: Error): CodedMessage {
  return unusable(name, `the credential "${name}" is in the ${backend}: ${message}`, 'open');
}

function unusable(name: string, message: string, remedy: CredentialRemedy, env?: string): CodedMessage {
  return credentialProblem(name, message, { remedy, env, takesVariable: true });
}

/** `hosts` are written as `api.example.com` (any port), `api.example.com:8443` or `*.example.com`. */
export function isAllowedHost(origin: string, hosts: readonly string[] | undefined): boolean {
  if (hosts === undefined) return true;
  const { protocol, hostname, port } = new URL(origin);
  const here = port || (protocol === 'https:' ? '443' : '80');
  return hosts.some((allowed) => {
    const [, name = '', only = here] = /^(.*?)(?::(\d+))?$/.exec(allowed) ?? [];
    return only === here && (name.startsWith('*.') ? hostname.endsWith(name.slice(1)) : hostname === name);
  });
}

export function hostRefusal(credential: string, { hosts = [] }: Pick<Secret, 'hosts'>, origin: string): string {
  return `the credential "${credential}" can be sent only to ${hosts.join(', ')}, not to ${new URL(origin).host}`;
}

/** Throws a Failure if the secret may not be sent to the origin. No flow, record or connection can lift this restriction. */
export function refuseOtherHost(credential: string, secret: Pick<Secret, 'hosts'> | undefined, origin: string): void {
  if (secret && !isAllowedHost(origin, secret.hosts))
    throw new Failure('request', hostRefusal(credential, secret, origin), { sent: false });
}

const dayMs = 86_400_000;

/** A secret that expires in fewer days causes a warning. */
const warnedDays = 14;

/** Undefined if the secret does not expire soon or has already expired. */
export function expiryWarning(name: string, expiresAt: string | undefined, nowMs: number): string | undefined {
  if (expiresAt === undefined) return undefined;
  const left = (Date.parse(expiresAt) - nowMs) / dayMs;
  if (left >= warnedDays || left <= 0) return undefined;
  const days = Math.round(left);
  const when = left < 1 ? 'within a day' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  return `the credential "${name}" expires ${when} (${expiresAt.slice(0, 10)})`;
}
