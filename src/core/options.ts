import * as z from 'zod';
import { compilePath } from './answer/path.ts';
import type { Auth, Login } from './auth.ts';
import { compileCondition, compileExpression, type ExpressionError } from './condition/condition.ts';
import { durationMs, longestTimerMs, rateIntervalMs } from './duration.ts';
import { holdsToken, isRandomText } from './template/token-text.ts';
import { describedAs, dictionary } from './value/dictionary.ts';
import { ExactNumber } from './value/value.ts';

// A flow is checked once: code made for that would take longer than it saves.
z.config({ jitless: true });

const aDuration = 'expected a duration such as 250ms, 1s, 5m, 24h, 7d, or an integer of ms';

/** A number whose digits a double would not keep. */
export const exactNumber = describedAs(z.instanceof(ExactNumber), z.number());

/** A number of ms, written as a duration. */
export const duration = describedAs(
  z.union([z.string(), z.number()], { error: aDuration }).transform((written, context) => {
    const ms = durationMs(written);
    if (ms !== undefined) return ms;
    context.addIssue(`${aDuration}, found ${JSON.stringify(written)}`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(\d+(\.\d+)?(ms|s|m|h|d)|\d+)$/), z.int().min(0)]),
);

/** A duration that is no moment, and no longer than can be waited for. */
export const timeout = waitable('timeout');

/** The time between two calls. */
export const interval = waitable('wait');

function waitable(what: string) {
  return describedAs(
    duration.pipe(z.number().refine((ms) => ms > 0 && ms <= longestTimerMs, { error: `expected a ${what} from 1ms to 24d` })),
    z.union([z.string().regex(/^(?=.*[1-9])(\d+(\.\d+)?(ms|s|m|h|d)|\d+)$/), z.int().min(1).max(longestTimerMs)]),
  );
}

const aRate = 'expected a rate such as 10/s, 600/min, 5000/h';

/** Ms between two calls, written as a rate. */
export const rate = describedAs(
  z.string({ error: aRate }).transform((written, context) => {
    const ms = rateIntervalMs(written);
    if (ms !== undefined) return ms;
    context.addIssue(`${aRate}, found "${written}"`);
    return z.NEVER;
  }),
  z.string().regex(/^(?=.*[1-9])\d+(\.\d+)?\s*\/\s*(s|sec|m|min|h|d)$/),
);

/** How many at once. */
export const concurrency = z.int().min(1).max(10_000);

/** The name of a credential or a connection. Messages and variables are made of it, so it is kept simple. */
export const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'expected a name of letters, digits, dots, dashes and underscores');

/** The name of a record's field. */
export const fieldName = z.string().min(1, 'expected a field name, found an empty text');

