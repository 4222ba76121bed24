import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as z from 'zod';
import type { CodedMessage } from '../core/error-code.ts';
import type { GivenVariables } from '../core/run-options.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import { orUndefined } from '../core/value/value.ts';
import { version } from '../core/version.ts';
import { type FlowToolCall, FlowTools } from '../flow-tools/flow-tools.ts';
import type { HttpCaller, ToolsOverHttp } from '../flow-tools/http-tools.ts';
import type { CallResult } from '../run/flow-calls.ts';
import { addRoutes } from './app.ts';
import type { Caller } from './caller.ts';
import { planOfCall, queryWithVariables, variablesIn } from './flow-variables.ts';
import type { Hosts } from './listening.ts';
import { ProblemResponse } from './problem.ts';
import { callerOfKey } from './routes/key-door.ts';
import type { Server } from './server.ts';

interface ToolCaller extends HttpCaller {
  readonly caller: Caller;
  readonly ip: string;
  readonly given: GivenVariables;
}

/** Maximum duration of a tool call in ms. Progress notifications show the client meanwhile that the call is still running. */
const maxCallMs = 600_000;

/** The folder of flows is checked for changes at this interval. */
const lookMs = 1000;

export class ServedTools {
  readonly #server: Server;
  readonly #tools: FlowTools<ToolCaller>;
  /** The code for MCP, which the first request loads. */
  #http: Promise<ToolsOverHttp<ToolCaller>> | undefined;
  #requests = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(server: Server) {
    this.#server = server;
    this.#tools = new FlowTools<ToolCaller>({
      flows: server.flows,
      sees: ({ caller }, { id }) => caller.sees(id),
      run: (call) => this.#run(call),
      errorText: (error) => (error instanceof ProblemResponse ? toolErrorText(error) : undefined),
      usedUpText,
      say: server.shared.say,
      bug: (error) => server.shared.say(`bug: ${(error as Error).stack ?? error}`),
    });
  }

  /** `body` is the parsed JSON; undefined if there is no body. */
  async answer(request: IncomingMessage, response: ServerResponse, body: unknown, caller: ToolCaller): Promise<void> {
    this.#http ??= this.#open();
    this.#requests++;
    try {
      await (await this.#http).handle(request, response, body, caller);
    } finally {
      this.#requests--;
    }
  }

  async tick(): Promise<void> {
    const http = await this.#http;
    const now = performance.now();
    if (!http || (this.#requests === 0 && http.sessions === 0) || now - this.#lookedMs < lookMs) return;
    this.#lookedMs = now;
    if (await this.#tools.haveChanged()) http.toolsChanged();
  }

  async close(): Promise<void> {
    await (await this.#http)?.close();
  }

  async #open(): Promise<ToolsOverHttp<ToolCaller>> {
    const { ToolsOverHttp } = await import('../flow-tools/http-tools.ts');
    await this.#tools.haveChanged();
    return new ToolsOverHttp({ toolbox: this.#tools, version, now: () => performance.now() });
  }

  async #run({ flow, fields, caller: { caller, ip, given }, gone, report }: FlowToolCall<ToolCaller>): Promise<CallResult> {
    const { key } = caller;
    const own = given.filter(([name]) => flow.plan?.variables.open.has(name));
    const plan = () => planOfCall({ flow, given: own }, this.#server.shared);
    const ended = (outcome: string) => this.#server.audit(caller, { ip }, 'flow.call', flow.id, outcome);
    try {
      const result = await this.#server.calls.run({ flow, fields, given: own, plan, key, waitMs: maxCallMs, gone, report });
      if (result.kind === 'unpaid' && key) this.#server.keys.usage.count(key.id, { refused: 1 });
      ended(outcomes[result.kind]);
      return result;
    } catch (error) {
      ended(error instanceof ProblemResponse ? error.problem : 'internal');
      throw error;
    }
  }
}

/** The name under which the audit log records each result of a call. */
const outcomes: Readonly<Record<CallResult['kind'], string>> = {
  done: 'ok',
  failed: 'record-failed',
  unpaid: 'credits-used-up',
  late: 'call-timeout',
  stopped: 'stopped',
};

function toolErrorText({ detail, members: { credential } }: ProblemResponse): string {
  return typeof credential === 'string' ? `${detail}: ${credential}` : detail;
}

function usedUpText({ message, code }: CodedMessage): string {
  const name = /of the key "([^"]*)"/.exec(message)?.[1] ?? 'NAME';
  const command = code === 'quota' ? `automate keys change ${shellWord(name)} --credits N` : 'automate credits limit N';
  return `${message}\nthe operator of the server can raise it: ${command}`;
}

/** Throws a Problem (`cross-site`) if the request was sent by a web page of another site. */
export function refuseForeignOrigin({ headers: { origin } }: FastifyRequest, hosts: Pick<Hosts, 'isServed'>): void {
  if (origin === undefined || hosts.isServed(orUndefined(() => new URL(origin).host))) return;
  throw new ProblemResponse('cross-site', 'expected no Origin header, or one of this server');
}

export function addMcpRoute(app: FastifyInstance, server: Server, tools: ServedTools): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = callerOfKey(request);
    const { raw } = reply;
    if (isStream(request)) server.listen(caller, raw);
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
    const sender = { owner: caller.key?.id ?? '', caller, ip: request.ip, given: variablesIn(request.query) };
    await tools.answer(request.raw, raw, request.body ?? undefined, sender);
  };
  const route = {
    config: { scopes: ['run'] as const },
    schema: { hide: true, querystring: queryWithVariables({}) } as object,
    handler: answer,
  };
  const withBody = { ...route, schema: { hide: true, querystring: queryWithVariables({}), body: z.any() } as object };
  addRoutes(app, '/mcp', { GET: route, POST: withBody, DELETE: route }, { withHead: false });
}

/** True for an MCP request whose response is a stream of notifications. */
function isStream({ method, body }: FastifyRequest): boolean {
  return method === 'GET' || (body as { readonly method?: unknown } | null | undefined)?.method === 'subscriptions/listen';
}
