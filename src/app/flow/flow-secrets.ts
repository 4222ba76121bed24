import { AutomateError, FlowError, type Problem } from '../../core/failure.ts';
import type { CredentialUse, Plan } from '../../core/plan.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { credentialVariable, findInEnvironment, variableWith } from '../../io/credentials/environment.ts';
import {
  envOption,
  expiryWarning,
  type Finding,
  hostRefusal,
  hostsHint,
  isAllowedHost,
  type Secret,
  type StoredCredential,
} from '../../io/credentials/secret.ts';
import { envOf } from '../env.ts';
import type { Messages } from '../messages.ts';
import type { CredentialStore } from '../ports/credential-store.ts';

/** The secrets of a flow. */
export interface FlowSecrets {
  /** By credential name. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Records that a request signed with this credential has succeeded. */
  used(credential: string): void;
  /** Commands that restore the previous secrets of credentials that have not succeeded in this run. */
  restoreCommands(): readonly string[];
  /** Resolves once every use is recorded. */
  usesRecorded(): Promise<void>;
}

/** The secrets of a flow that sends nothing. */
export const noSecrets: FlowSecrets = { secrets: new Map(), used: () => {}, restoreCommands: () => [], usesRecorded: async () => {} };

/** The environment whose secrets are used. */
export interface SecretsOptions {
  /** Absent for AUTOMATE_ENV. */
  readonly env?: string | undefined;
  /** Takes a warning for each credential that is in no variable. Without it, keychain and vault are opened, and such a credential is a problem. */
  readonly offline?: ((problem: Problem) => void) | undefined;
}

/**
 * Loads the secrets of a flow, and masks them from now on. Throws a FlowError (`credential`) that names all secrets that are missing,
 * have expired, or are not allowed for their host.
 */
export function loadSecrets(plan: Plan, file: string, options: SecretsOptions, messages: Messages): Promise<FlowSecrets> {
  return loadSecretsOf(plan.credentials, file, options, messages);
}

/** Loads the secrets of some uses, as `loadSecrets` does. */
export async function loadSecretsOf(
  uses: readonly CredentialUse[],
  file: string,
  options: SecretsOptions,
  messages: Messages,
): Promise<FlowSecrets> {
  envOf(options.env);
  const names = [...new Set(uses.map(({ name }) => name))];
  if (names.length === 0) return noSecrets;
  // If variables hold all of them, no backend is opened.
  const store =
    options.offline || names.every(isGiven)
      ? undefined
      : (await import('../ports/credential-store.ts')).openCredentials(options.env, messages);
  const found = await (store ? store.find(names) : findInEnvironment(names, process.env));
  const secrets = new Map<string, Secret>();
  const problems: Problem[] = [];
  for (const use of uses) {
    const finding = found.get(use.name);
    if (finding && 'secret' in finding) {
      secrets.set(use.name, finding.secret);
      hide(finding.secret.text, messages);
    }
    if (options.offline && !isSet(use.name)) {
      options.offline(use.problem(offlineText(use.name)));
      continue;
    }
    const problem = useProblem(use, finding, store);
    if (problem !== undefined) problems.push(use.problem(problem));
  }
  if (problems.length > 0) throw new FlowError(file, problems, 'credential');
  warnOfExpiries(secrets, messages);
  return recordUses(secrets, store, messages);
}

/** Masks a secret, also without spaces at both ends, which HTTP removes. For `username:password`, also masks the password by itself. */
export function hide(secret: string, { redactor }: Messages): void {
  const password = secret.includes(':') ? secret.slice(secret.indexOf(':') + 1) : secret;
  for (const text of [secret, secret.trim(), password, password.trim()]) redactor.add(text);
}

/** Warns of secrets that expire soon. */
export function warnOfExpiries(secrets: ReadonlyMap<string, Secret>, { warn }: Messages): void {
  for (const [name, secret] of secrets) {
    const warning = expiryWarning(name, secret.expiresAt, Date.now());
    if (warning !== undefined) warn(warning);
  }
}

const pairExpected =
  'expected username:password, found no ":"\nor name the user in the flow: auth: { type: basic, username: NAME, credential: NAME }';

function useProblem(use: CredentialUse, finding: Finding | undefined, store: CredentialStore | undefined): string | undefined {
  if (finding === undefined) return missingText(use.name, store);
  if ('problem' in finding) {
    if (isGiven(use.name)) return finding.problem;
    // A problem may offer a way out itself.
    return `${finding.problem}\n${finding.problem.includes('\n') ? 'or ' : ''}${variablesOf(use.name)}`;
  }
  const { secret } = finding;
  if (use.isPair && !secret.text.includes(':')) return pairExpected;
  const refused = use.origins.find((origin) => !isAllowedHost(origin, secret.hosts));
  return refused === undefined ? undefined : `${hostRefusal(use.name, secret, refused)}\n${hostsHint(use.name, secret.env)}`;
}

function isGiven(name: string): boolean {
  return variableWith(name, process.env) !== undefined;
}

/** True if a variable of the credential is set, also to nothing. */
function isSet(name: string): boolean {
  const variable = credentialVariable(name);
  return [variable, `${variable}_FILE`].some((candidate) => process.env[candidate] !== undefined);
}

function offlineText(name: string): string {
  return `the credential "${name}" is in no variable; --offline looks nowhere else\na run needs it: ${variablesOf(name)}`;
}

/** The message for a missing credential: similar names, and the ways out. */
export function missingText(name: string, store: CredentialStore | undefined): string {
  const variable = credentialVariable(name);
  const empty = [variable, `${variable}_FILE`].find((candidate) => process.env[candidate] === '');
  if (empty !== undefined) return `the credential "${name}" is empty: ${empty} is set to nothing\n${variablesOf(name)}`;
  const env = envOption(store?.env);
  const hint = store ? similarText(name, store.list(), store.env) : '';
  const what = `there is no credential "${name}"${env && ` for${env}`}${hint}`;
  return `${what}\nstore it: automate credentials set ${shellWord(name)}${env}\nor ${variablesOf(name)}`;
}

function similarText(name: string, stored: readonly StoredCredential[], env: string): string {
  const elsewhere = stored.filter((other) => other.name === name).map((other) => other.env);
  if (elsewhere.length > 0) return `; it is stored for --env ${elsewhere.join(' and --env ')}`;
  return didYouMean(
    name,
    stored.filter((other) => other.env === env).map((other) => other.name),
  );
}

/** The way out that always works. */
function variablesOf(name: string): string {
  const variable = credentialVariable(name);
  return `set ${variable}, or ${variable}_FILE to the name of a file that holds it`;
}

/** Records the uses of secrets during the run. Only warns if that fails. */
function recordUses(secrets: ReadonlyMap<string, Secret>, store: CredentialStore | undefined, { warn }: Messages): FlowSecrets {
  const uses = new Map<string, Promise<void>>();
  return {
    secrets,
    used(name) {
      if (uses.has(name)) return;
      const { setAt } = secrets.get(name) as Secret;
      uses.set(name, setAt === undefined || !store ? Promise.resolve() : store.used(name, setAt).catch(warnUnrecorded));
    },
    restoreCommands() {
      const unproven = [...secrets].filter(([name, { hasPrevious }]) => hasPrevious && !uses.has(name));
      return unproven.map(([name]) => `automate credentials restore ${name}${envOption(store?.env)}`);
    },
    usesRecorded: async () => void (await Promise.all(uses.values())),
  };

  function warnUnrecorded(error: unknown): void {
    if (!(error instanceof AutomateError)) throw error;
    warn(`the use of a credential was not recorded: ${error.message}`);
  }
}
