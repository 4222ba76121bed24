import { onTestFinished } from 'vitest';
import type { Auth } from '../../../src/core/auth/auth.ts';
import type { ToolServerEvent } from '../../../src/core/event.ts';
import { Failure } from '../../../src/core/failure.ts';
import type { McpConnection, ToolAnswer, ToolProgress, Tools } from '../../../src/core/tools.ts';
import type { JsonObject } from '../../../src/core/value/value.ts';
import { createTransport } from '../../../src/http/transport.ts';
import { createTools, type ToolsOptions } from '../../../src/mcp/tools.ts';

/** Returns a connection to a local server. */
export function local(
  command: readonly string[],
  more: Partial<McpConnection> & { passEnv?: string[]; credentials?: Record<string, string> } = {},
): McpConnection {
  const { passEnv = [], credentials = {}, ...rest } = more;
  return { ...common, server: { command: command as [string, ...string[]], passEnv, credentials }, origin: 'stdio:tools', ...rest };
}

/** Returns a connection to a server at a URL. */
export function remote(url: string, auth?: Auth, headers: Record<string, string> = {}): McpConnection {
  return { ...common, server: { url, auth, headers, allowHttp: true }, origin: new URL(url).origin };
}

const limits = { intervalMs: undefined, concurrency: undefined, credits: 1, cost: undefined };
const common = { name: 'tools', isSaved: false, ...limits, startTimeoutMs: 60_000 };

/** The tools port, with all events that it has reported. */
export interface UsedTools {
  readonly tools: Tools;
  readonly events: ToolServerEvent[];
  readonly secrets: string[];
  readonly used: string[];
  /** Calls a tool. Resolves to a Failure instead of throwing it. */
  call(
    connection: McpConnection,
    tool: string,
    values?: JsonObject,
    more?: { timeoutMs?: number; progressed?: (progress: ToolProgress) => void },
  ): Promise<ToolAnswer | Failure>;
}

/** Creates the tools port for the current test. */
export function useTools(options: Partial<ToolsOptions> = {}): UsedTools {
  const events: ToolServerEvent[] = [];
  const secrets: string[] = [];
  const used: string[] = [];
  const clocks = { now: () => performance.now(), wallNow: () => Date.now() };
  const tools = createTools({
    version: '1.2.3',
    environment: process.env,
    cacert: undefined,
    fetch: createTransport({ ...clocks, environment: {}, userAgent: 'automate/1.2.3' }).fetch,
    secrets: new Map(),
    ...clocks,
    used: (name) => used.push(name),
    secret: (text) => secrets.push(text),
    storeLogin: async () => {},
    report: (event) => events.push(event),
    ...options,
  });
  onTestFinished(tools.close);
  return {
    tools,
    events,
    secrets,
    used,
    call: (connection, tool, values = {}, { timeoutMs = 60_000, progressed = () => {} } = {}) =>
      tools
        .call({ kind: 'tool', connection, origin: connection.origin, tool, arguments: values, timeoutMs }, progressed)
        .catch((error: unknown) => {
          if (error instanceof Failure) return error;
          throw error;
        }),
  };
}

/** Returns a secret in the form that looking up a credential returns. */
export function secretOf(text: string, hosts?: readonly string[]): { text: string; from: string; hosts?: readonly string[] } {
  return { text, from: 'the test', ...(hosts && { hosts }) };
}
