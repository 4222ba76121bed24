import * as z from 'zod';
import { path } from '../../core/options/expressions.ts';
import { name } from '../../core/options/names.ts';
import { defaultRetry, defaultRetryOn, retry, retryOn } from '../../core/options/retry.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { ruleOptions } from '../answer-rules.ts';
import { callOptions, meanings } from '../call-options.ts';

const toolRetryOn = z.union([z.literal('tool'), retryOn], {
  error: 'expected timeout, network, tool, a status such as 429 or a class such as 5xx',
});

/** The options of an MCP tool node. */
export const mcpOptions = z.strictObject({
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

/** The checked options of an MCP tool node. */
export type McpOptions = z.output<typeof mcpOptions>;
