import type * as z from 'zod';
import { orUndefined } from '../value/value.ts';

/** A type of authentication, with its options in a flow, and the questions that `connections add` asks to set them. */
export interface AuthType<Options extends z.ZodType = z.ZodType> {
  readonly type: z.input<Options> extends { readonly type: infer Name } ? Name : string;
  readonly label: string;
  readonly options: Options;
  /** One entry for each option, in the order in which `connections add` asks for them. */
  readonly parts: { readonly [Key in Exclude<keyof z.input<Options>, 'type'>]-?: AuthPart };
  /** A mistake that the schema cannot detect. The message never contains the option's value, which might be a secret. */
  problem?(auth: z.output<Options>, use: AuthUse): AuthProblem | undefined;
  /** `origin` is undefined if it depends on the record. */
  credentials(auth: z.output<Options>, origin: string | undefined): readonly NeededCredential[];
}

export interface SigningType<Options extends z.ZodType = z.ZodType> extends AuthType<Options> {
  /**
   * `token`: a token is made or requested with the secret, and used for many requests (`http/auth/token-sources.ts`). `request`: the signature
   * is made from the final request, for each attempt (`http/auth/signer-types.ts`). `session`: requests log in first
   * (`http/auth/sessions.ts`). Undefined: the secret itself is sent.
   */
  readonly from?: 'token' | 'request' | 'session';
  /** `secret` is the access token of a type with tokens, and text that stands for what is computed from the request. */
  sign(auth: z.output<Options>, secret: string): Signature;
  /** Returns the signature to show in previews. If a type does not define it, previews call `sign` with `***` as the secret. */
  preview?(auth: z.output<Options>): Signature;
  /** `variable` is the environment variable that contains the credential. */
  curl(auth: z.output<Options>, variable: string): CurlSecret | readonly CurlSecret[];
}

/** One option of an auth type. `connections add` asks for it, or reads it from a flag such as `--token-url`. */
export interface AuthPart {
  /** The question that `connections add` asks; undefined if it never asks for this option. */
  readonly question?: string;
  readonly isOptional?: boolean;
  readonly isList?: boolean;
  readonly isMapping?: boolean;
  /** True if the option has parts of its own. As an answer or on the command line, it is written in JSON. */
  readonly isData?: boolean;
  /** True if the value of the option is the name of a credential. The values of all other options are public. */
  readonly isCredential?: boolean;
  /** A valid value. It is shown as an example, and stands for this option while another option is checked. */
  readonly example?: string;
  readonly suggested?: (connection: string) => string;
  readonly replaces?: string;
}

/** The credential with the secret of a type. `suffix` follows the name of the connection in the name that is suggested. */
export function credentialPart(held: string, example: string, suffix: string): AuthPart {
  return {
    question: `Name of the credential that holds ${held}`,
    isCredential: true,
    example,
    suggested: (connection) => `${connection}-${suffix}`,
  };
}

/** Converts text to the form that the option has in a flow. Members of a mapping are on lines of their own. Throws an Error with the reason. */
export function optionValue(text: string, { isList, isMapping, isData }: AuthPart): unknown {
  if (isData) return jsonIn(text);
  if (isList) return text.split(',').map((entry) => entry.trim());
  if (!isMapping) return text;
  return Object.fromEntries(
    text.split('\n').map((line) => {
      const [, name = line, value = ''] = /^([^=]*)=(.*)$/s.exec(line) ?? [];
      return [name.trim(), value];
    }),
  );
}

/** The message does not show the text, which might be a secret. */
function jsonIn(text: string): unknown {
  const value = orUndefined(() => JSON.parse(text) as unknown);
  if (value === undefined) throw new Error(`expected JSON, such as {"url":"/login"}, found text that is not JSON`);
  return value;
}

/** The way in which requests with the authentication are sent. */
export interface AuthUse {
  readonly allowHttp: boolean;
  /** The origin of the requests. Undefined if it is not valid, or depends on the record. */
  readonly origin: string | undefined;
}

