import * as z from 'zod';
import { type Answer, compileMapping, type Mapping } from '../../core/answer/mapping.ts';
import { compilePath, isFact } from '../../core/answer/path.ts';
import { excerpt } from '../../core/answer/response.ts';
import { loginIn } from '../../core/auth/login-need.ts';
import { Failure } from '../../core/failure.ts';
import { type Action, type BuildContext, type CredentialNeed, defineNode, type Node } from '../../core/node.ts';
import { defaultRetry, defaultRetryOn, retry, retryOn } from '../../core/options/amounts.ts';
import { path } from '../../core/options/expressions.ts';
import { name } from '../../core/options/names.ts';
import { isRemote, type McpConnection, serverCredentials, type ToolAnswer, type ToolCall } from '../../core/tools.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import type { Value } from '../../core/value/value.ts';
import { AnswerRules, ruleOptions, ruleReads } from '../answer-rules.ts';
import { callOptions, callPolicy, mappedColumns, meanings, tryOption } from '../call-policy.ts';
import { callEach, readMapped } from '../calling.ts';
import { usesWithin } from '../http/request-template.ts';
import { type ArgumentsTemplate, argumentsTemplate, toolProblems } from './tool-check.ts';

const toolRetryOn = z.union([z.literal('tool'), retryOn], {
  error: 'expected timeout, network, tool, a status such as 429 or a class such as 5xx',
});

const mcpOptions = z.strictObject({
  connection: name.describe('a connection of the type mcp, from the flow or saved'),
  tool: z.string().min(1, 'expected the name of a tool').describe('the name of the tool; automate connections tools NAME lists them'),
  arguments: z
    .union([z.string(), dictionary(z.string(), z.unknown())], { error: 'expected a mapping, or JSON text' })
    .default({})
    .describe(
      'the arguments of the tool: a mapping or JSON text; {{field}} inserts a field, which keeps its type if it is the whole value',
    ),
  ...callOptions,
  retry: retry
    .extend({
      on: z
        .array(toolRetryOn)
        .default([...defaultRetryOn])
        .describe('the failures that are retried; tool adds those that the tool itself reports'),
    })
    .prefault(defaultRetry)
    .describe(meanings.retry),
  ...ruleOptions(['body', 'record']),
  map: callOptions.map.describe(
    'the fields that the answer adds: paths into its structuredContent; if it has none, into its text read as JSON; otherwise into { text }',
  ),
  cost: path.optional().describe('the path of the real cost in the answer'),
});

type McpOptions = z.output<typeof mcpOptions>;

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
  const rules = tryOption(context, ['error_message'], () => toolRules(options, context));
  const policy = callPolicy(options, connection, context);
  if (!connection || !template) return undefined;
  const action: Action = {
    ...policy,
    readsFacts: mapping?.readsFacts,
    prepare: callTemplate(options, connection, template),
    accept: toolAnswerReader(options, rules),
    read: (fields, answer) => readMapped(mapping, fields, answer),
    judgesAnswers: options.fail_when !== undefined,
    credentials: loginsOf(connection),
    expands: mapping?.expands ?? false,
    maxCalls: 1,
    paths: mapping?.paths ?? [],
    fields: mapping?.fields ?? [],
    tool: {
      connection,
      check: (tools, textCells) => toolProblems({ tool: options.tool, connection: connection.name, arguments: template }, tools, textCells),
    },
  };
  const reads = [...usesWithin(options.arguments as Value, ['arguments']), ...ruleReads(options)];
  return { reads, ...mappedColumns(mapping), run: callEach(action), action };
}

function callTemplate({ tool, timeout: timeoutMs }: McpOptions, connection: McpConnection, template: ArgumentsTemplate): Action['prepare'] {
  const { server, origin } = connection;
  const auth = isRemote(server) && server.auth ? { auth: server.auth } : {};
  return (fields): ToolCall => ({ kind: 'tool', connection, origin, ...auth, tool, arguments: template.render(fields), timeoutMs });
}

/** Such a response has no status and no headers. */
function toolAnswerReader({ tool }: McpOptions, rules: AnswerRules | undefined): Action['accept'] {
  return ({ isError, text, body }: ToolAnswer, _request, record, clock): Answer => {
    const answer = { status: undefined, header: noHeader, body };
    if (!isError) {
      rules?.check(answer, record, clock);
      return answer;
    }
    const reason = text === '' ? '' : `: ${excerpt(text)}`;
    const message = rules?.messageIn(answer) ?? `the tool "${tool}" failed${reason}`;
    throw new Failure('tool', message, { retryable: true });
  };
}

const noHeader = () => undefined;

function loginsOf(connection: McpConnection): CredentialNeed[] {
  return serverCredentials(connection).map(({ name: field, ...need }) => ({
    field,
    ...need,
    at: ['connection'],
    ...loginIn(need, connection),
  }));
}

function toolMapping({ map = [], when_empty: whenEmpty }: McpOptions): Mapping {
  const mapping = compileMapping(map, whenEmpty);
  for (const path of mapping.paths) if (!isFact(compilePath(path))) refuseOutsideBody(path);
  return mapping;
}

function toolRules(options: McpOptions, context: BuildContext): AnswerRules | undefined {
  if (options.error_message !== undefined) refuseOutsideBody(options.error_message);
  return AnswerRules.of(options, false, context);
}

function refuseOutsideBody(path: string): void {
  if (compilePath(path).root === 'body') return;
  throw new Error(`a tool's answer has no "${path}"; expected a path into it, or $body for all of it`);
}
