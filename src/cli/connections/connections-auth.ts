import { authProblem, connectionAuth, neededCredentials, placedAuths } from '../../core/auth/auth.ts';
import { type AuthPart, type AuthType, optionValue, originOf } from '../../core/auth/auth-type.ts';
import { authTypes, loginTypes } from '../../core/auth/auth-types.ts';
import { mcpLoginParts } from '../../core/auth/authorization-code.ts';
import { usageError } from '../../core/failure.ts';
import { name as nameShape } from '../../core/options/names.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { variableWith } from '../../credentials/environment.ts';
import type { Asker } from '../../credentials/messages.ts';
import { connectionProblem } from '../../flow/connections.ts';
import { loadLibraries } from '../../run/flow-file.ts';
import { connectionExists } from '../../run/flow-folder.ts';
import { envWords, messageWithAdvice, optionFlag } from '../advice.ts';
import { setCommand } from '../credentials-set.ts';
import type { Terminal } from '../terminal.ts';
import type { AddOptions } from './connections-options.ts';

/** The options of auth types that have a flag of their own. The others are given with --auth-set. */
const flags = [
  ...(['credential', 'header', 'query', 'username', 'tokenUrl', 'authorizeUrl', 'clientId', 'clientCredential'] as const),
  ...(['scopes', 'params', 'clientAuth'] as const),
];

type AuthOptions = Pick<AddOptions, 'auth' | 'authSet' | (typeof flags)[number]>;

export type GivenAuth = Readonly<Record<string, unknown>> & { readonly type: string; readonly credential?: string };

type ConnectionType = 'http' | 'mcp';

type Type = Pick<AuthType, 'type' | 'label'> & { readonly parts: Readonly<Record<string, AuthPart>> };

const none: Type = { type: 'none', label: 'none', parts: {} };
const allTypes: readonly Type[] = [none, ...authTypes, ...loginTypes];
const mcpTypes: readonly Type[] = [none, ...authTypes, ...loginTypes.map(({ type, label }) => ({ type, label, parts: mcpLoginParts }))];

interface AuthQuestions {
  readonly asker: Asker | undefined;
  /** True to ask the person for every setting of the connection, false to ask only for the required ones. */
  readonly isWalk: boolean;
}

/** Undefined if the connection needs no authentication. Throws an AutomateError (`usage`) if a setting is missing or not valid. */
export async function authOf(
  name: string,
  options: AuthOptions,
  questions: AuthQuestions,
  connection: ConnectionType = 'http',
): Promise<GivenAuth | undefined> {
  const type =
    options.auth === undefined ? await chosenType(options, questions, connection) : typeNamed(options.auth, typesFor(connection));
  if (type.type === 'session') await loadLibraries('expect');
  refuseForeignFlags(type, options, connection);
  if (type === none) return undefined;
  const parts = Object.entries(type.parts).filter(([key]) => !isReplaced(key, type, options));
  const auth: Record<string, unknown> = { type: type.type };
  for (const [key, part] of parts) {
    const check = (answer: string) => {
      if (answer === '') return part.isOptional ? undefined : 'expected a value, found nothing';
      try {
        return problemWith(
          { ...Object.fromEntries(parts.flatMap(example)), type: type.type, [key]: optionValue(answer, part) },
          connection,
        );
      } catch (error) {
        return (error as Error).message;
      }
    };
    const value = given(options, key, part) ?? (await answerFor(key, part, type, { name, check, connection, ...questions }));
    if (value !== undefined) auth[key] = value;
  }
  return auth as GivenAuth;
}

/** Throws an AutomateError (`usage`) for an option that only some servers need, with the option of this command in place of the YAML. */
export function refuseMissing(auth: GivenAuth | undefined, url: unknown): void {
  const { data } = connectionAuth.safeParse(auth);
  const origin = originOf(String(url));
  for (const placed of placedAuths(data)) {
    const { message = '', missing = [] } = authProblem(placed.auth, { allowHttp: true, origin }) ?? {};
    const { parts } = typeNamed(placed.auth.type, allTypes);
    if (missing.length === 0) continue;
    const words = missing.map((option) => wordsFor(option, parts[option] as AuthPart));
    throw usageError(`${message.split('\n')[0]}\nadd ${missing.length > 1 ? 'them' : 'it'}, for example: ${words.join(' ')}`);
  }
}

/** A session has the secrets of its logins, and all others have one. */
function secretsOf(written: GivenAuth): { readonly name: string; readonly isPair: boolean }[] {
  const { data: auth = null } = connectionAuth.safeParse(written);
  const needed = placedAuths(auth).flatMap((placed) => neededCredentials(placed.auth, undefined));
  const { credential } = written;
  if (credential === undefined) return needed;
  return [{ name: credential, isPair: needed.some(({ name, isPair }) => isPair && name === credential) }];
}

interface AuthQuestion extends AuthQuestions {
  readonly name: string;
  readonly connection: ConnectionType;
  check(answer: string): string | undefined;
}

