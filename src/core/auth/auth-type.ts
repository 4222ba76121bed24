import type * as z from 'zod';

/** A type of auth: its options in a flow, and how `connections add` asks for them. */
export interface AuthType<Options extends z.ZodType = z.ZodType> {
  readonly type: z.input<Options> extends { readonly type: infer Name } ? Name : string;
  /** A few words for the list that a person chooses from. */
  readonly label: string;
  readonly options: Options;
  /** A part for each option, in the order of the questions. */
  readonly parts: { readonly [Key in Exclude<keyof z.input<Options>, 'type'>]-?: AuthPart };
  /** Finds a mistake that the options' shapes cannot show; undefined if they show all. The message never holds the value. */
  problem?(auth: z.output<Options>, allowHttp: boolean): AuthProblem | undefined;
  /** The credentials that a request to an origin needs. `origin`: undefined if records decide it. */
  credentials(auth: z.output<Options>, origin: string | undefined): readonly NeededCredential[];
}

/** A type of auth that signs each request with a secret. */
export interface SigningType<Options extends z.ZodType = z.ZodType> extends AuthType<Options> {
  /** Puts the secret into a request. An OAuth type gets its access token as the secret. */
  sign(auth: z.output<Options>, secret: string): Signature;
  /** The signature as previews show it; undefined if `***` in place of the secret hides all of it. */
  preview?(auth: z.output<Options>): Signature;
  /** The signature in a curl command. `variable`: the environment variable of the credential. */
  curl(auth: z.output<Options>, variable: string): CurlSecret;
}

/** An option of a type, as `connections add` asks for it or takes it from a flag such as `--token-url`. */
export interface AuthPart {
  /** Undefined for a part that is never asked for. */
  readonly question?: string;
  readonly isOptional?: boolean;
  /** True for the name of a credential. The values of all other parts are public. */
  readonly isCredential?: boolean;
  /** A valid value, for the example and to complete the options while another part is checked. */
  readonly example?: string;
  /** The default answer for a connection of that name. */
  readonly suggested?: (connection: string) => string;
  /** The part that this one replaces if it is given. */
  readonly replaces?: string;
}

/** A mistake in the options, and the option that holds it. */
export interface AuthProblem {
  readonly option: string;
  readonly message: string;
}

/** Requirements for a secret. */
export interface SecretUse {
  /** True if the secret must be `username:password`. */
  readonly isPair: boolean;
  /** The origins that the secret is sent to, as far as they are known before the first record. */
  readonly origins: readonly string[];
}

/** A credential that requests need. */
export interface NeededCredential extends SecretUse {
  readonly name: string;
  /** True if a login makes it: it need not exist before the first one. */
  readonly isLogin: boolean;
}

/** A credential that is sent to an origin. `origin`: undefined if records decide it. */
export function credentialFor(name: string, origin: string | undefined, isPair = false): NeededCredential {
  return { name, isPair, isLogin: false, origins: origin === undefined ? [] : [origin] };
}

/** The origin of a URL. Undefined if the text is not a URL. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Additions to a request that prove who sends it. */
export interface Signature {
  /** Headers, with names as written. They replace headers that differ only in upper and lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** `name=value` for the query, percent-encoded. */
  readonly query?: string;
  /** The names in the query. Undefined for none. */
  readonly parameters?: readonly string[];
}

/** Several signatures as one. */
export function combined(signatures: readonly Signature[]): Signature {
  const [only, ...more] = signatures;
  if (only && more.length === 0) return only;
  const queries = signatures.flatMap(({ query }) => query ?? []);
  return {
    headers: Object.assign({}, ...signatures.map(({ headers }) => headers)),
    ...(queries.length > 0 && { query: queries.join('&'), parameters: signatures.flatMap(({ parameters }) => parameters ?? []) }),
  };
}

/** A signature in a header. */
export function inHeader(name: string, value: string): Signature {
  return { headers: { [name]: value } };
}

/** A signature in the query. */
export function inQuery(parameter: string, value: string): Signature {
  return { headers: {}, query: `${encodeURIComponent(parameter)}=${encodeURIComponent(value)}`, parameters: [parameter] };
}

/** The argument of a curl option that holds the secret: a text, then the value of an environment variable. */
export interface CurlSecret {
  /** `header`: `-H`; `user`: `-u`; `query`: a parameter of the URL. */
  readonly in: 'header' | 'user' | 'query';
  readonly before: string;
  readonly variable: string;
}

/** Keeps the types of a definition. */
export function defineAuthType<Options extends z.ZodType>(type: SigningType<Options>): SigningType<Options> {
  return type;
}
