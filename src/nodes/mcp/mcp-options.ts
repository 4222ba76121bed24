import * as z from 'zod';
import { concurrency, credits, rate, timeout } from '../../core/options/amounts.ts';
import { path } from '../../core/options/expressions.ts';
import { name } from '../../core/options/names.ts';
import { defaultRetry, defaultRetryOn, retry, retryOn } from '../../core/options/retry.ts';
import { dictionary } from '../../core/value/dictionary.ts';
import { ruleOptions } from '../answer-rules.ts';
import { map, whenEmpty } from '../call-policy.ts';

const toolRetryOn = z.union([z.literal('tool'), retryOn], {
  error: 'expected timeout, network, tool, a status such as 429 or a class such as 5xx',
});

/** The options of an MCP tool node. */
export const mcpOptions = z.strictObject({
  connection: name.describe('a connection of type mcp, of the flow or saved'),
  tool: z.string().min(1, 'expected the name of a tool').describe('automate connections tools NAME lists them'),
  arguments: z
    .union([z.string(), dictionary(z.string(), z.unknown())], { error: 'expected a mapping, or JSON text' })
    .default({})
    .describe('a mapping, or JSON text; {{field}} inserts a field, with its type if it is the whole value'),
  timeout: timeout.prefault('30s').describe('one limit for the whole call'),
  retry: retry
    .extend({
      on: z
        .array(toolRetryOn)
        .default([...defaultRetryOn])
        .describe('what is tried again; tool: what the tool says failed'),
    })
    .prefault(defaultRetry)
    .describe('when and how often a call is made again'),
  rate: rate.optional().describe('maximum rate of calls, such as 10/s'),
  concurrency: concurrency
    .optional()
    .describe('calls in flight at once; 16 unless the connection says otherwise; auto: the run finds the number'),
  ...ruleOptions(['body', 'record']),
  map: map
    .optional()
    .describe('the fields that the answer adds: paths into structuredContent, else into the text as JSON, else into { text }'),
  when_empty: whenEmpty,
  credits: credits.optional().describe('what one call costs; 1 unless the connection says otherwise'),
  cost: path.optional().describe('where an answer says what it really cost'),
});

/** The checked options of an MCP tool node. */
export type McpOptions = z.output<typeof mcpOptions>;
