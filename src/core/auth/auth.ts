import * as z from 'zod';
import {
  type AuthPart,
  type AuthProblem,
  type CurlSecret,
  combined,
  type NeededCredential,
  type Signature,
  type SigningType,
} from './auth-type.ts';
import { authTypes, loginTypes } from './auth-types.ts';
import { type Login, mcpLoginOptions } from './authorization-code.ts';

export type { Login } from './authorization-code.ts';

/** The way in which requests prove who sends them. Names credentials, never holds a secret. */
export type Auth = z.output<(typeof authTypes)[number]['options']> | Login;

const none = z.strictObject({ type: z.literal('none') });
const error = 'expected none, or a mapping such as { type: bearer, credential: NAME }';

const maxSigners = 4;

type OneWay = z.ZodType<Auth> & z.core.$ZodTypeDiscriminable;

/** Several ways at once. Each fills a place of its own. */
function severalWays(ways: readonly [OneWay, ...OneWay[]]) {
  return z
    .array(z.discriminatedUnion('type', ways), { error: 'expected a list' })
    .min(1, 'expected one to four ways to sign a request')
    .superRefine((written, { addIssue }) => {
      if (written.length > maxSigners)
        addIssue({ code: 'custom', message: `expected at most ${maxSigners} ways to sign a request, found ${written.length}` });
      const filled = new Set<string>();
      for (const [index, one] of written.entries()) {
        const place = authPlace(one);
        const message = `another entry of the list fills ${place}, too\na request has each place once`;
        if (filled.has(place.toLowerCase())) addIssue({ code: 'custom', message, path: [index] });
        filled.add(place.toLowerCase());
      }
    });
}

/** One way to sign requests, or a list of them: `null` for `none`. */
function signedBy(ways: readonly [OneWay, ...OneWay[]]) {
  return z
    .union([z.literal('none'), z.discriminatedUnion('type', [none, ...ways]), severalWays(ways)], { error })
    .transform((written): Auth | readonly Auth[] | null =>
      written === 'none' || (!Array.isArray(written) && (written as { type: string }).type === 'none') ? null : (written as Auth | Auth[]),
    );
}

const requestWays = authTypes.map(({ options }) => options) as unknown as readonly [OneWay, ...OneWay[]];
const loginWays = loginTypes.map(({ options }) => options) as unknown as readonly OneWay[];

/** `auth` of a node. */
export const auth = signedBy(requestWays);

/** `auth` of a connection to an HTTP API: a person may log in, too. */
export const connectionAuth = signedBy([...requestWays, ...loginWays]);

/** A way to sign, and its place under `auth`. */
export interface PlacedAuth {
  readonly auth: Auth;
  readonly at: readonly number[];
}

/** The ways to sign of an `auth`, in their order. */
export function placedAuths(written: Auth | readonly Auth[] | null | undefined): readonly PlacedAuth[] {
  if (!written) return [];
  return 'type' in written ? [{ auth: written, at: [] }] : written.map((one, index) => ({ auth: one, at: [index] }));
}

/** `auth` of an MCP server: `null` for `none`. */
export const mcpAuth = z
  .union([z.literal('none'), z.discriminatedUnion('type', [none, ...requestWays, mcpLoginOptions as unknown as OneWay])], { error })
  .transform((written): Auth | null => (written === 'none' || (written as { type: string }).type === 'none' ? null : (written as Auth)));

/** The names of the types for requests, `none` among them. */
export const authNames: readonly string[] = ['none', ...authTypes.map(({ type }) => type)];

/** The names of all types, `none` among them. */
export const allAuthNames: readonly string[] = [...authNames, ...loginTypes.map(({ type }) => type)];

const allTypes: ReadonlyMap<string, SigningType> = new Map(
  [...authTypes, ...loginTypes].map((type) => [type.type, type as unknown as SigningType]),
);

/** The options under `auth` whose values are public: all but the names of credentials. */
export const publicAuthOptions: ReadonlySet<string> = new Set(
  [...allTypes.values()].flatMap(({ parts }) => Object.entries<AuthPart>(parts).flatMap(([key, part]) => (part.isCredential ? [] : [key]))),
);

/** All options under `auth`. */
export const authOptions: ReadonlySet<string> = new Set(['type', ...[...allTypes.values()].flatMap(({ parts }) => Object.keys(parts))]);

/** Finds a mistake that the options' shapes cannot show. Undefined if there is none. */
export function authProblem(auth: Auth, allowHttp: boolean): AuthProblem | undefined {
  return (allTypes.get(auth.type) as SigningType).problem?.(auth, allowHttp);
}

/** The credentials that a request to an origin needs, the one that signs it first. `origin`: undefined if records decide it. */
export function neededCredentials(auth: Auth, origin: string | undefined): readonly NeededCredential[] {
  return (allTypes.get(auth.type) as SigningType).credentials(auth, origin);
}

/** Signs with the secret itself. For OAuth that is the access token. */
export function signature(auth: Auth, secret: string): Signature {
  return (allTypes.get(auth.type) as SigningType).sign(auth, secret);
}

/** The signature of a request as it is shown, with `***` for the secrets. */
export function shownSignature(auth: readonly Auth[]): Signature {
  return combined(auth.map((one) => (allTypes.get(one.type) as SigningType).preview?.(one) ?? signature(one, '***')));
}

/** The place of a request that a way to sign fills, in words. */
function authPlace(auth: Auth): string {
  const { headers, parameters = [] } = shownSignature([auth]);
  const [header] = Object.keys(headers);
  return header === undefined ? `the query parameter "${parameters[0]}"` : `the header "${header}"`;
}

/** A signature as curl writes it. `variable`: the environment variable of the credential. */
export function curlSecret(auth: Auth, variable: string): CurlSecret {
  return (allTypes.get(auth.type) as SigningType).curl(auth, variable);
}
