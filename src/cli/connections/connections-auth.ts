import { connectionAuth, neededCredentials, placedAuths } from '../../core/auth/auth.ts';
import type { AuthPart, AuthType } from '../../core/auth/auth-type.ts';
import { authTypes, loginTypes } from '../../core/auth/auth-types.ts';
import { mcpLoginParts } from '../../core/auth/authorization-code.ts';
import { AutomateError } from '../../core/failure.ts';
import { name as nameShape } from '../../core/options/names.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { variableWith } from '../../credentials/environment.ts';
import type { Asker } from '../../credentials/messages.ts';
import { connectionProblem } from '../../flow/connections.ts';
import { connectionExists } from '../../run/flow-folder.ts';
import { envWords, messageWithAdvice } from '../advice.ts';
import { setCommand } from '../credentials-set.ts';
import type { Terminal } from '../terminal.ts';
import type { AddOptions } from './connections-options.ts';

type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type KeysOf<Parts> = Parts extends unknown ? keyof Parts : never;
type PartKey = KeysOf<(typeof authTypes | typeof loginTypes)[number]['parts']>;

type AuthOptions = Pick<AddOptions, 'auth' | Camel<PartKey>>;

export type GivenAuth = Readonly<Record<string, unknown>> & { readonly type: string; readonly credential: string };

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
  refuseForeignFlags(type, options, connection);
  if (type === none) return undefined;
  const parts = Object.entries(type.parts).filter(([key]) => !isReplaced(key, type, options));
  const auth: Record<string, unknown> = { type: type.type };
  for (const [key, part] of parts) {
    const check = (answer: string) => {
      if (answer === '') return part.isOptional ? undefined : 'expected a value, found nothing';
      return problemWith({ ...Object.fromEntries(parts.flatMap(example)), type: type.type, [key]: answer }, connection);
    };
    const value = given(options, key) ?? (await answerFor(key, part, type, { name, check, connection, ...questions }));
    if (value !== undefined) auth[key] = value;
  }
  return auth as GivenAuth;
}

/** True if the secret must have the form `username:password`. */
function needsPair(written: GivenAuth): boolean {
  const { data: auth = null } = connectionAuth.safeParse(written);
  return placedAuths(auth)
    .flatMap((placed) => neededCredentials(placed.auth, undefined))
    .some(({ name, isPair }) => isPair && name === written.credential);
}

interface AuthQuestion extends AuthQuestions {
  readonly name: string;
  readonly connection: ConnectionType;
  check(answer: string): string | undefined;
}

/** Undefined for a setting that the person is not asked for. */
async function answerFor(key: string, part: AuthPart, type: Type, question: AuthQuestion): Promise<string | undefined> {
  const { asker, isWalk, name, connection, check } = question;
  if (part.question === undefined || (part.isOptional && !(asker && isWalk))) return undefined;
  if (!asker)
    throw new AutomateError('usage', `expected ${flagsFor(key, type)} for --auth ${type.type}, as in: ${addLine(type, connection)}`);
  const suggested = part.suggested?.(name);
  return (await asker.text(part.question, { check, default: suggested })) || undefined;
}

/** An example command that adds a connection with all options that the auth type requires. */
export function exampleOf(type: string, connection: ConnectionType = 'http'): string {
  return addLine(typeNamed(type, typesFor(connection)), connection);
}

function addLine({ type, parts }: Type, connection: ConnectionType): string {
  const where = connection === 'mcp' ? '--url https://crm.example.com/mcp' : '--base-url https://crm.example.com/v2';
  const flags = Object.entries(parts).flatMap(([key, part]) =>
    part.question !== undefined && part.example !== undefined ? [flagFor(key), part.example] : [],
  );
  return ['automate connections add', connection, 'crm', where, '--auth', type, ...flags].join(' ');
}

function problemWith(auth: object, connection: ConnectionType): string | undefined {
  const where = connection === 'mcp' ? { url: 'https://example.com' } : { base_url: 'https://example.com' };
  return connectionProblem({ type: connection, ...where, auth });
}

