import type { CodedMessage, CredentialRemedy } from '../core/error-code.ts';
import { AutomateError } from '../core/failure.ts';
import { defaultEnv } from '../core/run-options.ts';
import { type BackendName, backendNames, orRefusal, type SecretBackend } from './backend.ts';
import type { Catalog } from './catalog.ts';
import { findInEnvironment } from './environment.ts';
import { accountOf, credentialProblem, type Finding, isCommand, type StoredCredential } from './secret.ts';

export interface CredentialContext {
  readonly env: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Opens the list on the first call. */
  catalog(): Catalog;
  backend(name: BackendName): SecretBackend;
  wallNow(): number;
}

/** Looks in variables and files, then in the keychain and the vault, each at most once. Returns a command without running it. */
export async function findSecrets(names: readonly string[], context: CredentialContext): Promise<ReadonlyMap<string, Finding>> {
  const found = await findInEnvironment(names, context.environment);
  const rest = names.filter((name) => !found.has(name));
  if (rest.length === 0) return found;
  const stored = rest.flatMap((name) => context.catalog().find(name, context.env) ?? []);
  for (const credential of stored) {
    if (isExpired(credential, context)) found.set(credential.name, { problem: expired(credential) });
    else if (isCommand(credential)) found.set(credential.name, { command: credential });
  }
  for (const name of backendNames) {
    const wanted = stored.filter((credential) => credential.backend === name && !found.has(credential.name));
    if (wanted.length > 0) await readInto(found, context.backend(name), wanted);
  }
  return found;
}

async function readInto(found: Map<string, Finding>, backend: SecretBackend, wanted: readonly StoredCredential[]): Promise<void> {
  const secrets = await orRefusal(backend.read(wanted.map(accountOf)));
  for (const credential of wanted) {
    const { name } = credential;
    if (secrets instanceof AutomateError)
      found.set(name, { problem: unusable(name, `the credential "${name}" is in the ${backend.name}: ${secrets.message}`, 'open') });
    else found.set(name, toFinding(credential, secrets.get(accountOf(credential))));
  }
}

function toFinding({ name, env, backend, setAt, expiresAt, hosts, previous }: StoredCredential, text: string | undefined): Finding {
  if (text === undefined) return { problem: unusable(name, `the ${backend} no longer has the credential "${name}"`, 'renew', env) };
  const limits = { expiresAt, hosts, env: env === defaultEnv ? undefined : env };
  return { secret: { text, from: `the ${backend}`, setAt, hasPrevious: previous !== undefined, ...limits } };
}

function isExpired({ expiresAt }: StoredCredential, { wallNow }: CredentialContext): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= wallNow();
}

function expired({ name, env, expiresAt = '' }: StoredCredential): CodedMessage {
  const message = `the credential "${name}" expired on ${expiresAt.slice(0, 10)}`;
  return unusable(name, message, 'renew', env);
}

function unusable(name: string, message: string, remedy: CredentialRemedy, env?: string): CodedMessage {
  return credentialProblem(name, message, { remedy, env, takesVariable: true });
}
