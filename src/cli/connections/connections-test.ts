import { testConnection } from '../../connections/connection-test.ts';
import { type AskingOptions, askServer, cacheToolServer } from '../../connections/tool-server.ts';
import type { HttpConnection } from '../../core/connection.ts';
import { durationText } from '../../core/duration.ts';
import { Failure } from '../../core/failure.ts';
import { creditsText } from '../../core/text/number.ts';
import type { McpConnection } from '../../core/tools.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { findSaved, loadConnection } from '../../run/flow-folder.ts';
import { printServer } from '../show/tools.ts';
import type { Terminal } from '../terminal.ts';

/** The options of `automate connections test`. */
export interface ConnectionTestOptions extends AskingOptions {
  readonly path?: string;
  readonly allowHttp?: boolean;
}

/** Tests a saved connection with one GET request, or by listing the tools of its MCP server. Returns the exit code. */
export async function testCommand(name: string, options: ConnectionTestOptions, terminal: Terminal): Promise<number> {
  const connection = loadConnection(name, options.allowHttp ?? false);
  return connection.type === 'mcp' ? testMcp(connection, options, terminal) : testHttp(connection, options, terminal);
}

async function testMcp(connection: McpConnection, options: ConnectionTestOptions, terminal: Terminal): Promise<number> {
  const { name } = connection;
  const server = await askServer(connection, options, terminal);
  await cacheToolServer(name, findSaved(name), server, terminal);
  printServer(server, terminal);
  await terminal.print(`${name}: works`);
  return exitCodes.success;
}

async function testHttp(connection: HttpConnection, options: ConnectionTestOptions, terminal: Terminal): Promise<number> {
  const { name } = connection;
  const { request, response, ms, spent, problem } = await testConnection(connection, options, terminal);
  const outcome = response instanceof Failure ? response.kind : response.status;
  terminal.say(`GET ${request.origin}${request.path}: ${outcome} in ${durationText(ms)}`);
  if (spent !== undefined) terminal.say(`${creditsText(spent)} spent`);
  if (problem) throw problem;
  const isMissing = 'status' in response && response.status === 404;
  if (isMissing) terminal.say(`the server was reached, but has nothing at ${request.path}; choose another path with --path`);
  await terminal.print(isMissing ? `${name}: reached, but it answers 404` : `${name}: works`);
  return exitCodes.success;
}
