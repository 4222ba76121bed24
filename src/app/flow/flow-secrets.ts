import type { CodedMessage, LoginPlace } from '../../core/error-code.ts';
import { AutomateError, errorOf, FlowError, LimitReached, type Problem } from '../../core/failure.ts';
import type { CredentialUse, Plan } from '../../core/plan.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import type { CommandSecrets } from '../../io/credentials/command-secrets.ts';
import { credentialVariable, findInEnvironment, variableText, variableWith } from '../../io/credentials/environment.ts';
import {
  credentialProblem,
  defaultEnv,
  elsewhereText,
  expiryWarning,
  type Finding,
  hostRefusal,
  isAllowedHost,
  type Secret,
  type StoredCommand,
} from '../../io/credentials/secret.ts';
import { envOf } from '../env.ts';
import type { Messages } from '../messages.ts';
import type { CredentialStore } from '../ports/credential-store.ts';

/** The secrets of a flow. */
export interface FlowSecrets {
  /** By credential name, without those that commands give. */
  readonly secrets: ReadonlyMap<string, Secret>;
  /** The secrets that commands give; undefined if there is no command. */
  readonly commands: CommandSecrets | undefined;
  /** The place of each login, by credential name. */
  readonly logins: ReadonlyMap<string, LoginPlace>;
  /** The backends that were opened; undefined if variables hold all secrets. */
  readonly store: CredentialStore | undefined;
  /** Records that a request signed with this credential has succeeded. */
  used(credential: string): void;
  /** The credentials that have a previous secret and have not succeeded in this run. */
  unproven(): readonly string[];
  /** Resolves once every use is recorded. */
  usesRecorded(): Promise<void>;
}

/** The secrets of a flow that sends nothing. */
export const noSecrets: FlowSecrets = {
  secrets: new Map(),
  commands: undefined,
  logins: new Map(),
  store: undefined,
  used: () => {},
  unproven: () => [],
  usesRecorded: async () => {},
};

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

/** Loads the secrets of some uses, as `loadSecrets` does. Runs no command. */
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
    const problem = problemOfUse(use, finding, { store, login: logins.get(use.name) });
    if (problem) addOnce(problems, problemAt(use, problem));
  }
  if (problems.length > 0) throw new FlowError(file, problems, 'credential');
  const waiting = [...commands].map(([name, command]) => [name, { ...command, hasPrevious: command.previous !== undefined }] as const);
  const all = new Map<string, Expiring>([...secrets, ...waiting]);
  warnOfExpiries(all, messages);
  const given = commands.size === 0 ? undefined : await commandSecrets([...commands.values()], uses, messages);
  return { ...recordUses(all, store, messages), secrets, commands: given, logins };
}

/** The parts of a secret that are known before its command is run. */
type Expiring = Pick<Secret, 'setAt' | 'expiresAt' | 'hasPrevious'>;

/** The secrets of commands, which are masked as soon as they come. */
async function commandSecrets(
  commands: readonly StoredCommand[],
  uses: readonly CredentialUse[],
  messages: Messages,
): Promise<CommandSecrets> {
  const { secretCommandsOf } = await import('../ports/secret-commands.ts');
  const pairs = new Set(uses.flatMap(({ name, isPair }) => (isPair ? [name] : [])));
  return secretCommandsOf(commands, {
    hide: (secret) => hide(secret, messages),
    problem: (name, secret) => (pairs.has(name) && !secret.includes(':') ? pairExpected : undefined),
    lend: messages.lendTerminal,
  });
}

/** Runs one command for its secret. Throws an AutomateError (`credential`). */
export async function secretOfCommand(command: StoredCommand, messages: Messages): Promise<Secret> {
  try {
    const found = await (await commandSecrets([command], [], messages)).find([command.name]);
    return found.get(command.name) as Secret;
  } catch (error) {
    throw error instanceof LimitReached ? errorOf('credential', error) : error;
  }
}

/** The place of each login that the uses are of. `file`: of the flow. */
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

/** Masks a secret, also without spaces at both ends, which HTTP removes. For `username:password`, also masks the password by itself. */
export function hide(secret: string, { redactor }: Messages): void {
  const password = secret.includes(':') ? secret.slice(secret.indexOf(':') + 1) : secret;
  for (const text of [secret, secret.trim(), password, password.trim()]) redactor.add(text);
}