/** Undefined for a setting that the person is not asked for. */
async function answerFor(key: string, part: AuthPart, type: Type, question: AuthQuestion): Promise<unknown> {
  const { asker, isWalk, name, connection, check } = question;
  if (part.question === undefined || (part.isOptional && !(asker && isWalk))) return undefined;
  if (!asker) throw usageError(`expected ${flagsFor(key, type)} for --auth ${type.type}, as in: ${addLine(type, connection)}`);
  const suggested = part.suggested?.(name);
  const answer = await asker.text(part.question, { check, default: suggested });
  return answer === '' ? undefined : optionValue(answer, part);
}

export function exampleOf(connection: ConnectionType): string {
  return addLine(typeNamed('bearer', typesFor(connection)), connection);
}

function addLine({ type, parts }: Type, connection: ConnectionType): string {
  const where = connection === 'mcp' ? '--url https://crm.example.com/mcp' : '--base-url https://crm.example.com/v2';
  const words = Object.entries(parts).flatMap(([key, part]) =>
    part.question !== undefined && part.example !== undefined ? [wordsFor(key, part)] : [],
  );
  return ['automate connections add', connection, 'crm', where, '--auth', type, ...words].join(' ');
}

function problemWith(auth: object, connection: ConnectionType): string | undefined {
  const where = connection === 'mcp' ? { url: 'https://example.com' } : { base_url: 'https://example.com' };
  return connectionProblem({ type: connection, ...where, auth });
}

function example([key, part]: readonly [string, AuthPart]): (readonly [string, unknown])[] {
  return part.example === undefined ? [] : [[key, optionValue(part.example, part)]];
}

function refuseForeignFlags(type: Type, options: AuthOptions, connection: ConnectionType): void {
  for (const [key, part] of Object.entries(type.parts)) {
    const { replaces } = part;
    const replaced = replaces === undefined ? undefined : type.parts[replaces];
    if (replaces !== undefined && replaced && given(options, key, part) !== undefined && given(options, replaces, replaced) !== undefined)
      throw usageError(`expected ${flagsFor(replaces, type)}, found both`);
  }
  for (const [name] of options.authSet ?? []) refuseForeignSetting(name, type);
  const types = typesFor(connection);
  const takes = ({ parts }: Type, flag: string) => Object.entries(parts).some(([key, part]) => flagOf(key, part) === flag);
  const foreign = flags.find((flag) => options[flag] !== undefined && !takes(type, flag));
  if (foreign === undefined) return;
  const owners = types.filter((owner) => takes(owner, foreign)).map((owner) => owner.type);
  throw usageError(`${optionFlag(foreign)} is for --auth ${owners.join(', ')}, not for ${type.type}`);
}

/** Refuses a name of --auth-set that is not an option of the type. The value is not shown, because it might be a secret. */
function refuseForeignSetting(name: string, { type, parts }: Type): void {
  const [, option = '', member] = /^([^.]*)(?:\.(.*))?$/s.exec(name) ?? [];
  const part = Object.hasOwn(parts, option) ? parts[option] : undefined;
  const names = Object.entries(parts).map(([key, { isMapping }]) => (isMapping ? `${key}.NAME` : key));
  if (!part) {
    const choices = names.length === 0 ? '; it has no options' : `; expected ${names.join(', ')}`;
    throw usageError(`--auth-set: --auth ${type} has no option "${option}"${didYouMean(option, Object.keys(parts)) || choices}`);
  }
  if ((part.isMapping === true) !== (member !== undefined && member !== ''))
    throw usageError(
      `--auth-set: expected ${part.isMapping ? `${option}.NAME=VALUE` : `${option}=${part.isData ? 'JSON' : 'VALUE'}`}, found "${name}"${part.isData ? `\nfor example: ${wordsFor(option, part)}` : ''}`,
    );
}

/** Without `--auth`, the first type that has one of the other options or, if the only option is a credential, that uses one. */
async function chosenType(options: AuthOptions, { asker, isWalk }: AuthQuestions, connection: ConnectionType): Promise<Type> {
  const types = typesFor(connection);
  const asks = ({ parts }: Type, isCredential: boolean) =>
    Object.entries(parts).some(
      ([key, part]) =>
        (part.isCredential ?? false) === isCredential &&
        (part.question ?? part.replaces) !== undefined &&
        given(options, key, part) !== undefined,
    );
  const implied = types.find((type) => asks(type, false)) ?? types.find((type) => asks(type, true));
  if (implied || !asker || !isWalk) return implied ?? none;
  const choices = types.map(({ type, label }) => ({ value: type, label }));
  return typeNamed(await asker.choice('Authentication', choices), types);
}

function typesFor(connection: ConnectionType): readonly Type[] {
  return connection === 'mcp' ? mcpTypes : allTypes;
}

function typeNamed(text: string, types: readonly Type[]): Type {
  const name = text.replaceAll('-', '_');
  const found = types.find(({ type }) => type === name || (name === 'oauth2' && type === 'oauth2_client_credentials'));
  if (found) return found;
  const names = types.map(({ type }) => type);
  throw usageError(`--auth: no type "${text}"${didYouMean(text, names) || `; expected ${names.join(', ')}`}`);
}

