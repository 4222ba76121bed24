import * as z from 'zod';
import { dictionary } from '../core/dictionary.ts';
import { concurrency, credits, fieldName, name, path, rate, retry, retryOn, timeout } from '../core/options.ts';

const toolRetryOn = z.union([z.literal('tool'), retryOn], {
  error: 'expected timeout, network, tool, a status such as 429 or a class such as 5xx',
});

/** What a user may write in an MCP tool node. */
export const mcpOptions = z.strictObject({
  connection: name.describe('a connection of type mcp, of the flow or saved'),
  tool: z.string().min(1, 'expected the name of a tool').describe('automate connections tools NAME lists them'),
  arguments: z
    .union([z.string(), dictionary(z.string(), z.unknown())], { error: 'expected a mapping, or JSON text' })
    .default({})
    .describe('a mapping, or JSON text; {{field}} puts a field in, and alone in its quotes it keeps its type'),
  timeout: timeout.prefault('30s').describe('one limit for the whole call'),
  retry: retry
    .extend({
      on: z.array(toolRetryOn).default([429, '5xx', 'timeout', 'network']).describe('what is tried again; tool: what the tool says failed'),
    })
    .prefault({ max: 3, on: [429, '5xx', 'timeout', 'network'], backoff: '1s', max_wait: '5m' })
    .describe('when and how often a call is made again'),
  rate: rate.optional().describe('at most so many calls in a time, such as 10/s'),
  concurrency: concurrency.optional().describe('calls in flight at once; 16 unless the connection says otherwise'),
  map: z
    .union([z.array(path).min(1), dictionary(fieldName, path)], { error: 'expected a list of paths, or a mapping of field names to paths' })
    .optional()
    .describe('the fields that the answer adds: paths into structuredContent, else into the text as JSON, else into { text }'),
  when_empty: z.enum(['keep', 'drop', 'error']).default('keep').describe('a record whose array to expand is empty or absent'),
  credits: credits.optional().describe('what one call costs; 1 unless the connection says otherwise'),
  cost: path.optional().describe('where an answer says what it really cost'),
});

/** An MCP tool node as it was checked. */
export type McpOptions = z.output<typeof mcpOptions>;
