import * as z from 'zod';
import { compilePath } from '../answer/path.ts';
import { duration } from '../options/amounts.ts';
import { httpMethods } from '../options/methods.ts';
import { credentialName, headerName, isClientHeader, plainValue } from '../options/names.ts';
import { didYouMean } from '../text/suggest.ts';
import { dictionary } from '../value/dictionary.ts';
import { isMapping, type ValuePath } from '../value/value.ts';
import {
  type CurlSecret,
  credentialFor,
  curlSecrets,
  type NeededCredential,
  originOf,
  type Signature,
  type SigningType,
} from './auth-type.ts';

const maxLogins = 5;

/** The name of a value that a login takes from an answer. */
const takenName = z.string().regex(/^[A-Za-z_][\w-]*$/, 'expected a name of letters, digits, dashes and underscores');

const prefix = z.string().optional().describe('text before the value, such as "Bearer "');
const fromSession = z.strictObject({ session: takenName.describe('the name of a value of take'), prefix });
const fromCredential = z.strictObject({ credential: credentialName });

export type SentValue = string | z.output<typeof fromSession> | z.output<typeof fromCredential>;

const loginValue = z.union([plainValue, fromSession, fromCredential], {
  error: 'expected text, { session: NAME } or { credential: NAME }',
});
const sessionValue = z.union([plainValue, fromSession], { error: 'expected text or { session: NAME }' });
const sentHeaderName = headerName.refine((header) => !isClientHeader(header), {
  error: ({ input }) => `the header "${input}" is set by automate; leave it out`,
});

/** A cookie is named by `$cookies.NAME`, and its value is always the current one. */
export function cookieIn(path: string): string | undefined {
  return /^\$cookies\.(.+)$/s.exec(path)?.[1];
}

/** Paths as in `map`. The word `body` may come first, as in conditions. */
const takenPath = z
  .string()
  .superRefine((text, { addIssue }) => {
    try {
      const path = cookieIn(text) === undefined ? compilePath(text) : undefined;
      if (path && path.legs.length > 1) addIssue('expected the path of one value, such as body.token or body.items[0].id');
    } catch (error) {
      addIssue((error as Error).message);
    }
  })
  .meta({ title: 'path' });

const condition = z
  .union([z.string(), z.boolean()], { error: 'expected a CEL expression such as status == 200' })
  .transform(String)
  .meta({ title: 'condition' });

const expectedLifetime = 'expected a duration such as 20m, or a path such as body.expires_in';

const expectedForm = 'expected text, a number, true, false, null, a list of these, { session: NAME } or { credential: NAME }';

/** `others` are the other types, with which a login request can be signed. */
function loginRequest(others: z.ZodType) {
  return z
    .strictObject({
      method: z
        .enum(httpMethods, { error: 'expected an HTTP method such as GET or POST' })
        .optional()
        .describe('the HTTP method (default: POST with body, form or text, otherwise GET)'),
      url: z.string().describe('the URL, absolute or relative to base_url'),
      headers: dictionary(sentHeaderName, loginValue).optional().describe('headers: texts, { session: NAME } or { credential: NAME }'),
      body: z
        .union([z.string(), dictionary(z.string(), z.unknown()), z.array(z.unknown())], {
          error: 'expected a mapping, a list, or JSON text',
        })
        .optional()
        .describe('the JSON body, in which { credential: NAME } is a secret and { session: NAME } a value that an earlier request took'),
      form: dictionary(z.string(), z.unknown()).optional().describe('instead of body: the fields of a form'),
      text: z.string().optional().describe('instead of body: any other text'),
      auth: others.optional().describe('how the request itself is signed: any other type of auth'),
      take: dictionary(takenName, takenPath)
        .optional()
        .describe('names for values of the answer, found by their paths: body.token, $headers.NAME, $status or $cookies.NAME'),
      expect: condition
        .optional()
        .describe('a condition on status, headers and body, such as body.ok == true: if it is false, the login was refused'),
    })
    .superRefine(({ body, form, text }, { addIssue }) => {
      if ([body, form, text].filter((one) => one !== undefined).length > 1)
        addIssue({ code: 'custom', message: 'expected only one of body, form and text' });
      for (const [name, value] of Object.entries(form ?? {}))
        if (!isFormValue(value)) addIssue({ code: 'custom', message: expectedForm, path: ['form', name] });
    });
}

function isFormValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => !Array.isArray(one) && isFormValue(one));
  return !isMapping(value) || secretIn(value) !== undefined;
}

export interface LoginRequest {
  readonly method?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, SentValue>>;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly auth?: unknown;
  readonly take?: Readonly<Record<string, string>>;
  readonly expect?: string;
}

/** A place in a body or header for a value of the session, or for a secret. */
interface WrittenSecret {
  readonly kind: 'session' | 'credential';
  readonly name: string;
}