function isReplaced(key: string, { parts }: Type, options: AuthOptions): boolean {
  const part = parts[key] as AuthPart;
  if (part.replaces !== undefined) return given(options, key, part) === undefined;
  return Object.entries(parts).some(([other, replacing]) => replacing.replaces === key && given(options, other, replacing) !== undefined);
}

function given(options: AuthOptions, key: string, part: AuthPart): unknown {
  const flag = flagOf(key, part);
  const byFlag = flag && options[flag];
  if (byFlag !== undefined) return byFlag;
  const set = options.authSet ?? [];
  if (!part.isMapping) {
    const value = set.findLast(([name]) => name === key)?.[1];
    return value === undefined ? undefined : setValue(key, value, part);
  }
  const members = set.flatMap(([name, value]) => (name.startsWith(`${key}.`) ? [[name.slice(key.length + 1), value] as const] : []));
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

function setValue(key: string, value: string, part: AuthPart): unknown {
  try {
    return optionValue(value, part);
  } catch (error) {
    throw usageError(`--auth-set ${key}: ${(error as Error).message}`);
  }
}

/** Undefined for an option that only --auth-set can give. The flag --query, for example, is for text, not for a mapping. */
function flagOf(key: string, { isMapping }: AuthPart): (typeof flags)[number] | undefined {
  const flag = key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return isMapping && flag !== 'params' ? undefined : flags.find((known) => known === flag);
}

function wordsFor(key: string, part: AuthPart): string {
  const flag = flagOf(key, part);
  const { example: value = 'VALUE' } = part;
  return flag === undefined ? `--auth-set ${shellWord(`${key}${part.isMapping ? '.' : '='}${value}`)}` : `${optionFlag(flag)} ${value}`;
}

function flagsFor(key: string, { parts }: Type): string {
  const others = Object.keys(parts).filter((other) => parts[other]?.replaces === key);
  const nameOf = (name: string) => {
    const part = parts[name] as AuthPart;
    const flag = flagOf(name, part);
    return flag === undefined ? `--auth-set ${name}${part.isMapping ? '.NAME' : ''}=VALUE` : `${optionFlag(flag)}`;
  };
  return [key, ...others].map(nameOf).join(' or ');
}

export interface WrittenConnection {
  readonly written: Readonly<Record<string, unknown>>;
  readonly auth: GivenAuth | undefined;
}

export function withoutAbsent(written: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined));
}

/** Throws an AutomateError (`usage`) if a header is set twice. */
export function setHeaders({ setHeader: given }: AddOptions): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  const headers = new Map<string, string>();
  for (const [header, value] of given) {
    if (headers.has(header)) throw usageError(`--set-header: the header "${header}" is given twice`);
    headers.set(header, value);
  }
  return Object.fromEntries(headers);
}

/** Asks for the name if it is missing. Throws an AutomateError (`usage`) if the name cannot be used. */
export async function chooseName(
  given: string | undefined,
  options: AddOptions,
  type: ConnectionType,
  asker: Asker | undefined,
): Promise<string> {
  if (given === undefined) {
    if (!asker) throw usageError(`expected a name, as in: ${exampleOf(type)}`);
    return asker.text('Name of the connection, such as crm', { check: (answer) => nameProblem(answer, options) });
  }
  const problem = nameProblem(given, options);
  if (problem !== undefined) throw usageError(problem);
  return given;
}

function nameProblem(name: string, { force }: AddOptions): string | undefined {
  const { error } = nameShape.safeParse(name);
  if (error) return error.issues[0]?.message;
  return !force && Object.hasOwn(readConnections(process.env), name) ? messageWithAdvice(connectionExists(name)) : undefined;
}

/** Asks for the secret of a new connection and stores it. If there is no terminal, prints how to store it. */
export async function offerSecret(auth: GivenAuth, asker: Asker | undefined, terminal: Terminal, env?: string): Promise<void> {
  for (const secret of secretsOf(auth)) await offerOne(secret, asker, terminal, env);
}

async function offerOne(
  { name: credential, isPair }: ReturnType<typeof secretsOf>[number],
  asker: Asker | undefined,
  terminal: Terminal,
  env: string | undefined,
): Promise<void> {
  if (variableWith(credential, process.env) !== undefined) return;
  const store = openCredentials(env, terminal);
  if (store.list().some(({ name, env }) => name === credential && env === store.env)) return;
  if (isPair) terminal.say(`the secret of "${credential}" has to be username:password`);
  if (asker && process.stdin.isTTY && (await asker.yes(`There is no credential "${credential}" yet. Store its secret now?`)))
    await setCommand(credential, env === undefined ? {} : { env }, terminal);
  else terminal.say(`there is no credential "${credential}" yet; store it: automate credentials set ${credential}${envWords(store.env)}`);
}