export interface AuthProblem {
  readonly option: string;
  readonly message: string;
  /** Options that are only missing because the host does not contain their values. */
  readonly missing?: readonly string[];
}

export interface SecretUse {
  /** True if the secret must have the form `username:password`. */
  readonly isPair: boolean;
  /** The origins to which the secret is sent, as far as they are known before the first record. */
  readonly origins: readonly string[];
}

/** A credential (the name of a stored secret) that requests need. */
export interface NeededCredential extends SecretUse {
  readonly name: string;
  /** True if a login creates the credential, so that it need not exist before the first login. */
  readonly isLogin: boolean;
}

/** `origin` is undefined if it depends on the record. */
export function credentialFor(name: string, origin: string | undefined, isPair = false): NeededCredential {
  return { name, isPair, isLogin: false, origins: origin === undefined ? [] : [origin] };
}

/** Undefined if the text is not a URL. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

export interface Signature {
  /** Headers, with their names as written. They replace the request's headers of the same name, ignoring case. */
  readonly headers: Readonly<Record<string, string>>;
  /** `name=value` pairs for the query, percent-encoded. */
  readonly query?: string;
  readonly parameters?: readonly string[];
  /** Texts that are computed from the secret for this one request. A server that returns it would otherwise put it into the output. */
  readonly derived?: readonly string[];
}

export function combined(signatures: readonly Signature[]): Signature {
  const [only, ...more] = signatures;
  if (only && more.length === 0) return only;
  const queries = signatures.flatMap(({ query }) => query ?? []);
  return {
    headers: Object.assign({}, ...signatures.map(({ headers }) => headers)),
    ...(queries.length > 0 && { query: queries.join('&'), parameters: signatures.flatMap(({ parameters }) => parameters ?? []) }),
  };
}

export function inHeader(name: string, value: string): Signature {
  return { headers: { [name]: value } };
}

export function inQuery(parameter: string, value: string): Signature {
  return { headers: {}, query: `${encodeURIComponent(parameter)}=${encodeURIComponent(value)}`, parameters: [parameter] };
}

/** Texts of a word for the shell. A variable of the environment stands for each secret. */
export type CurlText = readonly (string | { readonly variable: string })[];

export interface CurlSecret {
  /** The curl option: `header` for `-H`, `user` for `-u`, `query` for a parameter of the URL. */
  readonly in: 'header' | 'user' | 'query';
  readonly text: CurlText;
  /** The option, without dashes, that has to precede it, and its value. */
  readonly options?: readonly string[];
  /** Tells the user what curl cannot do by itself. */
  readonly note?: string;
}

/** `textOf` returns the text of a header's or parameter's value. */
export function curlSecrets<Value>(
  { headers, query }: { readonly headers: Readonly<Record<string, Value>>; readonly query: Readonly<Record<string, Value>> },
  textOf: (value: Value) => CurlText,
): CurlSecret[] {
  return [
    ...Object.entries(headers).map(([name, value]) => ({ in: 'header' as const, text: [`${name}: `, ...textOf(value)] })),
    ...Object.entries(query).map(([name, value]) => ({ in: 'query' as const, text: [`${encodeURIComponent(name)}=`, ...textOf(value)] })),
  ];
}

/** A header with an access token, which curl does not request. */
const curlToken: CurlSecret = {
  in: 'header',
  text: ['Authorization: Bearer ', { variable: 'ACCESS_TOKEN' }],
  note: 'curl does not request an access token: set ACCESS_TOKEN to one',
};

/** A type whose access token goes into the header Authorization (RFC 6750). */
export const bearerToken = {
  from: 'token',
  sign: (_auth: unknown, token: string) => inHeader('Authorization', `Bearer ${token}`),
  curl: () => curlToken,
} as const;

/** Lets TypeScript infer the types. */
export function defineAuthType<Options extends z.ZodType>(type: SigningType<Options>): SigningType<Options> {
  return type;
}