/** Undefined for anything but `{ session: NAME }` and `{ credential: NAME }`, also with a prefix. */
function secretIn(value: unknown): WrittenSecret | undefined {
  if (!isMapping(value) || Object.keys(value).some((key) => !['session', 'credential', 'prefix'].includes(key))) return undefined;
  const { session, credential } = value as { session?: unknown; credential?: unknown };
  if (typeof session === 'string' && credential === undefined) return { kind: 'session', name: session };
  return typeof credential === 'string' && session === undefined ? { kind: 'credential', name: credential } : undefined;
}

function secretsWithin(value: unknown, at: ValuePath): (WrittenSecret & { readonly at: ValuePath })[] {
  const found = secretIn(value);
  if (found) return [{ ...found, at: [...at, found.kind] }];
  const members: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : isMapping(value) ? Object.entries(value) : [];
  return members.flatMap(([key, member]) => secretsWithin(member, [...at, key]));
}

function secretsOf({ headers = {}, body, form = {} }: LoginRequest): ReturnType<typeof secretsWithin> {
  return [...secretsWithin(headers, ['headers']), ...secretsWithin(body, ['body']), ...secretsWithin(form, ['form'])];
}

export interface SessionAuth {
  readonly type: 'session';
  /** The first secret of the logins; empty if they have none. */
  readonly credential: string;
  readonly login: readonly LoginRequest[];
  readonly send: { readonly headers: Readonly<Record<string, SentValue>>; readonly query: Readonly<Record<string, SentValue>> };
  readonly cookies: boolean;
  /** In ms, or the path of the seconds in the answer to a login. Undefined if only an answer ends the session. */
  readonly lasts: number | string | undefined;
  readonly renewOn: readonly number[];
  readonly renewWhen: string | undefined;
  /** The URL to which the URLs of the login are relative. Undefined until the flow is compiled. */
  readonly base?: string;
}

export function isSession(auth: { readonly type: string }): auth is SessionAuth {
  return auth.type === 'session';
}

export function takenNames({ login }: Pick<SessionAuth, 'login'>): readonly string[] {
  return login.flatMap(({ take = {} }) => Object.keys(take));
}

interface WrittenSession {
  readonly login: readonly LoginRequest[];
  readonly send?: { readonly headers?: Readonly<Record<string, SentValue>>; readonly query?: Readonly<Record<string, SentValue>> };
}

type NameProblem = { readonly message: string; readonly path: (string | number)[] };

/** Finds names that no request has taken before. */
function unknownNames({ login, send = {} }: WrittenSession): NameProblem[] {
  const known: string[] = [];
  const all = takenNames({ login });
  const unknown = (path: ValuePath, name: string): NameProblem[] => {
    if (known.includes(name)) return [];
    const later = all.includes(name) ? `\n"${name}" is taken from the answer to this request or a later one` : '';
    const taking = `\ntake it from the answer to a login, for example take: { ${name}: body.${name} }`;
    const choices = didYouMean(name, known) || (known.length === 0 ? taking : `; expected ${known.join(', ')}`);
    return [{ message: `the session has no value "${name}"${later || choices}`, path: [...path] }];
  };
  const inLogins = login.flatMap((request, index) => {
    const found = secretsOf(request).flatMap(({ kind, name, at }) => (kind === 'session' ? unknown(['login', index, ...at], name) : []));
    known.push(...Object.keys(request.take ?? {}));
    return found;
  });
  const sent = secretsWithin(send, ['send']).flatMap(({ kind, name, at }) => (kind === 'session' ? unknown(at, name) : []));
  return [...inLogins, ...sent];
}

function sessionOptions(others: z.ZodType) {
  const request = loginRequest(others);
  return z
    .strictObject({
      type: z.literal('session'),
      login: z
        .union([request, z.array(request)], { error: 'expected a login request such as { url: /login, ... }, or a list of them' })
        .transform((written): readonly LoginRequest[] => [written].flat() as LoginRequest[])
        .refine((list) => list.length > 0 && list.length <= maxLogins, `expected one to ${maxLogins} login requests`)
        .describe('the request that logs in, or a list of up to five, which are sent in this order'),
      send: z
        .strictObject({
          headers: dictionary(sentHeaderName, sessionValue).optional().describe('headers: texts or { session: NAME }'),
          query: dictionary(z.string().min(1, 'expected the name of a query parameter'), sessionValue)
            .optional()
            .describe('query parameters: texts or { session: NAME }'),
        })
        .optional()
        .describe('what goes with every request, besides the cookies'),
      cookies: z.boolean().default(true).describe('keep the cookies that answers set, and send them'),
      lasts: z
        .union([z.string(), z.number()], { error: expectedLifetime })
        .transform((written, { addIssue }): number | string => {
          const { data } = duration.safeParse(written);
          if (data !== undefined && data > 0) return data;
          const text = String(written);
          if (/^[\d\s-]/.test(text) || takenPath.safeParse(text).error) addIssue({ code: 'custom', message: expectedLifetime });
          return text;
        })
        .optional()
        .describe(
          'how long a session lasts: a duration, or the path of the seconds in the answer to a login (default: until an answer ends it)',
        ),
      renew_on: z
        .array(z.int().min(100).max(599))
        .default([401])
        .describe('the statuses that end the session: the login is repeated, and the request sent again'),
      renew_when: condition
        .optional()
        .describe('a condition on status, headers and body that ends the session, such as body.error.code == "badtoken"'),
    })
    .superRefine((written, { addIssue }) => {
      // Without a valid login, which is then as it was written, every name would be unknown.
      if (!Array.isArray(written.login)) return;
      for (const { message, path } of unknownNames(written)) addIssue({ code: 'custom', message, path });
    })
    .transform(
      ({ renew_on: renewOn, renew_when: renewWhen, send: { headers = {}, query = {} } = {}, ...options }): SessionAuth => ({
        ...options,
        ...{ credential: credentialsOf(options.login)[0] ?? '', lasts: options.lasts, send: { headers, query }, renewOn, renewWhen },
      }),
    );
}