/** A path into a response. It stays text here: the map that it stands in compiles it. */
export const path = z.string().superRefine((text, context) => {
  try {
    compilePath(text);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

/** No action costs more: an answer that says so is mistaken. */
export const mostCredits = 1_000_000;

/** What one action costs. */
export const credits = z.number().min(0).max(mostCredits);

/** The nodes inside a node. */
export const innerNodes = z
  .array(z.unknown(), { error: 'expected a list of nodes' })
  .min(1, 'expected at least one node')
  .describe('the nodes inside, each as anywhere else');

/** A CEL expression that is true or false; without quotes YAML reads the simplest of them as what they are. */
export const condition = z
  .union([z.string(), z.boolean()], { error: 'expected a CEL expression such as status == "done"' })
  .transform((written, context) => compiled(() => compileCondition(String(written)), context));

/** A CEL expression that gives a value. */
export const expression = z.string().transform((text, context) => compiled(() => compileExpression(text), context));

function compiled<Result>(compile: () => Result, context: z.RefinementCtx): Result {
  try {
    return compile();
  } catch (error) {
    const { message, offset } = error as ExpressionError;
    context.addIssue({ code: 'custom', message, params: { offset } });
    return z.NEVER;
  }
}

/** A header's value: text, or what YAML read as a number or a boolean. */
export const headerValue = z
  .union([z.string(), z.number(), z.boolean()], { error: 'expected a text, a number, true or false' })
  .transform(String);

const headerName = z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'expected a header name such as X-Request-Id');

/** What belongs to the connection and not to a request (RFC 9110, 7.6.1): undici sets it, or refuses it. */
const headersOfClient = new Set(['content-length', 'transfer-encoding', 'keep-alive', 'upgrade', 'expect']);
const isOfClient = (header: string) => headersOfClient.has(header.toLowerCase());

const writtenHeaders = dictionary(headerName, headerValue);

/** Header names (RFC 9110, 5.1) to values. */
export const headers = describedAs(
  writtenHeaders.superRefine((written, context) => {
    const seen = new Map<string, string>();
    for (const header of Object.keys(written)) {
      const lower = header.toLowerCase();
      const wrong = (message: string) => context.addIssue({ code: 'custom', message, path: [header], params: { isName: true } });
      if (isOfClient(header)) wrong(`the header "${header}" is set by the client; leave it out`);
      if (seen.has(lower)) wrong(`the header "${header}" is there already, as "${seen.get(lower)}"`);
      seen.set(lower, header);
    }
  }),
  writtenHeaders,
);

/** The name of a credential. What looks like the secret itself is refused, and not shown. */
export const credentialName = name
  .refine((text) => text.length <= 100 && !holdsToken(text) && !isRandomText(text), {
    error: 'expected the name of a credential, found what looks like the secret itself',
  })
  .refine((text) => !/[-_.]file$/i.test(text), {
    error: 'expected a name that does not end in "file": its variable would name the file of another credential',
  })
  .describe('the name of a credential, never its value');

const credential = credentialName;

const apiKey = z.strictObject({
  type: z.literal('api_key'),
  credential,
  header: headerName
    .refine((header) => !isOfClient(header), {
      error: ({ input }) => `the header "${input}" is set by the client; name another for the key`,
    })
    .optional()
    .describe('the header that carries the key'),
  query: z.string().min(1, 'expected the name of a query parameter').optional().describe('the query parameter that carries the key'),
});

const plainAuthKinds = [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), credential }),
  describedAs(
    apiKey.refine((key) => (key.header === undefined) !== (key.query === undefined), {
      error: 'expected either header or query, the place that carries the key',
    }),
    z.union([apiKey.omit({ query: true }).required({ header: true }), apiKey.omit({ header: true }).required({ query: true })]),
  ),
  z.strictObject({
    type: z.literal('basic'),
    credential,
    username: z.string().optional().describe('without it the secret is username:password'),
  }),
  z.strictObject({
    type: z.literal('oauth2_client_credentials'),
    credential: credential.describe('the name of the credential that holds the client secret'),
    token_url: z.string(),
    client_id: z.string(),
    scopes: z.array(z.string()).default([]),
  }),
] as const;

const authKinds = z.discriminatedUnion('type', plainAuthKinds);

const writtenAuth = z.union([z.literal('none'), authKinds], {
  error: 'expected none, or a mapping such as { type: bearer, credential: NAME }',
});

/** How requests prove who sends them; `null` for `none`. */
export const auth = writtenAuth.transform((written) => (written === 'none' || written.type === 'none' ? null : toAuth(written)));

type WrittenAuth = Exclude<z.output<typeof authKinds>, { type: 'none' }>;

function toAuth(written: WrittenAuth): Auth {
  const { credential } = written;
  switch (written.type) {
    case 'bearer':
      return { type: 'bearer', credential };
    case 'basic':
      return { type: 'basic', credential, ...given('username', written.username) };
    case 'api_key':
      return { type: 'api_key', credential, ...given('header', written.header), ...given('query', written.query) };
    case 'oauth2_client_credentials': {
      const { token_url: tokenUrl, client_id: clientId, scopes } = written;
      return { type: 'oauth2_client_credentials', credential, tokenUrl, clientId, scopes };
    }
  }
}

