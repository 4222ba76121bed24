import { AutomateError, FlowError, type Problem } from '../../core/failure.ts';
import type { CredentialUse, Plan } from '../../core/plan.ts';
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
import type { CredentialStore } from '../credentials/credential-store.ts';
import { envOf } from '../env.ts';
import { shellWord } from '../show/text.ts';
import type { Terminal } from '../terminal.ts';

/** The secrets of a flow. */
export interface FlowSecrets {
  /** By credential name. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** A request that this credential signed has succeeded. */
  used(credential: string): void;
  /** How to go back to the secrets before those that were set anew and have not succeeded in this run. */
  restoreCommands(): readonly string[];
  /** Resolves when every use is noted down. */
  noted(): Promise<void>;
}

/** For flows that send nothing. */
export const noSecrets: FlowSecrets = { secrets: new Map(), used: () => {}, restoreCommands: () => [], noted: async () => {} };

/** Where the secrets of a flow are looked up. */
export interface SecretsOptions {
  /** The environment that was asked for; absent for that of AUTOMATE_ENV. */
  readonly env?: string;
}

/**
 * The secrets that a flow needs. From now on they are never printed.
 * Throws a FlowError (`credential`) that names all that are missing, have expired, or would go where they must not.
 */
export function loadSecrets(plan: Plan, file: string, options: SecretsOptions, terminal: Terminal): Promise<FlowSecrets> {
  return loadSecretsOf(plan.credentials, file, options, terminal);
}

/** The secrets of some places that need them. */
export async function loadSecretsOf(
  uses: readonly CredentialUse[],
  file: string,
  options: SecretsOptions,
  terminal: Terminal,
): Promise<FlowSecrets> {
  envOf(options.env);
  const names = [...new Set(uses.map(({ name }) => name))];
  if (names.length === 0) return noSecrets;
  // Where variables hold all of them, nothing else is looked at.
  const store = names.every(isGiven)
    ? undefined
    : (await import('../credentials/credential-store.ts')).openCredentials(options.env, terminal);
  const found = await (store ? store.find(names) : findInEnvironment(names, process.env));
  const secrets = new Map<string, Secret>();
  const problems: Problem[] = [];
  for (const use of uses) {
    const finding = found.get(use.name);
    if (finding && 'secret' in finding) {
      secrets.set(use.name, finding.secret);
      hide(finding.secret.text, terminal);
    }
    const problem = problemOf(use, finding, store);
    if (problem !== undefined) problems.push(use.problem(problem));
  }
  if (problems.length > 0) throw new FlowError(file, problems, 'credential');
  warnOfExpiries(secrets, terminal);
  return noting(secrets, store, terminal);
}

/** A basic secret is `username:password`, and the password alone is as secret. HTTP takes blanks away at both ends. */
export function hide(secret: string, { redactor }: Terminal): void {
  const password = secret.includes(':') ? secret.slice(secret.indexOf(':') + 1) : secret;
  for (const text of [secret, secret.trim(), password, password.trim()]) redactor.add(text);
}

/** Says which secrets will expire soon. */
export function warnOfExpiries(secrets: ReadonlyMap<string, Secret>, { warn }: Terminal): void {
  for (const [name, secret] of secrets) {
    const warning = expiryWarning(name, secret.expiresAt, Date.now());
    if (warning !== undefined) warn(warning);
  }
}

const noPair =
  'expected username:password, found no ":"\nor name the user in the flow: auth: { type: basic, username: NAME, credential: NAME }';

function problemOf(use: CredentialUse, finding: Finding | undefined, store: CredentialStore | undefined): string | undefined {
  if (finding === undefined) return missing(use.name, store);
  if ('problem' in finding) {
    if (isGiven(use.name)) return finding.problem;
    // The way out is told behind another one, or alone.
    return `${finding.problem}\n${finding.problem.includes('\n') ? 'or ' : ''}${variablesOf(use.name)}`;
  }
  const { secret } = finding;
  if (use.isPair && !secret.text.includes(':')) return noPair;
  const refused = use.origins.find((origin) => !isAllowedHost(origin, secret.hosts));
  return refused === undefined ? undefined : `${hostRefusal(use.name, secret, refused)}\n${hostsHint(use.name, secret.env)}`;
}

function isGiven(name: string): boolean {
  return variableWith(name, process.env) !== undefined;
}

/** That nobody has a credential, what may be meant, and the ways out. */
export function missing(name: string, store: CredentialStore | undefined): string {
  const variable = credentialVariable(name);
  const empty = [variable, `${variable}_FILE`].find((candidate) => process.env[candidate] === '');
  if (empty !== undefined) return `the credential "${name}" is empty: ${empty} is set to nothing\n${variablesOf(name)}`;
  const env = envOption(store?.env);
  const hint = store ? nearOf(name, store.list(), store.env) : '';
  const what = `there is no credential "${name}"${env && ` for${env}`}${hint}`;
  return `${what}\nkeep it: automate credentials set ${shellWord(name)}${env}\nor ${variablesOf(name)}`;
}

function nearOf(name: string, kept: readonly StoredCredential[], env: string): string {
  const elsewhere = kept.filter((other) => other.name === name).map((other) => other.env);
  if (elsewhere.length > 0) return `; it is kept for --env ${elsewhere.join(' and --env ')}`;
  return didYouMean(
    name,
    kept.filter((other) => other.env === env).map((other) => other.name),
  );
}

/** The way out that is always there. */
function variablesOf(name: string): string {
  const variable = credentialVariable(name);
  return `set ${variable}, or ${variable}_FILE to the name of a file that holds it`;
}

/** What was used is noted down beside the run; when that fails, the run is none the worse. */
function noting(secrets: ReadonlyMap<string, Secret>, store: CredentialStore | undefined, { warn }: Terminal): FlowSecrets {
  const notes = new Map<string, Promise<void>>();
  return {
    secrets,
    used(name) {
      if (notes.has(name)) return;
      const { setAt } = secrets.get(name) as Secret;
      notes.set(name, setAt === undefined || !store ? Promise.resolve() : store.used(name, setAt).catch(unnoted));
    },
    restoreCommands() {
      const unproven = [...secrets].filter(([name, { hasPrevious }]) => hasPrevious && !notes.has(name));
      return unproven.map(([name]) => `automate credentials restore ${name}${envOption(store?.env)}`);
    },
    noted: async () => void (await Promise.all(notes.values())),
  };

  function unnoted(error: unknown): void {
    if (!(error instanceof AutomateError)) throw error;
    warn(`the use of a credential was not noted down: ${error.message}`);
  }
}
