import * as z from 'zod';
import {
  type AuthPart,
  type AuthProblem,
  type AuthUse,
  type CurlSecret,
  combined,
  type NeededCredential,
  type Signature,
  type SigningType,
} from './auth-type.ts';
import { authTypes, loginTypes } from './auth-types.ts';
import { type Login, mcpLoginOptions } from './authorization-code.ts';
import { isSession, type SessionAuth } from './session.ts';

export type { Login } from './authorization-code.ts';
export type { SessionAuth } from './session.ts';

/** A way to authenticate requests. It contains names of credentials, never a secret. */
export type Auth = z.output<(typeof authTypes)[number]['options']> | Login;

const none = z.strictObject({ type: z.literal('none') });
const error = 'expected none, or a mapping such as { type: bearer, credential: NAME }';

/** Maximum number of credentials in one request. */
export const maxSigners = 4;

type OneWay = z.ZodType<Auth> & z.core.$ZodTypeDiscriminable;

/** No two ways may set the same header or query parameter. */
function severalWays(ways: readonly [OneWay, ...OneWay[]]) {
  return z
    .array(z.discriminatedUnion('type', ways), { error: 'expected a list' })
    .min(1, 'expected one to four ways to sign a request')
    .superRefine((written, { addIssue }) => {
      if (written.length > maxSigners)
        addIssue({ code: 'custom', message: `expected at most ${maxSigners} ways to sign a request, found ${written.length}` });
      const second = written.findLastIndex(isSession);
      if (written.filter(isSession).length > 1) addIssue({ code: 'custom', message: 'expected only one session', path: [second] });
      const filled = new Set<string>();
      for (const [index, one] of written.entries()) {
        for (const place of authPlaces(one)) {
          const message = `another entry of the list also sets ${place}\na request can have it only once`;
          if (filled.has(place.toLowerCase())) addIssue({ code: 'custom', message, path: [index] });
          filled.add(place.toLowerCase());
        }
      }
    });
}

/** One way or a list of ways. The text `none` is parsed as null. */
function signedBy(ways: readonly [OneWay, ...OneWay[]]) {
  return z
    .union([z.literal('none'), z.discriminatedUnion('type', [none, ...ways]), severalWays(ways)], { error })
    .transform((written): Auth | readonly Auth[] | null =>
      written === 'none' || (!Array.isArray(written) && (written as { type: string }).type === 'none') ? null : (written as Auth | Auth[]),
    );
}

const requestWays = authTypes.map(({ options }) => options) as unknown as readonly [OneWay, ...OneWay[]];
const loginWays = loginTypes.map(({ options }) => options) as unknown as readonly OneWay[];

export const auth = signedBy(requestWays);

/** In addition to the types for nodes, it accepts a login. */
export const connectionAuth = signedBy([...requestWays, ...loginWays]);

/** A way to sign requests, and its path within the option `auth`. */
interface PlacedAuth {
  readonly auth: Auth;
  readonly at: readonly number[];
}

export function placedAuths(written: Auth | readonly Auth[] | null | undefined): readonly PlacedAuth[] {
  if (!written) return [];
  return 'type' in written ? [{ auth: written, at: [] }] : written.map((one, index) => ({ auth: one, at: [index] }));
}

/** MCP has sessions of its own. */
const mcpWays = authTypes.flatMap((one) => (one.from === 'session' ? [] : [one.options as unknown as OneWay]));

/** The text `none` is parsed as null. */
export const mcpAuth = z
  .union([z.literal('none'), z.discriminatedUnion('type', [none, ...mcpWays, mcpLoginOptions as unknown as OneWay])], { error })
  .transform((written): Auth | null => (written === 'none' || (written as { type: string }).type === 'none' ? null : (written as Auth)));

/** The names of the auth types for HTTP requests, including `none`. */
export const authNames: readonly string[] = ['none', ...authTypes.map(({ type }) => type)];

export const allAuthNames: readonly string[] = [...authNames, ...loginTypes.map(({ type }) => type)];

