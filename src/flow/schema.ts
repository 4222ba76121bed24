import * as z from 'zod';
import { dictionary } from '../core/dictionary.ts';
import type { NodeType } from '../core/node.ts';
import { auth, concurrency, condition, credits, headers, name, path, rate } from '../core/options.ts';

/** What every node may say, whatever its type. */
export const commonOptions = {
  id: name.optional().describe('unique; default: type and position, such as http-1'),
  when: condition.optional().describe('a CEL condition; records for which it is false pass the node untouched'),
  on_error: z
    .enum(['reject', 'keep', 'stop'])
    .default('reject')
    .describe('a record that fails: to the errors file, on without the mapped fields and with _error, or the end of the run'),
};

/** An HTTP connection in a flow: a named endpoint, without its secret. */
export const connectionSchema = z.strictObject({
  type: z.literal('http', { error: 'expected the connection type http' }),
  base_url: z.string().describe('relative URLs of nodes start here'),
  auth: auth.optional(),
  headers: headers.optional(),
  rate: rate.optional().describe('at most so many requests in a time, such as 10/s'),
  concurrency: concurrency.optional().describe('requests in flight at once, over all nodes of the connection'),
  allow_http: z.boolean().default(false).describe('allow http:// URLs'),
  credits: credits.default(1).describe('what one request costs'),
  cost: path.optional().describe('where an answer says what it really cost, such as $headers.x-credits-used'),
});

const host = z.string().regex(/^[^/\s@?#]+$/, 'expected a host such as intranet.example.com or 10.0.0.7:8080');

/** The whole file but for what is inside connections and nodes. */
export const flowSchema = z.strictObject({
  name: z.string().optional().describe("default: the file's name"),
  connections: dictionary(name, z.unknown()).default({}).describe('named endpoints'),
  allow_hosts: z.array(host).default([]).describe('hosts inside the network that a record may name in a URL'),
  nodes: z.array(z.unknown(), { error: 'expected a list of nodes' }).min(1, 'expected at least one node'),
});

/** A node of one type, as it may be written. */
export function nodeSchema(type: NodeType): z.ZodObject {
  return z.strictObject({ type: z.literal(type.name), ...commonOptions, ...type.options.shape });
}