/** A session is made by requests that log in. `others` are the options of the other types. */
export function sessionType(
  others: z.ZodType,
  credentialsOfOther: (auth: unknown, origin: string | undefined) => readonly NeededCredential[],
) {
  const type: SigningType<ReturnType<typeof sessionOptions>> = {
    type: 'session',
    label: 'log in with requests, and go on with a token or a cookie',
    options: sessionOptions(others),
    parts: {
      login: {
        question: 'Login request, as JSON',
        example: '{"url":"/login","form":{"user":"me","password":{"credential":"crm-password"}}}',
        isData: true,
      },
      send: { isData: true },
      cookies: { isData: true },
      lasts: {},
      renew_on: { isData: true },
      renew_when: {},
    },
    from: 'session',
    credentials: (auth, origin) => sessionCredentials(auth, origin, credentialsOfOther),
    sign: (auth, shown) => sessionSignature(auth, () => shown),
    curl: sessionCurl,
  };
  return type;
}

function credentialsOf(login: readonly LoginRequest[]): string[] {
  return login.flatMap((request) => secretsOf(request).flatMap(({ kind, name }) => (kind === 'credential' ? [name] : [])));
}

/** The secrets of the logins, with the origins to which they are sent. */
function sessionCredentials(
  { login, base }: SessionAuth,
  origin: string | undefined,
  credentialsOfOther: (auth: unknown, origin: string | undefined) => readonly NeededCredential[],
): readonly NeededCredential[] {
  return login.flatMap((request) => {
    const to = originOf(request.url) ?? (base === undefined ? origin : originOf(base));
    const own = credentialsOf([request]).map((name) => credentialFor(name, to));
    return request.auth ? [...own, ...credentialsOfOther(request.auth, to)] : own;
  });
}

/** The headers and parameters of every request, besides the cookies. */
export function sessionSignature({ send }: SessionAuth, find: (name: string) => string): Signature {
  const textOf = (value: SentValue) => sentText(value, ({ name }) => find(name));
  const parameters = Object.keys(send.query);
  const pairs = parameters.map((name) => `${encodeURIComponent(name)}=${encodeURIComponent(textOf(send.query[name] as SentValue))}`);
  return {
    headers: Object.fromEntries(Object.entries(send.headers).map(([name, value]) => [name, textOf(value)])),
    ...(pairs.length > 0 && { query: pairs.join('&'), parameters }),
  };
}

export function sentText(value: SentValue, find: (secret: WrittenSecret) => string): string {
  if (typeof value === 'string') return value;
  return ('prefix' in value ? (value.prefix ?? '') : '') + find(secretIn(value) as WrittenSecret);
}

/** The variable of the environment that stands for a value of a session. */
export function sessionVariable(name: string): string {
  return `SESSION_${name.toUpperCase().replaceAll('-', '_')}`;
}

function sessionCurl({ send, cookies }: SessionAuth): readonly CurlSecret[] {
  const textOf = (value: SentValue) => {
    const secret = secretIn(value);
    return secret ? [(value as { prefix?: string }).prefix ?? '', { variable: sessionVariable(secret.name) }] : [value as string];
  };
  const sent: CurlSecret[] = [
    ...curlSecrets(send, textOf),
    ...(cookies ? [{ in: 'header' as const, text: ['Cookie: ', { variable: 'SESSION_COOKIES' }] }] : []),
  ];
  const variables = sent.flatMap(({ text }) => text.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.variable])));
  const note = `curl does not log in: set ${variables.join(', ')} to what the login gives`;
  return sent.map((one, index) => (index === 0 && variables.length > 0 ? { ...one, note } : one));
}