const allTypes: ReadonlyMap<string, SigningType> = new Map(
  [...authTypes, ...loginTypes].map((type) => [type.type, type as unknown as SigningType]),
);

/** All options except those that contain the name of a credential. */
export const publicAuthOptions: ReadonlySet<string> = new Set(
  [...allTypes.values()].flatMap(({ parts }) => Object.entries<AuthPart>(parts).flatMap(([key, part]) => (part.isCredential ? [] : [key]))),
);

/** All options, followed by what separates them from their value. */
export const settableAuthOptions: readonly string[] = [
  ...new Set(
    [...allTypes.values()].flatMap(({ parts }) => Object.entries<AuthPart>(parts).map(([key, part]) => key + (part.isMapping ? '.' : '='))),
  ),
];

export const authOptions: ReadonlySet<string> = new Set(['type', ...[...allTypes.values()].flatMap(({ parts }) => Object.keys(parts))]);

/** A mistake that the schema of the options cannot detect. */
export function authProblem(auth: Auth, use: AuthUse): AuthProblem | undefined {
  return (allTypes.get(auth.type) as SigningType).problem?.(auth, use);
}

/** The same for all requests with these settings. Contains no secret. */
export function authKey(auth: Auth): string {
  const key = keys.get(auth) ?? JSON.stringify(auth);
  keys.set(auth, key);
  return key;
}

/** Writing the key takes time, and all requests of a node have the same object. */
const keys = new WeakMap<Auth, string>();

/** The URLs of a login are relative to the base URL of the connection, or to the origin of the node's requests. */
export function boundAuth(auth: Auth, base: string | undefined): Auth {
  return isSession(auth) && base !== undefined ? { ...auth, base } : auth;
}

/** Undefined if requests need no login first. */
export function sessionIn(auth: readonly Auth[] | undefined): SessionAuth | undefined {
  return auth?.find(isSession);
}

/** The credential that signs the requests comes first. `origin` is undefined if it depends on the record. */
export function neededCredentials(auth: Auth, origin: string | undefined): readonly NeededCredential[] {
  return (allTypes.get(auth.type) as SigningType).credentials(auth, origin);
}

/** The types and the credentials of what a saved connection has as `auth`. If it is not valid, only the types are known. */
export function writtenAuth(written: unknown): { readonly types: readonly string[]; readonly credentials: readonly string[] } {
  const { data, success } = connectionAuth.safeParse(written);
  if (!success) return { types: [written ?? []].flat().map((one) => String((one as Partial<Auth>).type)), credentials: [] };
  const auths = placedAuths(data).map(({ auth }) => auth);
  const names = auths.flatMap((auth) => neededCredentials(auth, undefined).map(({ name }) => name));
  return { types: auths.map(({ type }) => type), credentials: [...new Set(names)] };
}

/** The way in which requests are signed; undefined if the secret itself is sent. */
export function signedFrom({ type }: Auth): SigningType['from'] {
  return (allTypes.get(type) as SigningType).from;
}

/** `secret` is the access token of a type with tokens, and text that stands for what is computed from the request. */
export function signature(auth: Auth, secret: string): Signature {
  return (allTypes.get(auth.type) as SigningType).sign(auth, secret);
}

/** Returns a request's signature for display, with `***` instead of secrets. */
export function shownSignature(auth: readonly Auth[]): Signature {
  return combined(auth.map((one) => (allTypes.get(one.type) as SigningType).preview?.(one) ?? signature(one, '***')));
}

/** Returns the headers and query parameters that authenticate the request, in words for messages. */
function authPlaces(auth: Auth): string[] {
  const { headers, parameters = [] } = shownSignature([auth]);
  return [...Object.keys(headers).map((header) => `the header "${header}"`), ...parameters.map((name) => `the query parameter "${name}"`)];
}

/** `variable` is the environment variable that contains the credential. */
export function curlSecrets(auth: Auth, variable: string): readonly CurlSecret[] {
  return [(allTypes.get(auth.type) as SigningType).curl(auth, variable)].flat();
}
