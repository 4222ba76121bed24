import { connectionAuth, neededCredentials, placedAuths } from '../../core/auth/auth.ts';
import type { AuthPart, AuthType } from '../../core/auth/auth-type.ts';
import { authTypes, loginTypes } from '../../core/auth/auth-types.ts';
import { mcpLoginParts } from '../../core/auth/authorization-code.ts';
import { AutomateError } from '../../core/failure.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import type { Asker } from '../../credentials/messages.ts';
import { connectionProblem } from '../../flow/connections.ts';
import type { AddOptions } from './connection-options.ts';

type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name;
type KeysOf<Parts> = Parts extends unknown ? keyof Parts : never;
type PartKey = KeysOf<(typeof authTypes | typeof loginTypes)[number]['parts']>;

/** The options of `connections add` that set the authentication: `--auth`, and one option for each setting of each auth type. */
export type AuthOptions = Pick<AddOptions, 'auth' | Camel<PartKey>>;

/** Authentication settings in the form in which a flow file contains them. */
export type GivenAuth = Readonly<Record<string, unknown>> & { readonly type: string; readonly credential: string };

/** The type of the connection to add. */
export type ConnectionType = 'http' | 'mcp';

type Type = Pick<AuthType, 'type' | 'label'> & { readonly parts: Readonly<Record<string, AuthPart>> };

const none: Type = { type: 'none', label: 'none', parts: {} };
const allTypes: readonly Type[] = [none, ...authTypes, ...loginTypes];
const mcpTypes: readonly Type[] = [none, ...authTypes, ...loginTypes.map(({ type, label }) => ({ type, label, parts: mcpLoginParts }))];

/** The person who can be asked for missing settings, and how much to ask. */
export interface AuthQuestions {
  /** The person at the terminal; undefined if there is none. */
  readonly asker: Asker | undefined;
  /** True to ask the person for every setting of the connection, false to ask only for the required ones. */
  readonly isWalk: boolean;
}

/**
 * Builds the authentication settings from options and answers; undefined if the connection needs none. `name` is the connection's name.
 * Throws an AutomateError (`usage`) if a setting is missing or not valid.
 */
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

/** True if the credential's secret must have the form `username:password`. */
export function needsPair(written: GivenAuth): boolean {
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

/** Asks for one of the authentication settings. Returns undefined for a setting that the person is not asked for. */
async function answerFor(key: string, part: AuthPart, type: Type, question: AuthQuestion): Promise<string | undefined> {
  const { asker, isWalk, name, connection, check } = question;
  if (part.question === undefined || (part.isOptional && !(asker && isWalk))) return undefined;
  if (!asker)
    throw new AutomateError('usage', `expected ${flagsFor(key, type)} for --auth ${type.type}, as in: ${addLine(type, connection)}`);
  const suggested = part.suggested?.(name);
  return (await asker.text(part.question, { check, default: suggested })) || undefined;
}

/** Returns an example of a command that adds a connection with all options that the auth type requires. */
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

/** Returns the options that provide a setting: its own option, and the options of settings that replace it. */
function flagsFor(key: string, { parts }: Type): string {
  const others = Object.keys(parts).filter((other) => parts[other]?.replaces === key);
  return [key, ...others].map(flagFor).join(' or ');
}