const login = z.strictObject({
  type: z.literal('oauth2_authorization_code'),
  credential: credential.describe('the name of the credential that holds the tokens of a login'),
  client_id: z.string().optional().describe('without it the server registers a client by itself'),
  client_credential: credential.optional().describe("the name of the credential that holds the client's own secret"),
  scopes: z.array(z.string()).default([]),
});

const mcpAuthKinds = z.discriminatedUnion('type', [...plainAuthKinds, login]);

/** How an MCP server is told who speaks; `null` for `none`. */
export const mcpAuth = z
  .union([z.literal('none'), mcpAuthKinds], { error: 'expected none, or a mapping such as { type: bearer, credential: NAME }' })
  .transform((written): Auth | Login | null => {
    if (written === 'none' || written.type === 'none') return null;
    if (written.type !== 'oauth2_authorization_code') return toAuth(written);
    const { type, credential, client_id: clientId, client_credential: clientCredential, scopes } = written;
    return { type, credential, clientId, clientCredential, scopes };
  });

function given<Name extends string>(key: Name, value: string | undefined): { [name in Name]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [name in Name]?: string });
}

/** The statuses and kinds of failure that are tried again. */
export const retryOn = z.union([z.int().min(100).max(599), z.enum(['1xx', '2xx', '3xx', '4xx', '5xx', 'timeout', 'network'])], {
  error: 'expected a status such as 429, a class such as 5xx, timeout or network',
});

const delay = z.strictObject({
  initial: duration.prefault('1s'),
  factor: z.number().min(1).default(2),
  max: duration.optional().describe('the longest delay; default 60s, or initial where that is longer'),
  jitter: z.boolean().default(false),
});

const longestDelayMs = 60_000;

/** What is tried again where nobody says otherwise. */
export const retriedOn: readonly z.output<typeof retryOn>[] = [429, '5xx', 'timeout', 'network'];

/** How a call is tried again where nobody says otherwise. */
export const retryDefault = { max: 3, on: [...retriedOn], backoff: '1s', max_wait: '5m' };

/** When and how often a call is tried again. */
export const retry = z.strictObject({
  max: z.int().min(0).max(100).default(3).describe('retries after the first try'),
  on: z
    .array(retryOn)
    .default([...retriedOn])
    .describe('what is tried again'),
  backoff: z
    .union([duration, delay], { error: 'expected a duration such as 1s, or { initial: 1s, factor: 2, max: 60s, jitter: true }' })
    .transform((written) => {
      const { initial, factor, jitter, max } = typeof written === 'number' ? { initial: written, factor: 2, jitter: false } : written;
      return { initial, factor, jitter, max: max ?? Math.max(longestDelayMs, initial) };
    })
    .prefault('1s')
    .describe('the first delay, doubled each time, or {initial, factor, max, jitter}'),
  max_wait: duration.prefault('5m').describe('a wait longer than this fails the record at once'),
});

/** A count of bytes: an integer, or `10MB`. */
export const byteSize = describedAs(
  z.union([z.number(), z.string()], { error: 'expected a size such as 10MB' }).transform((written, context) => {
    const match = /^(\d+(?:\.\d+)?)\s*(b|kb|mb|gb)?$/i.exec(String(written));
    const unit = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 }[(match?.[2] ?? 'b').toLowerCase()] ?? 0;
    const bytes = Math.floor(Number(match?.[1] ?? 0) * unit);
    if (bytes >= 1) return bytes;
    context.addIssue(`expected a size such as 10MB, found ${JSON.stringify(written)}`);
    return z.NEVER;
  }),
  z.union([z.string().regex(/^(?=.*[1-9])\d+(\.\d+)?\s*([kKmMgG]?[bB])?$/), z.int().min(1)]),
);
