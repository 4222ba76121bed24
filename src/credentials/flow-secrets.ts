import type { CodedMessage, LoginPlace } from '../core/error-code.ts';
import { AutomateError, errorOf, FlowError, LimitReached, type Problem } from '../core/failure.ts';
import type { CredentialUse, Plan } from '../core/plan.ts';
import { defaultEnv } from '../core/run-options.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { envOf } from '../files/home.ts';
import { orRefusal } from './backend.ts';
import type { CommandSecrets } from './command-secrets.ts';
import type { CredentialStore } from './credential-store.ts';
import { credentialVariable, findInEnvironment, variableText, variableWith } from './environment.ts';
import type { Messages } from './messages.ts';
import type { Redactor } from './redact.ts';
import {
  credentialProblem,
  elsewhereText,
  expiryWarning,
  type Finding,
  hostRefusal,
  isAllowedHost,
  type Secret,
  type StoredCommand,
  textsToMask,
} from './secret.ts';

export interface FlowSecrets {
  /** Secrets by credential name, except those that commands print. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** Undefined if no credential has a command. */
  readonly commands: CommandSecrets | undefined;
  /** The logins that provide credentials, keyed by credential name. */
  readonly logins: ReadonlyMap<string, LoginPlace>;
  /** Undefined if it was not needed, because environment variables contain all secrets. */
  readonly store: CredentialStore | undefined;
  /** Must be called when a request signed with this credential has succeeded. */
  used(credential: string): void;
  /** Returns the credentials whose secret has replaced a previous one and has not been accepted yet in this run. */
  unproven(): readonly string[];
  /** Resolves when every use of a credential has been recorded. */
  usesRecorded(): Promise<void>;
}

/** For a flow that sends no requests. */
export const noSecrets: FlowSecrets = {
  secrets: new Map(),
  commands: undefined,
  logins: new Map(),
  store: undefined,
  used: () => {},
  unproven: () => [],
  usesRecorded: async () => {},
};

export interface SecretsOptions {
  /** Undefined to use AUTOMATE_ENV. */
  readonly env?: string;
  /**
   * If set, the keychain and the vault stay closed, and this function receives a warning for each credential that is not in a variable. If
   * undefined, both are opened, and a missing credential is a problem.
   */
  readonly offline?: (problem: Problem) => void;
}

/** Masks the secrets. Throws a FlowError (`credential`) that lists all that are missing, expired or not allowed for the host. */
export function loadSecrets(plan: Plan, file: string, options: SecretsOptions, messages: Messages): Promise<FlowSecrets> {
  return loadSecretsOf(plan.credentials, file, options, messages);
}

/**
 * Masks the secrets that can be read without asking anybody: in variables and their files, and in the vault if a variable gives its
 * passphrase. The keychain stays closed, because it can open a dialog. Unreadable secrets are ignored.
 */
export async function hideReadableSecrets({ credentials }: Plan, env: string | undefined, messages: Messages): Promise<void> {
  const names = [...new Set(credentials.map(({ name }) => name))];
  const found = await findInEnvironment(names, process.env);
  const others = names.filter((name) => !found.has(name));
  const stored = others.length === 0 ? undefined : await orRefusal(findInVault(others, env, messages.redactor));
  for (const finding of [...found.values(), ...(stored instanceof Map ? stored.values() : [])]) {
    if ('secret' in finding) hide(finding.secret.text, messages);
  }
}

/** Does not ask the user for the vault's passphrase. */
async function findInVault(names: readonly string[], env: string | undefined, redactor: Redactor): Promise<ReadonlyMap<string, Finding>> {
  const store = (await import('./credential-store.ts')).openCredentials(env, { redactor });
  const inVault = store.list().filter((stored) => stored.backend === 'vault' && stored.env === store.env);
  return store.find(inVault.flatMap(({ name }) => (names.includes(name) ? [name] : [])));
}

