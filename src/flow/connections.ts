import { stringify } from 'yaml';
import type * as z from 'zod';
import { authOptions, authProblem, boundAuth, placedAuths } from '../core/auth/auth.ts';
import { originOf as knownOrigin } from '../core/auth/auth-type.ts';
import { isSession } from '../core/auth/session.ts';
import { planSession } from '../core/auth/session-plan.ts';
import type { Connection } from '../core/connection.ts';
import type { CodedMessage } from '../core/error-code.ts';
import { errorOf, type Problem } from '../core/failure.ts';
import { headerTemplate, referencedFields } from '../core/template/template.ts';
import { urlTemplate } from '../core/template/url.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { wordsOf } from '../core/text/words.ts';
import type { LocalServer, RemoteServer } from '../core/tools.ts';
import type { ValuePath } from '../core/value/value.ts';
import { checkedBy, type Place } from './issues.ts';
import { connectionSchema, mcpConnectionSchema } from './schema.ts';
import { type FlowSource, readSource } from './source.ts';

/** Also matches absolute paths on Windows. */
const absolute = /^(?:[\\/]|[a-z]:[\\/])/i;

/** Reports problems. A connection with problems is `undefined`. */
export function compileConnections(
  written: Readonly<Record<string, unknown>>,
  where: {
    readonly source: FlowSource;
    readonly problems: Problem[];
    readonly allowHttp: boolean;
    readonly isSaved: boolean;
    readonly file?: string;
  },
): Map<string, Connection | undefined> {
  return new Map(Object.entries(written).map(([name, options]) => [name, compileConnection(name, options, where)]));
}

function compileConnection(name: string, written: unknown, where: Parameters<typeof compileConnections>[1]): Connection | undefined {
  const at = ['connections', name];
  const place: ConnectionPlace = {
    ...where,
    at,
    problem: (inside, message, offset) => where.problems.push(where.source.at([...at, ...inside], message, offset)),
    tried(inside, compile) {
      try {
        return compile();
      } catch (error) {
        place.problem(inside, error as Error);
        return undefined;
      }
    },
  };
  const type = (written as { type?: unknown } | null | undefined)?.type;
  if (type === 'mcp') return compileMcpConnection(name, written, place);
  if (typeof type !== 'string' || type === 'http') return compileHttpConnection(name, written, place);
  place.problem(['type'], `no connection type "${type}"${didYouMean(type, ['http', 'mcp']) || '; expected http or mcp'}`);
  return undefined;
}

function compileHttpConnection(name: string, written: unknown, where: ConnectionPlace): Connection | undefined {
  const { problem, tried } = where;
  const before = where.problems.length;
  const options = checkedBy(connectionSchema, written, where);
  if (!options) return undefined;
  const allowHttp = where.allowHttp || options.allow_http;
  const { auth, headers = {}, client_cert: certificate } = options;
  for (const [header, value] of Object.entries(headers)) tried(['headers', header], () => headerTemplate(header, value));
  const signers = placedAuths(auth).map(({ auth: one, at }) => ({ auth: boundAuth(one, options.base_url), at: ['auth', ...at] }));
  for (const { auth: one, at } of signers) {
    if (isSession(one)) {
      planSession(one, { allowHttp, problem: (inside, message, offset) => problem([...at, ...inside], message, offset) });
    }
    const wrong = authProblem(one, { allowHttp, origin: knownOrigin(options.base_url) });
    if (wrong) problem([...at, wrong.option], wrong.message);
  }
  if (certificate) checkCertificate(certificate, options.base_url, where);
  const origin = tried(['base_url'], () => originOf(options.base_url, allowHttp));
  if (origin === undefined || where.problems.length > before) return undefined;
  return {
    type: 'http',
    name,
    isSaved: where.isSaved,
    baseUrl: options.base_url,
    origin,
    auth: signers.length > 0 ? signers.map((signer) => signer.auth) : undefined,
    clientCert: certificate && { ...certificate, passphrase: certificate.passphrase?.credential, flow: where.file },
    http2: options.http2,
    headers,
    intervalMs: options.rate,
    concurrency: options.concurrency,
    allowHttp,
    credits: options.credits,
    cost: options.cost,
    charset: options.charset,
  };
}

function checkCertificate(
  files: { readonly cert: string; readonly key: string },
  baseUrl: string,
  { isSaved, problem }: ConnectionPlace,
): void {
  if (!baseUrl.startsWith('https:')) problem(['client_cert'], 'a client certificate needs a base_url with https://');
  for (const key of ['cert', 'key'] as const)
    if (isSaved && !absolute.test(files[key])) problem(['client_cert', key], 'a saved connection needs the full path of the file');
}

