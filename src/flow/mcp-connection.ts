import type * as z from 'zod';
import { authProblem } from '../core/auth/auth.ts';
import type { Connection } from '../core/connection.ts';
import { headerTemplate, referencedFields } from '../core/template/template.ts';
import { urlTemplate } from '../core/template/url.ts';
import { wordsOf } from '../core/text/words.ts';
import type { LocalServer, RemoteServer } from '../core/tools.ts';
import { checkedBy, type Place } from './problems/issues.ts';
import { mcpConnectionSchema } from './schema.ts';
import type { At } from './source.ts';

type Options = z.output<typeof mcpConnectionSchema>;

/** The path of a connection in the flow, and the list that collects its problems. */
interface Where extends Place {
  readonly allowHttp: boolean;
  readonly isSaved: boolean;
  problem(place: At, message: string): void;
  /** Returns the result of `compile`. If `compile` throws, reports the error and returns `undefined`. */
  tried<Result>(place: At, compile: () => Result): Result | undefined;
}

/** Compiles a connection to an MCP server. If the connection has problems, reports them and returns `undefined`. */
export function compileMcpConnection(name: string, written: unknown, where: Where): Connection | undefined {
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

/**
 * Reports options that do not fit the connection: those for a URL if it starts a command, and those for a command if it has a URL. To
 * ignore them would hide a mistake.
 */
function refuseForeignOptions(options: Options, problem: Where['problem']): void {
  const [own, other] = options.url === undefined ? (['command', 'url'] as const) : (['url', 'command'] as const);
  for (const key of optionsOf[other]) {
    if (options[key] !== undefined && options[key] !== false)
      problem([key], `${key} is for a server with a ${other}, not for one with a ${own}`);
  }
}

function remoteOf({ url = '', auth, headers = {}, allow_http }: Options, where: Where): RemoteServer {
  const allowHttp = where.allowHttp || allow_http;
  if (referencedFields(url).length > 0) throw new Error('the url of an MCP server cannot have references: all records share it');
  urlTemplate(url, { allowHttp });
  for (const [header, value] of Object.entries(headers)) where.tried(['headers', header], () => plainHeader(header, value));
  const wrong = auth && authProblem(auth, allowHttp);
  if (wrong) where.problem(['auth', wrong.option], wrong.message);
  return { url, auth: auth ?? undefined, headers, allowHttp };
}

function plainHeader(header: string, value: string): void {
  if (referencedFields(value).length > 0) throw new Error('a header of an MCP connection cannot have references: all records share it');
  headerTemplate(header, value);
}

function localOf({ command = '', pass_env: passEnv = [], credentials = {} }: Options): LocalServer {
  return { command: typeof command === 'string' ? wordsOf(command) : (command as [string, ...string[]]), passEnv, credentials };
}