/** Works as `loadSecrets` does. Commands that print secrets are not run yet. */
export async function loadSecretsOf(
  uses: readonly CredentialUse[],
  file: string,
  options: SecretsOptions,
  messages: Messages,
): Promise<FlowSecrets> {
  envOf(options.env);
  const names = [...new Set(uses.map(({ name }) => name))];
  if (names.length === 0) return noSecrets;
  // If environment variables contain all secrets, neither the keychain nor the vault is opened.
  const store =
    options.offline || names.every((name) => variableWith(name, process.env) !== undefined)
      ? undefined
      : (await import('./credential-store.ts')).openCredentials(options.env, messages);
  const found = await (store ? store.find(names) : findInEnvironment(names, process.env));
  const secrets = new Map<string, Secret>();
  const commands = new Map<string, StoredCommand>();
  const logins = loginPlaces(uses, file, options);
  const problems: Problem[] = [];
  for (const use of uses) {
    const finding = found.get(use.name);
    if (finding && 'secret' in finding) {
      secrets.set(use.name, finding.secret);
      hide(finding.secret.text, messages);
    }
    if (finding && 'command' in finding) commands.set(use.name, finding.command);
    if (options.offline && !isSet(use.name)) {
      options.offline(problemAt(use, offlineProblem(use.name)));
      continue;
    }
    const problem = problemOfUse(use, finding, store, logins.get(use.name));
    if (problem) addOnce(problems, problemAt(use, problem));
  }
  if (problems.length > 0) throw new FlowError(file, problems, 'credential');
  const waiting = [...commands].map(([name, command]) => [name, { ...command, hasPrevious: command.previous !== undefined }] as const);
  const all = new Map<string, Expiring>([...secrets, ...waiting]);
  warnOfExpiries(all, messages);
  const given = commands.size === 0 ? undefined : await commandSecrets([...commands.values()], uses, messages);
  return { ...recordUses(all, store, messages), secrets, commands: given, logins };
}

/** The facts about a command's secret before the command runs. */
type Expiring = Pick<Secret, 'setAt' | 'expiresAt' | 'hasPrevious'>;

/** Each secret is masked as soon as its command has printed it. */
async function commandSecrets(
  commands: readonly StoredCommand[],
  uses: readonly CredentialUse[],
  messages: Messages,
): Promise<CommandSecrets> {
  const { secretCommandsOf } = await import('./command-secrets.ts');
  const pairs = new Set(uses.flatMap(({ name, isPair }) => (isPair ? [name] : [])));
  return secretCommandsOf(commands, {
    hide: (secret) => hide(secret, messages),
    problem: (name, secret) => (pairs.has(name) && !secret.includes(':') ? pairExpected : undefined),
    lend: messages.lendTerminal,
  });
}

/** Throws an AutomateError (`credential`) if the command fails. */
export async function secretOfCommand(command: StoredCommand, messages: Messages): Promise<Secret> {
  try {
    const found = await (await commandSecrets([command], [], messages)).find([command.name]);
    return found.get(command.name) as Secret;
  } catch (error) {
    throw error instanceof LimitReached ? errorOf('credential', error) : error;
  }
}

/** `file` is the path of the flow. */
function loginPlaces(uses: readonly CredentialUse[], file: string, { env: chosen }: SecretsOptions): ReadonlyMap<string, LoginPlace> {
  const env = envOf(chosen);
  return new Map(
    uses.flatMap(({ name, login }) => {
      if (!login) return [];
      const { name: connection, isSaved } = login.connection;
      return [[name, { connection, ...(!isSaved && { flow: file }), ...(env !== defaultEnv && { env }) }] as const];
    }),
  );
}

/** If the secret is `username:password`, also masks the password alone. */
export function hide(secret: string, { redactor }: Messages): void {
  for (const text of textsToMask(secret)) redactor.add(text);
}

function warnOfExpiries(secrets: ReadonlyMap<string, Pick<Secret, 'expiresAt'>>, { warn }: Messages): void {
  for (const [name, secret] of secrets) {
    const warning = expiryWarning(name, secret.expiresAt, Date.now());
    if (warning !== undefined) warn(warning);
  }
}

function problemAt(use: CredentialUse, { message, code, details }: CodedMessage): Problem {
  return { ...use.problem(message), code, details };
}

/** Adds a problem unless it is already listed. Nodes that share a connection report the same problem at the same position. */
function addOnce(problems: Problem[], problem: Problem): void {
  const { message, line, column } = problem;
  if (!problems.some((one) => one.message === message && one.line === line && one.column === column)) problems.push(problem);
}

