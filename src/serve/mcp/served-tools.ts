import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallResult } from '../../app/calls/flow-calls.ts';
import type { GivenVariables } from '../../app/flow/flow-file.ts';
import { type FlowToolCall, FlowTools } from '../../app/flow-tools/flow-tools.ts';
import { version } from '../../app/version.ts';
import type { CodedMessage } from '../../core/error-code.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import type { HttpCaller, HttpTools } from '../../io/tool-server/http-tools.ts';
import type { Caller } from '../caller.ts';
import { planOfCall } from '../flows/flow-variables.ts';
import { Problem } from '../problem.ts';
import type { Server } from '../server.ts';

/** The sender of an MCP request. */
export interface ToolCaller extends HttpCaller {
  readonly caller: Caller;
  /** Its address. */
  readonly ip: string;
  /** The variables of flows that it sets. */
  readonly given: GivenVariables;
}

/** The longest call. Progress tells the client that it goes on. */
const maxCallMs = 600_000;

/** Changes of the folder are looked for this often. */
const lookMs = 1000;

/** The flows of a server as MCP tools. */
export class ServedTools {
  readonly #server: Server;
  readonly #tools: FlowTools<ToolCaller>;
  /** Loaded by the first request. */
  #http: Promise<HttpTools<ToolCaller>> | undefined;
  #requests = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(server: Server) {
    this.#server = server;
    this.#tools = new FlowTools<ToolCaller>({
      flows: server.flows,
      sees: ({ caller }, { id }) => caller.sees(id),
      run: (call) => this.#run(call),
      errorText: (error) => (error instanceof Problem ? toolErrorText(error) : undefined),
      usedUpText,
      say: server.shared.say,
      bug: (error) => server.shared.say(`bug: ${(error as Error).stack ?? error}`),
    });
  }

  /** Answers a request of MCP. `body`: parsed JSON; undefined without one. */
  async answer(request: IncomingMessage, response: ServerResponse, body: unknown, caller: ToolCaller): Promise<void> {
    this.#http ??= this.#open();
    this.#requests++;
    try {
      await (await this.#http).handle(request, response, body, caller);
    } finally {
      this.#requests--;
    }
  }

  /** Looks for changes of the folder, and tells the clients. */
  async tick(): Promise<void> {
    const http = await this.#http;
    const now = performance.now();
    if (!http || (this.#requests === 0 && http.sessions === 0) || now - this.#lookedMs < lookMs) return;
    this.#lookedMs = now;
    if (await this.#tools.haveChanged()) http.toolsChanged();
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await (await this.#http)?.close();
  }

  async #open(): Promise<HttpTools<ToolCaller>> {
    const { HttpTools } = await import('../../io/tool-server/http-tools.ts');
    await this.#tools.haveChanged();
    return new HttpTools({ toolbox: this.#tools, version, now: () => performance.now() });
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
      ended(error instanceof Problem ? error.problem : 'internal');
      throw error;
    }
  }
}

/** The outcomes of calls in the audit. */
const outcomes: Readonly<Record<CallResult['kind'], string>> = {
  done: 'ok',
  failed: 'record-failed',
  unpaid: 'credits-used-up',
  late: 'call-timeout',
  stopped: 'stopped',
};

function toolErrorText({ detail, members: { credential } }: Problem): string {
  return typeof credential === 'string' ? `${detail}: ${credential}` : detail;
}

function usedUpText({ message, code }: CodedMessage): string {
  const name = /of the key "([^"]*)"/.exec(message)?.[1] ?? 'NAME';
  const command = code === 'quota' ? `automate keys change ${shellWord(name)} --credits N` : 'automate credits limit N';
  return `${message}\nthe operator of the server can raise it: ${command}`;
}
