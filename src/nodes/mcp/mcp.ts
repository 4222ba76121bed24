import { compileMapping, type Mapping, rootValue } from '../../core/answer/mapping.ts';
import { compilePath, type Path } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import type { RetryPolicy } from '../../core/call.ts';
import { Failure } from '../../core/failure.ts';
import { type BuildContext, type CredentialNeed, defineNode, type Node, type NodeContext } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { loginHint, serverCredentials } from '../../core/tools/tool-credentials.ts';
import { isRemote, type McpConnection, type ToolAnswer, type ToolCall } from '../../core/tools/tools.ts';
import type { Value } from '../../core/value/value.ts';
import { costIn, costPath, limitsOf, matches, policyOf } from '../call-policy.ts';
import { tried, usesWithin } from '../http/http-request.ts';
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
  build,
});

/** What of a node is worked out once. */
interface Compiled {
  readonly options: McpOptions;
  readonly connection: McpConnection;
  readonly arguments: ArgumentsTemplate;
  readonly mapping: Mapping | undefined;
  readonly limit: { readonly key: string; readonly max: number };
  readonly intervalMs: number | undefined;
  readonly retry: RetryPolicy;
  /** Where an answer says what it really cost; absent for nowhere. */
  readonly cost: Path | undefined;
}

function build(options: McpOptions, context: BuildContext): Node | undefined {
  const connection = context.mcpConnection(options.connection);
  const template = tried(context, ['arguments'], () => argumentsTemplate(options.arguments as Value, context.isCell));
  const mapping = tried(context, ['map'], () => options.map && toolMapping(options));
  const cost = tried(context, ['cost'], () => costPath(options.cost ?? connection?.cost));
  if (!connection || !template) return undefined;
  const compiled: Compiled = {
    options,
    connection,
    arguments: template,
    mapping,
    ...limitsOf(options, connection, context),
    retry: policyOf(options.retry),
    cost,
  };
  return {
    reads: usesWithin(options.arguments as Value, ['arguments']),
    typedFields: mapping?.fields ?? [],
    columns: (before) => [...new Set([...before, ...(mapping?.fields ?? [])])],
    run: (fields, runContext) => run(compiled, fields, runContext),
    action: {
      kind: 'tool',
      connection,
      concurrency: compiled.limit.max,
      batchSize: undefined,
      mostCalls: 1,
      isCached: false,
      intervalMs: compiled.intervalMs,
      price: { credits: options.credits ?? connection.credits, connection: connection.name },
      credentials: credentialsOf(connection),
      request: (fields) => callOf(compiled, fields),
      check: (tools, isTable) => toolProblems({ tool: options.tool, connection: connection.name, arguments: template }, tools, isTable),
      body: ({ body }) => body,
      rows: (fields, answer, found) => (mapping ? rowsOf(mapping, fields, answer, found) : [fields]),
      expands: mapping?.expands ?? false,
      paths: mapping?.paths ?? [],
      fields: mapping?.fields ?? [],
      refusal: (answer) => refusal(options, answer),
      cost: (answer) => (cost ? costOf(cost, answer) : undefined),
    },
  };
}

function credentialsOf(connection: McpConnection): CredentialNeed[] {
  return serverCredentials(connection).map(({ name: field, isPair, isLogin, origins }) => {
    return { field, at: ['connection'], isPair, origins, ...(isLogin && { wayOut: loginHint(connection.name) }) };
  });
}

function costOf(path: Path, { body }: ToolAnswer): number | undefined {
  return costIn(rootValue(path, { status: undefined, header: () => undefined, body }, body));
}

/** An answer of a tool has no status and no headers. */
function toolMapping({ map = [], when_empty: whenEmpty }: McpOptions): Mapping {
  const mapping = compileMapping(map as readonly string[], whenEmpty);
  const other = mapping.paths.find((path) => compilePath(path).root !== 'body');
  if (other === undefined) return mapping;
  throw new Error(`a tool's answer has no "${other}"; expected a path into it, or $body for all of it`);
}

function callOf({ options, connection, arguments: template }: Compiled, fields: Fields): ToolCall {
  const { server, origin } = connection;
  const auth = isRemote(server) && server.auth ? { auth: server.auth } : {};
  return { kind: 'tool', connection, origin, ...auth, tool: options.tool, arguments: template.render(fields), timeoutMs: options.timeout };
}

async function run(compiled: Compiled, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  const { mapping, cost } = compiled;
  const call = callOf(compiled, fields);
  const answer = await context.call<ToolAnswer>({
    gate: { origin: call.origin, credential: call.auth?.credential },
    intervalMs: compiled.intervalMs,
    limit: compiled.limit,
    retry: compiled.retry,
    attempt: () => attempt(compiled.options, call, context),
    askedToWaitMs: () => undefined,
    ...(cost && { cost: (answer: ToolAnswer) => costOf(cost, answer) }),
  });
  if (!mapping) return [fields];
  const found: boolean[] = [];
  const rows = rowsOf(mapping, fields, answer, found);
  context.mapped(mapping.paths, found);
  return rows;
}

/** One try. What may be tried again by its nature is tried again where the flow wants that. */
async function attempt(options: McpOptions, call: ToolCall, context: NodeContext): Promise<ToolAnswer> {
  const { on } = options.retry;
  try {
    const answer = await context.tools.call(call, (progress) => context.progressed(call.tool, progress));
    const refused = refusal(options, answer);
    if (refused) throw refused;
    return answer;
  } catch (error) {
    if (!(error instanceof Failure) || !error.retryable || error.kind === 'tool') throw error;
    const isWanted = error.kind === 'http' ? matches(on, error.status ?? 0) : on.some((wanted) => wanted === error.kind);
    throw isWanted ? error : error.asFinal();
  }
}

function refusal({ tool, retry }: McpOptions, { isError, text }: ToolAnswer): Failure | undefined {
  if (!isError) return undefined;
  const reason = text === '' ? '' : `: ${excerpt(text)}`;
  return new Failure('tool', `the tool "${tool}" failed${reason}`, { retryable: retry.on.some((wanted) => wanted === 'tool') });
}

function rowsOf(mapping: Mapping, fields: Fields, { body }: ToolAnswer, found: boolean[]): Fields[] {
  return mapping.apply(fields, { status: undefined, header: () => undefined, body }, found);
}