const pairExpected = 'expected username:password, found no ":"\nor write the user name into auth, as in username: ada';

function problemOfUse(
  use: CredentialUse,
  finding: Finding | undefined,
  store: CredentialStore | undefined,
  login: LoginPlace | undefined,
): CodedMessage | undefined {
  if (finding === undefined) return login ? missingLogin(use.name, login, store) : missingCredential(use.name, store);
  if ('problem' in finding) return finding.problem;
  const found = 'secret' in finding ? finding.secret : finding.command;
  if ('secret' in finding && use.isPair && !finding.secret.text.includes(':')) return credentialProblem(use.name, pairExpected);
  if ('command' in finding && login)
    return credentialProblem(
      use.name,
      `the credential "${use.name}" gets its secret from a command, but automate has to renew the login: use a different credential`,
    );
  const refused = use.origins.find((origin) => !isAllowedHost(origin, found.hosts));
  if (refused === undefined) return undefined;
  const refusal = hostRefusal(use.name, found, refused);
  if (login) return loginProblem(`${refusal}, where the connection "${login.connection}" gets its tokens`, login);
  return credentialProblem(use.name, refusal, { remedy: 'other-hosts', env: found.env });
}

/** Also true if the variable is empty. */
function isSet(name: string): boolean {
  const variable = credentialVariable(name);
  return [variable, `${variable}_FILE`].some((candidate) => process.env[candidate] !== undefined);
}

function offlineProblem(name: string): CodedMessage {
  const message = `the credential "${name}" is not in an environment variable; the keychain and the vault were not opened`;
  return credentialProblem(name, `${message}\na run needs it: ${variableText(name)}`);
}

function loginProblem(message: string, details: LoginPlace): CodedMessage {
  return { message, code: 'login-needed', details };
}

/** Returns the problem of a connection whose login has not been done yet. */
function missingLogin(name: string, login: LoginPlace, store: CredentialStore | undefined): CodedMessage {
  const elsewhere = (store?.list() ?? []).filter((other) => other.name === name).map((other) => other.env);
  const message = `there is no credential "${name}": you have not logged in to the connection "${login.connection}" yet`;
  return loginProblem(message + elsewhereText(elsewhere), login);
}

/** Suggests similar names. */
export function missingCredential(name: string, store: CredentialStore | undefined): CodedMessage {
  const variable = credentialVariable(name);
  const empty = [variable, `${variable}_FILE`].find((candidate) => process.env[candidate] === '');
  if (empty !== undefined)
    return credentialProblem(name, `the credential "${name}" is empty: ${empty} is set, but empty`, { takesVariable: true });
  const env = store?.env;
  const where = env === undefined || env === defaultEnv ? '' : ` for the environment ${env}`;
  const stored = store?.list() ?? [];
  const elsewhere = stored.filter((other) => other.name === name).map((other) => other.env);
  const names = stored.filter((other) => other.env === env).map((other) => other.name);
  const message = `there is no credential "${name}"${where}${elsewhereText(elsewhere) || didYouMean(name, names)}`;
  return credentialProblem(name, message, { remedy: 'store', env, elsewhere, takesVariable: true });
}

/** Only warns if the uses cannot be recorded. */
function recordUses(
  secrets: ReadonlyMap<string, Expiring>,
  store: CredentialStore | undefined,
  { warn }: Messages,
): Omit<FlowSecrets, 'logins' | 'secrets' | 'commands'> {
  const uses = new Map<string, Promise<void>>();
  return {
    store,
    used(name) {
      const found = secrets.get(name);
      if (!found || uses.has(name)) return;
      const { setAt } = found;
      uses.set(name, setAt === undefined || !store ? Promise.resolve() : store.used(name, setAt).catch(warnUnrecorded));
    },
    unproven: () => [...secrets].flatMap(([name, { hasPrevious }]) => (hasPrevious && !uses.has(name) ? [name] : [])),
    usesRecorded: async () => void (await Promise.all(uses.values())),
  };

  function warnUnrecorded(error: unknown): void {
    if (!(error instanceof AutomateError)) throw error;
    warn(`the use of a credential was not recorded: ${error.message}`);
  }
}