function originOf(baseUrl: string, allowHttp: boolean): string {
  const fields = referencedFields(baseUrl);
  if (fields.length > 0)
    throw new Error(
      `a base_url cannot have references; put them into the nodes' url\nfor a value that is fixed for the run, write {{vars.${fields[0]}}}, and at the top of the flow: vars: { ${fields[0]}: VALUE }`,
    );
  if (/[?#]/.test(baseUrl)) throw new Error("a base_url ends with its path; put the query into the nodes' url");
  return urlTemplate(baseUrl, { allowHttp }).origin as string;
}

type ConnectionOptions = z.output<typeof mcpConnectionSchema>;

interface ConnectionPlace extends Place {
  readonly allowHttp: boolean;
  readonly isSaved: boolean;
  readonly file?: string;
  problem(place: ValuePath, message: string | CodedMessage, offset?: number): void;
  /** If `compile` throws, reports the error and returns `undefined`. */
  tried<Result>(place: ValuePath, compile: () => Result): Result | undefined;
}

/** Reports problems and then returns `undefined`. */
function compileMcpConnection(name: string, written: unknown, where: ConnectionPlace): Connection | undefined {
  const { problem, tried } = where;
  const before = where.problems.length;
  const options = checkedBy(mcpConnectionSchema, written, where);
  if (!options) return undefined;
  if ((options.url === undefined) === (options.command === undefined)) {
    problem([], 'expected either url, the address of the server, or command, which starts it on this machine');
    return undefined;
  }
  refuseForeignOptions(options, problem);
  const remote = options.url === undefined ? undefined : tried(['url'], () => remoteOf(options, where));
  const local = options.command === undefined ? undefined : tried(['command'], () => localOf(options));
  const server = remote ?? local;
  if (!server || where.problems.length > before) return undefined;
  const { rate: intervalMs, concurrency, credits, cost, start_timeout: startTimeoutMs } = options;
  const origin = 'url' in server ? new URL(server.url).origin : `stdio:${name}`;
  return { type: 'mcp', name, isSaved: where.isSaved, server, origin, intervalMs, concurrency, credits, cost, startTimeoutMs };
}

const optionsOf = { url: ['auth', 'headers', 'allow_http'], command: ['pass_env', 'credentials'] } as const;

/** Reports URL options of a connection that starts a command, and command options of one with a URL. Ignoring them would hide a mistake. */
function refuseForeignOptions(options: ConnectionOptions, problem: ConnectionPlace['problem']): void {
  const [own, other] = options.url === undefined ? (['command', 'url'] as const) : (['url', 'command'] as const);
  for (const key of optionsOf[other]) {
    if (options[key] !== undefined && options[key] !== false)
      problem([key], `${key} is for a server with a ${other}, not for one with a ${own}`);
  }
}

function remoteOf({ url = '', auth, headers = {}, allow_http }: ConnectionOptions, where: ConnectionPlace): RemoteServer {
  const allowHttp = where.allowHttp || allow_http;
  if (referencedFields(url).length > 0) throw new Error('the url of an MCP server cannot have references: all records share it');
  urlTemplate(url, { allowHttp });
  for (const [header, value] of Object.entries(headers)) where.tried(['headers', header], () => plainHeader(header, value));
  const wrong = auth && authProblem(auth, { allowHttp, origin: knownOrigin(url) });
  if (wrong) where.problem(['auth', wrong.option], wrong.message);
  return { url, auth: auth ?? undefined, headers, allowHttp };
}

function plainHeader(header: string, value: string): void {
  if (referencedFields(value).length > 0) throw new Error('a header of an MCP connection cannot have references: all records share it');
  headerTemplate(header, value);
}

function localOf({ command = '', pass_env: passEnv = [], credentials = {} }: ConnectionOptions): LocalServer {
  return { command: typeof command === 'string' ? wordsOf(command) : (command as [string, ...string[]]), passEnv, credentials };
}

/** The YAML that a flow would contain. */
export function connectionText(name: string, written: object): string {
  return stringify({ connections: { [name]: written } }, { lineWidth: 0 }).trimEnd();
}

/** Compiles as in a flow. Throws an AutomateError (`usage`) that lists all problems, with the code of the first problem that has one. */
export function compileSavedConnection(name: string, written: object, allowHttp: boolean): Connection {
  const { connection, problems } = checkedConnection(name, written, allowHttp);
  if (connection && problems.length === 0) return connection;
  const { code, details } = problems.find((problem) => problem.code) ?? {};
  const lines = connectionText(name, written).split('\n');
  throw errorOf('usage', { message: problems.map((problem) => problemText(problem, lines)).join('\n'), code, details });
}

function checkedConnection(name: string, written: object, allowHttp: boolean): { connection: Connection | undefined; problems: Problem[] } {
  const source = readSource(connectionText(name, written));
  const problems = [...source.problems];
  const [connection] = compileConnections({ [name]: written }, { source, problems, allowHttp, isSaved: true }).values();
  return { connection, problems };
}

/** The first problem's message without its position; undefined if the connection is valid. */
export function connectionProblem(written: object): string | undefined {
  const { problems } = checkedConnection('connection', written, false);
  return problems[0]?.message.split('\n')[0];
}

/** The message, the line, and the advice below. In place of a hidden line, shows only the option's name if it is an option of `auth`. */
function problemText({ message, line = 0, source }: Problem, lines: readonly string[]): string {
  const option = /^\s*(\w+):/.exec(lines[line - 1] ?? '')?.[1] ?? '';
  // A problem with an option that is missing has the line of the type.
  const place = source?.text.trim() ?? (authOptions.has(option) && option !== 'type' ? option : '');
  const [first, ...more] = message.split('\n');
  return [place === '' ? first : `${first} (${place})`, ...more].join('\n');
}
