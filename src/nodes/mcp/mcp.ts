import type { Action, CredentialNeed } from '../../core/action.ts';
import { type Answer, compileMapping, type Mapping } from '../../core/answer/mapping.ts';
import { compilePath } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import { Failure } from '../../core/failure.ts';
import { type BuildContext, defineNode, type Node } from '../../core/node.ts';
import { loginHint, serverCredentials } from '../../core/tools/tool-credentials.ts';
import { isRemote, type McpConnection, type ToolAnswer, type ToolCall } from '../../core/tools/tools.ts';
import type { Value } from '../../core/value/value.ts';
import { callPolicy, mappedColumns, tryOption } from '../call-policy.ts';
import { callEach, readMapped } from '../calling.ts';
import { usesWithin } from '../http/request-template.ts';
import { type McpOptions, mcpOptions } from './mcp-options.ts';
import { type ArgumentsTemplate, argumentsTemplate } from './tool-arguments.ts';
import { toolProblems } from './tool-check.ts';

/** The MCP tool node: one call of a tool per record. */
export const mcp = defineNode({
  name: 'mcp',
  summary: 'MCP tool: calls a tool of an MCP server once per record and maps the answer into fields',
  example: `- type: mcp
  connection: search-tools
  tool: search
  arguments: { query: "{{name}}", limit: 3 }
  map: { hits: "results[].title" }`,
  options: mcpOptions,
  build: buildMcp,
});

function buildMcp(options: McpOptions, context: BuildContext): Node | undefined {
  const connection = context.mcpConnection(options.connection);
  const template = tryOption(context, ['arguments'], () => argumentsTemplate(options.arguments as Value, context.isCell));
  const mapping = tryOption(context, ['map'], () => options.map && toolMapping(options));
  const policy = callPolicy(options, connection, context);
  if (!connection || !template) return undefined;
  const action: Action = {
    ...policy,
    prepare: callTemplate(options, connection, template),
    accept: (answer: ToolAnswer) => acceptToolAnswer(options, answer),
    read: (fields, answer) => readMapped(mapping, fields, answer),
    credentials: loginsOf(connection),
    expands: mapping?.expands ?? false,
    maxCalls: 1,
    paths: mapping?.paths ?? [],
    fields: mapping?.fields ?? [],
    tool: {
      connection,
      check: (tools, isTable) => toolProblems({ tool: options.tool, connection: connection.name, arguments: template }, tools, isTable),
    },
  };
  return { reads: usesWithin(options.arguments as Value, ['arguments']), ...mappedColumns(mapping), run: callEach(action), action };
}

function callTemplate({ tool, timeout: timeoutMs }: McpOptions, connection: McpConnection, template: ArgumentsTemplate): Action['prepare'] {
  const { server, origin } = connection;
  const auth = isRemote(server) && server.auth ? { auth: server.auth } : {};
  return (fields): ToolCall => ({ kind: 'tool', connection, origin, ...auth, tool, arguments: template.render(fields), timeoutMs });
}

/** Takes an answer that is no error. It has no status and no headers. */
function acceptToolAnswer({ tool, retry }: McpOptions, { isError, text, body }: ToolAnswer): Answer {
  if (!isError) return { status: undefined, header: noHeader, body };
  const reason = text === '' ? '' : `: ${excerpt(text)}`;
  throw new Failure('tool', `the tool "${tool}" failed${reason}`, { retryable: retry.on.some((wanted) => wanted === 'tool') });
}

const noHeader = () => undefined;

function loginsOf(connection: McpConnection): CredentialNeed[] {
  return serverCredentials(connection).map(({ name: field, isPair, isLogin, origins }) => {
    return { field, at: ['connection'], isPair, origins, ...(isLogin && { wayOut: loginHint(connection.name) }) };
  });
}

function toolMapping({ map = [], when_empty: whenEmpty }: McpOptions): Mapping {
  const mapping = compileMapping(map as readonly string[], whenEmpty);
  const other = mapping.paths.find((path) => compilePath(path).root !== 'body');
  if (other === undefined) return mapping;
  throw new Error(`a tool's answer has no "${other}"; expected a path into it, or $body for all of it`);
}
