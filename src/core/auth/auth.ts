import * as z from 'zod';
import type { AuthPart, AuthProblem, AuthType, CurlSecret, NeededCredential, Signature, SigningType } from './auth-type.ts';
import { authTypes, loginTypes } from './auth-types.ts';

/** The way in which requests prove who sends them. Names credentials, never holds a secret. */
export type Auth = z.output<(typeof authTypes)[number]['options']>;

/** The way in which a person logs in to an MCP server. */
export type Login = z.output<(typeof loginTypes)[number]['options']>;

const none = z.strictObject({ type: z.literal('none') });
const error = 'expected none, or a mapping such as { type: bearer, credential: NAME }';

/** `auth` of a request: `null` for `none`. */
export const auth = z
  .union([z.literal('none'), z.discriminatedUnion('type', [none, ...authTypes.map(({ options }) => options)])], { error })
  .transform((written): Auth | null => (written === 'none' || written.type === 'none' ? null : written));

/** `auth` of an MCP server: `null` for `none`. */
export const mcpAuth = z
  .union([z.literal('none'), z.discriminatedUnion('type', [none, ...[...authTypes, ...loginTypes].map(({ options }) => options)])], {
    error,
  })
  .transform((written): Auth | Login | null => (written === 'none' || written.type === 'none' ? null : written));

/** The names of the types for requests, `none` among them. */
export const authNames: readonly string[] = ['none', ...authTypes.map(({ type }) => type)];

/** The names of all types, `none` among them. */
export const allAuthNames: readonly string[] = [...authNames, ...loginTypes.map(({ type }) => type)];

const signingTypes: ReadonlyMap<string, SigningType> = new Map(authTypes.map((type) => [type.type, type as unknown as SigningType]));
const allTypes: ReadonlyMap<string, AuthType> = new Map(
  [...authTypes, ...loginTypes].map((type) => [type.type, type as unknown as AuthType]),
);

/** The options under `auth` whose values are public: all but the names of credentials. */
export const publicAuthOptions: ReadonlySet<string> = new Set(
  [...allTypes.values()].flatMap(({ parts }) => Object.entries<AuthPart>(parts).flatMap(([key, part]) => (part.isCredential ? [] : [key]))),
);

/** All options under `auth`. */
export const authOptions: ReadonlySet<string> = new Set(['type', ...[...allTypes.values()].flatMap(({ parts }) => Object.keys(parts))]);

/** Finds a mistake that the options' shapes cannot show. Absent if there is none. */
export function authProblem(auth: Auth | Login, allowHttp: boolean): AuthProblem | undefined {
  return (allTypes.get(auth.type) as AuthType).problem(auth, allowHttp);
}

/** The credentials that a request to an origin needs, the one that signs it first. `origin` is absent if records decide it. */
export function neededCredentials(auth: Auth | Login, origin: string | undefined): readonly NeededCredential[] {
  return (allTypes.get(auth.type) as AuthType).credentials(auth, origin);
}

/** Signs with the secret itself. For OAuth that is the access token. */
export function signature(auth: Auth, secret: string): Signature {
  return (signingTypes.get(auth.type) as SigningType).sign(auth, secret);
}

/** A signature as it is shown, with `***` for the secret. */
export function shownSignature(auth: Auth): Signature {
  return (signingTypes.get(auth.type) as SigningType).preview(auth);
}

/** A signature as curl writes it. `variable`: the environment variable of the credential. */
export function curlSecret(auth: Auth, variable: string): CurlSecret {
  return (signingTypes.get(auth.type) as SigningType).curl(auth, variable);
}
