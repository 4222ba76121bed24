import type * as z from 'zod';

/** A type of authentication, with its options in a flow, and the questions that `connections add` asks to set them. */
export interface AuthType<Options extends z.ZodType = z.ZodType> {
  readonly type: z.input<Options> extends { readonly type: infer Name } ? Name : string;
  /** A short description for the list of auth types. */
  readonly label: string;
  readonly options: Options;
  /** One entry for each option, in the order in which `connections add` asks for them. */
  readonly parts: { readonly [Key in Exclude<keyof z.input<Options>, 'type'>]-?: AuthPart };
  /**
   * Returns a mistake that the schema of the options cannot detect; undefined if there is none. The message never contains the option's
   * value, which might be a secret.
   */
  problem?(auth: z.output<Options>, allowHttp: boolean): AuthProblem | undefined;
  /** Returns the credentials that requests to an origin need. `origin` is undefined if the origin depends on the record. */
  credentials(auth: z.output<Options>, origin: string | undefined): readonly NeededCredential[];
}

/** A type of authentication that signs each request with a secret. */
export interface SigningType<Options extends z.ZodType = z.ZodType> extends AuthType<Options> {
  /** Returns the signature, which adds the secret to a request. For OAuth types, the secret is the access token. */
  sign(auth: z.output<Options>, secret: string): Signature;
  /** Returns the signature to show in previews. If a type does not define it, previews call `sign` with `***` as the secret. */
  preview?(auth: z.output<Options>): Signature;
  /** Returns the signature as an argument for the program curl. `variable` is the environment variable that contains the credential. */
  curl(auth: z.output<Options>, variable: string): CurlSecret;
}

/** One option of an auth type. `connections add` asks for it, or reads it from a flag such as `--token-url`. */
export interface AuthPart {
  /** The question that `connections add` asks; undefined if it never asks for this option. */
  readonly question?: string;
  readonly isOptional?: boolean;
  /** True if the value of the option is the name of a credential. The values of all other options are public. */
  readonly isCredential?: boolean;
  /** A valid value. It is shown as an example, and stands for this option while another option is checked. */
  readonly example?: string;
  /** Returns the default answer to the question, for a connection with this name. */
  readonly suggested?: (connection: string) => string;
  /** Another option that is not needed if this one is set. */
  readonly replaces?: string;
}

/** A mistake in the options of an auth type, and the option that contains it. */
export interface AuthProblem {
  readonly option: string;
  readonly message: string;
}

/** The requirements that a secret has to meet. */
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

/** Returns the description of a credential that is sent to an origin. `origin` is undefined if it depends on the record. */
export function credentialFor(name: string, origin: string | undefined, isPair = false): NeededCredential {
  return { name, isPair, isLogin: false, origins: origin === undefined ? [] : [origin] };
}

/** Returns the origin of a URL; undefined if the text is not a URL. */
export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** The headers or query parameters that authenticate a request. */
export interface Signature {
  /** Headers, with their names as written. They replace the request's headers of the same name, ignoring case. */
  readonly headers: Readonly<Record<string, string>>;
  /** `name=value` pairs for the query, percent-encoded. */
  readonly query?: string;
  /** The names of the query parameters; undefined if the signature adds none. */
  readonly parameters?: readonly string[];
}

/** Merges several signatures into one. */
export function combined(signatures: readonly Signature[]): Signature {
  const [only, ...more] = signatures;
  if (only && more.length === 0) return only;
  const queries = signatures.flatMap(({ query }) => query ?? []);
  return {
    headers: Object.assign({}, ...signatures.map(({ headers }) => headers)),
    ...(queries.length > 0 && { query: queries.join('&'), parameters: signatures.flatMap(({ parameters }) => parameters ?? []) }),
  };
}

/** Returns a signature that consists of a header. */
export function inHeader(name: string, value: string): Signature {
  return { headers: { [name]: value } };
}

/** Returns a signature that consists of a query parameter. */
export function inQuery(parameter: string, value: string): Signature {
  return { headers: {}, query: `${encodeURIComponent(parameter)}=${encodeURIComponent(value)}`, parameters: [parameter] };
}

/** The argument of a curl option that contains the secret. It is the text `before`, followed by the value of an environment variable. */
export interface CurlSecret {
  /** The curl option: `header` for `-H`, `user` for `-u`, `query` for a parameter of the URL. */
  readonly in: 'header' | 'user' | 'query';
  readonly before: string;
  readonly variable: string;
}

/** Returns the definition of an auth type unchanged, so that TypeScript infers its types. */
export function defineAuthType<Options extends z.ZodType>(type: SigningType<Options>): SigningType<Options> {
  return type;
}