function example([key, part]: readonly [string, AuthPart]): (readonly [string, string])[] {
  return part.example === undefined ? [] : [[key, part.example]];
}

function refuseForeignFlags(type: Type, options: AuthOptions, connection: ConnectionType): void {
  for (const [key, { replaces }] of Object.entries(type.parts)) {
    if (replaces !== undefined && given(options, key) !== undefined && given(options, replaces) !== undefined)
      throw new AutomateError('usage', `expected ${flagsFor(replaces, type)}, found both`);
  }
  const keys = allTypes.flatMap(({ parts }) => Object.keys(parts));
  const foreign = keys.find((key) => given(options, key) !== undefined && !Object.hasOwn(type.parts, key));
  if (foreign === undefined) return;
  const owners = typesFor(connection).flatMap((owner) => (Object.hasOwn(owner.parts, foreign) ? [owner.type] : []));
  throw new AutomateError('usage', `${flagFor(foreign)} is for --auth ${owners.join(', ')}, not for ${type.type}`);
}

/**
 * Returns the auth type. Without `--auth`, it is the first type that has one of the other options. If the only option is a credential, it
 * is the first type that uses one.
 */
async function chosenType(options: AuthOptions, { asker, isWalk }: AuthQuestions, connection: ConnectionType): Promise<Type> {
  const types = typesFor(connection);
  const asks = ({ parts }: Type, isCredential: boolean) =>
    Object.entries(parts).some(
      ([key, part]) =>
        (part.isCredential ?? false) === isCredential &&
        (part.question ?? part.replaces) !== undefined &&
        given(options, key) !== undefined,
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
  throw new AutomateError('usage', `--auth: no type "${text}"${didYouMean(text, names) || `; expected ${names.join(', ')}`}`);
}

function isReplaced(key: string, { parts }: Type, options: AuthOptions): boolean {
  const { replaces } = parts[key] ?? {};
  if (replaces !== undefined) return given(options, key) === undefined;
  return Object.entries(parts).some(([other, part]) => part.replaces === key && given(options, other) !== undefined);
}

function given(options: AuthOptions, key: string): unknown {
  return (options as Readonly<Record<string, unknown>>)[key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())];
}

function flagFor(key: string): string {
  return `--${key.replaceAll('_', '-')}`;
}

function flagsFor(key: string, { parts }: Type): string {
  const others = Object.keys(parts).filter((other) => parts[other]?.replaces === key);
  return [key, ...others].map(flagFor).join(' or ');
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
    if (headers.has(header)) throw new AutomateError('usage', `--set-header: the header "${header}" is given twice`);
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
    if (!asker) throw new AutomateError('usage', `expected a name, as in: ${exampleOf('bearer', type)}`);
    return asker.text('Name of the connection, such as crm', { check: (answer) => nameProblem(answer, options) });
  }
  const problem = nameProblem(given, options);
  if (problem !== undefined) throw new AutomateError('usage', problem);
  return given;
}

function nameProblem(name: string, { force }: AddOptions): string | undefined {
  const { error } = nameShape.safeParse(name);
  if (error) return error.issues[0]?.message;
  return !force && Object.hasOwn(readConnections(process.env), name) ? messageWithAdvice(connectionExists(name)) : undefined;
}

/** Asks for the secret of a new connection and stores it. If there is no terminal, prints how to store it. */
export async function offerSecret(auth: GivenAuth, asker: Asker | undefined, terminal: Terminal, env?: string): Promise<void> {
  const { credential } = auth;
  if (variableWith(credential, process.env) !== undefined) return;
  const store = openCredentials(env, terminal);
  if (store.list().some(({ name, env }) => name === credential && env === store.env)) return;
  if (needsPair(auth)) terminal.say(`the secret of "${credential}" has to be username:password`);
  if (asker && process.stdin.isTTY && (await asker.yes(`There is no credential "${credential}" yet. Store its secret now?`)))
    await setCommand(credential, env === undefined ? {} : { env }, terminal);
  else terminal.say(`there is no credential "${credential}" yet; store it: automate credentials set ${credential}${envWords(store.env)}`);
}
