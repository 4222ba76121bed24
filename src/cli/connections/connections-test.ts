import { testConnection } from '../../connections/connection-test.ts';
import { type AskingOptions, askServer, cacheToolServer, nodeText } from '../../connections/tool-server.ts';
import { excerpt } from '../../core/answer/response.ts';
import type { HttpConnection } from '../../core/connection.ts';
import { durationText } from '../../core/duration.ts';
import { Failure, usageError } from '../../core/failure.ts';
import { creditsText } from '../../core/text/number.ts';
import { escapedControls } from '../../core/text/quoted-word.ts';
import { didYouMean, listedNames } from '../../core/text/suggest.ts';
import type { McpConnection, Tool } from '../../core/tools.ts';
import { findSaved, loadConnection } from '../../run/flow-folder.ts';
import { versionText } from '../show/request.ts';
import { printServer, serverText, toolsText, toolText } from '../show/tools.ts';
import { indentedJson, type Terminal } from '../terminal.ts';

interface ConnectionTestOptions extends AskingOptions {
  readonly path?: string;
  readonly allowHttp?: boolean;
}

export async function testCommand(name: string, options: ConnectionTestOptions, terminal: Terminal): Promise<undefined> {
  const connection = await loadConnection(name, options.allowHttp ?? false);
  return connection.type === 'mcp' ? testMcp(connection, options, terminal) : testHttp(connection, options, terminal);
}

async function testMcp(connection: McpConnection, options: ConnectionTestOptions, terminal: Terminal): Promise<undefined> {
  const { name } = connection;
  const server = await askServer(connection, options, terminal);
  await cacheToolServer(name, findSaved(name), server, terminal);
  printServer(server, terminal);
  await terminal.print(`${name}: works`);
}

async function testHttp(connection: HttpConnection, options: ConnectionTestOptions, terminal: Terminal): Promise<undefined> {
  const { name } = connection;
  const { request, response, ms, spent, problem } = await testConnection(connection, options, terminal);
  const outcome = response instanceof Failure ? response.kind : response.status;
  const version = response instanceof Failure ? '' : versionText(response);
  terminal.say(`GET ${request.origin}${request.path}: ${outcome}${version} in ${durationText(ms)}`);
  if (spent !== undefined) terminal.say(`${creditsText(spent)} spent`);
  if (problem) throw problem;
  const isMissing = 'status' in response && response.status === 404;
  if (isMissing) terminal.say(`the server was reached, but has nothing at ${request.path}; choose another path with --path`);
  await terminal.print(isMissing ? `${name}: reached, but it answers 404` : `${name}: works`);
}

interface ToolsCommandOptions extends AskingOptions {
  readonly json?: boolean;
  readonly allowHttp?: boolean;
}

export async function toolsCommand(
  name: string,
  wanted: string | undefined,
  options: ToolsCommandOptions,
  terminal: Terminal,
): Promise<undefined> {
  const connection = await loadConnection(name, options.allowHttp ?? false);
  if (connection.type !== 'mcp') {
    throw usageError(`"${name}" is a connection of type ${connection.type}; expected one of type mcp, because only MCP servers have tools`);
  }
  const server = await askServer(connection, options, terminal);
  await cacheToolServer(name, findSaved(name), server, terminal);
  const tools = wanted === undefined ? server.tools : [findTool(name, wanted, server.tools)];
  if (options.json) {
    const listed = tools.map((tool) => ({ ...tool, node: nodeText(name, tool) }));
    await terminal.print(escapedControls(indentedJson(wanted === undefined ? listed : listed[0])));
    return;
  }
  if (wanted === undefined) terminal.say(serverText(server));
  await terminal.print(wanted === undefined ? toolsText(tools) : toolText(name, tools[0] as Tool));
}

function findTool(connection: string, wanted: string, tools: readonly Tool[]): Tool {
  const tool = tools.find(({ name }) => name === wanted);
  if (tool) return tool;
  const names = tools.map(({ name }) => excerpt(name, 80));
  throw usageError(
    `the server of "${connection}" has no tool "${wanted}"${didYouMean(wanted, names) || `; it has ${listedNames(names) || 'none'}`}`,
  );
}