/** Warns of secrets that expire soon. */
export function warnOfExpiries(secrets: ReadonlyMap<string, Pick<Secret, 'expiresAt'>>, { warn }: Messages): void {
  for (const [name, secret] of secrets) {
    const warning = expiryWarning(name, secret.expiresAt, Date.now());
    if (warning !== undefined) warn(warning);
  }
}

function problemAt(use: CredentialUse, { message, code, details }: CodedMessage): Problem {
  return { ...use.problem(message), code, details };
}

/** Nodes of one connection have the same problem at the same place. */
function addOnce(problems: Problem[], problem: Problem): void {
  const { message, line, column } = problem;
  if (!problems.some((one) => one.message === message && one.line === line && one.column === column)) problems.push(problem);
}

const pairExpected =
  'expected username:password, found no ":"\nor name the user in the flow: auth: { type: basic, username: NAME, credential: NAME }';

interface UseContext {
  readonly store: CredentialStore | undefined;
  /** Undefined for a credential that is no login. */
  readonly login: LoginPlace | undefined;
}

function problemOfUse(use: CredentialUse, finding: Finding | undefined, { store, login }: UseContext): CodedMessage | undefined {
  if (finding === undefined) return login ? missingLogin(use.name, login, store) : missingCredential(use.name, store);
  if ('problem' in finding) return finding.problem;
  const found = 'secret' in finding ? finding.secret : finding.command;
  if ('secret' in finding && use.isPair && !finding.secret.text.includes(':')) return credentialProblem(use.name, pairExpected);
  if ('command' in finding && login)
    return credentialProblem(use.name, `the credential "${use.name}" is a command: a login, which renews itself, needs one of its own`);
  const refused = use.origins.find((origin) => !isAllowedHost(origin, found.hosts));
  if (refused === undefined) return undefined;
  const refusal = hostRefusal(use.name, found, refused);
  if (login) return loginProblem(`${refusal}, which the connection "${login.connection}" asks`, login);
  return credentialProblem(use.name, refusal, { remedy: 'other-hosts', env: found.env });
}

function isGiven(name: string): boolean {
  return variableWith(name, process.env) !== undefined;
}

/** True if a variable of the credential is set, also to nothing. */
function isSet(name: string): boolean {
  const variable = credentialVariable(name);
  return [variable, `${variable}_FILE`].some((candidate) => process.env[candidate] !== undefined);
}

function offlineProblem(name: string): CodedMessage {
  const message = `the credential "${name}" is in no variable; keychain and vault were not opened`;
  return credentialProblem(name, `${message}\na run needs it: ${variableText(name)}`);
}

function loginProblem(message: string, details: LoginPlace): CodedMessage {
  return { message, code: 'login-needed', details };
}

/** The problem of a connection for which nobody has logged in. */
function missingLogin(name: string, login: LoginPlace, store: CredentialStore | undefined): CodedMessage {
  const elsewhere = (store?.list() ?? []).filter((other) => other.name === name).map((other) => other.env);
  const message = `there is no credential "${name}": nobody has logged in for the connection "${login.connection}" yet`;
  return loginProblem(message + elsewhereText(elsewhere), login);
}

/** The problem of a missing credential, with similar names. */
export function missingCredential(name: string, store: CredentialStore | undefined): CodedMessage {
  const variable = credentialVariable(name);
  const empty = [variable, `${variable}_FILE`].find((candidate) => process.env[candidate] === '');
  if (empty !== undefined)
    return credentialProblem(name, `the credential "${name}" is empty: ${empty} is set to nothing`, { takesVariable: true });
  const env = store?.env;
  const where = env === undefined || env === defaultEnv ? '' : ` for the environment ${env}`;
  const stored = store?.list() ?? [];
  const elsewhere = stored.filter((other) => other.name === name).map((other) => other.env);
  const names = stored.filter((other) => other.env === env).map((other) => other.name);
  const message = `there is no credential "${name}"${where}${elsewhereText(elsewhere) || didYouMean(name, names)}`;
  return credentialProblem(name, message, { remedy: 'store', env, elsewhere, takesVariable: true });
}

/** Records the uses of secrets during the run. Only warns if that fails. */
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
