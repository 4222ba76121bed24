import * as z from 'zod';
import { connectionAuth, mcpAuth } from '../core/auth/auth.ts';
import { clientCertificateOption } from '../core/auth/client-certificate.ts';
import type { NodeType } from '../core/node.ts';
import { concurrency, credits, rate, timeout } from '../core/options/amounts.ts';
import { condition, path } from '../core/options/expressions.ts';
import { credentialName, headers, name } from '../core/options/names.ts';
import { describedAs, dictionary } from '../core/value/dictionary.ts';
import { isMapping } from '../core/value/value.ts';

/** The options that every node has. */
export const commonOptions = {
  id: name.optional().describe('unique; default: type and position, such as http-1'),
  when: condition.optional().describe('a CEL condition; records for which it is false skip the node'),
  on_error: z
    .enum(['reject', 'keep', 'stop'])
    .default('reject')
    .describe(
      'for a record that fails: reject writes it to the errors file, keep passes it on with _error and without the mapped fields, stop ends the run',
    ),
};

/** An HTTP connection in a flow: a named endpoint, without its secret. */
export const connectionSchema = z.strictObject({
  type: z.literal('http', { error: 'expected the connection type http or mcp' }),
  base_url: z.string().describe('base of the relative URLs of nodes'),
  auth: connectionAuth.optional().describe('none, one of the types below, or a list of up to four'),
  client_cert: clientCertificateOption
    .optional()
    .describe('for mTLS: { cert: FILE, key: FILE }, PEM files relative to the flow; passphrase: { credential: NAME } for an encrypted key'),
  headers: headers.optional().describe('headers of every request'),
  rate: rate.optional().describe('maximum rate of requests, such as 10/s'),
  concurrency: concurrency
    .optional()
    .describe('requests in flight at once, over all nodes of the connection; auto: the run finds the number'),
  allow_http: z.boolean().default(false).describe('allow http:// URLs'),
  credits: credits.default(1).describe('what one request costs'),
  cost: path.optional().describe('path in the answer to the real cost, such as $headers.x-credits-used'),
});

const environmentVariable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable such as API_KEY');

const word = z.string({ error: 'expected a text' }).min(1, 'expected a word of a command line, found an empty text');

/** A connection to an MCP server in a flow: at a URL, or started on this machine by a command. */
export const mcpConnectionSchema = z.strictObject({
  type: z.literal('mcp'),
  url: z.string().optional().describe('URL of the server: Streamable HTTP, or SSE for older servers'),
  command: z
    .union([word, z.array(word).min(1)], { error: 'expected a command line, or a list of its words' })
    .optional()
    .describe('starts the server on this machine and speaks with it over stdio; no shell reads it'),
  auth: mcpAuth.optional().describe('for a url'),
  headers: headers.optional().describe('for a url'),
  pass_env: z
    .array(environmentVariable)
    .optional()
    .describe('for a command: variables to pass to the server, besides PATH, HOME and the like'),
  credentials: dictionary(environmentVariable, credentialName)
    .optional()
    .describe('for a command: variables, and the credentials whose secrets they hold'),
  start_timeout: timeout.prefault('60s').describe('maximum time of the start of the server'),
  rate: rate.optional().describe('maximum rate of calls, such as 10/s'),
  concurrency: concurrency.optional().describe('calls in flight at once, over all nodes of the connection; auto: the run finds the number'),
  allow_http: z.boolean().default(false).describe('allow an http:// URL'),
  credits: credits.default(1).describe('what one call costs'),
  cost: path.optional().describe('path in the answer to the real cost'),
});

const host = z.string().regex(/^[^/\s@?#]+$/, 'expected a host such as intranet.example.com or 10.0.0.7:8080');

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable such as api_url: letters, digits and underscores');

const variableValue = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'expected a text, a number, true, false, or null for a value that must be given',
});

const variableByEnvironment = dictionary(name, variableValue);

/** A mapping has its own messages: a union would hide those of a value inside. */
const variableOption = describedAs(
  z.unknown().transform((written, context) => {
    const { data, error } = (isMapping(written) ? variableByEnvironment : variableValue).safeParse(written, { reportInput: true });
    for (const issue of error?.issues ?? []) context.issues.push(issue as z.core.$ZodRawIssue);
    return data;
  }),
  z.union([variableValue, z.record(name, variableValue)]),
);

/** The whole file, without the insides of connections and nodes. */
export const flowSchema = z.strictObject(
  {
    name: z.string().optional().describe("default: the file's name"),
    description: z
      .string()
      .trim()
      .min(1, 'expected a text, found an empty one')
      .optional()
      .describe('what the flow does, in words for people, and for AI agents that may call it'),
    connections: dictionary(name, z.unknown()).default({}).describe('named endpoints'),
    vars: dictionary(variableName, variableOption)
      .default({})
      .describe('values that the flow names as {{vars.NAME}}: one for all runs, one for each environment with a default, or null'),
    open_vars: z.array(variableName).default([]).describe('variables that the callers of a server may set'),
    allow_hosts: z.array(host).default([]).describe('hosts inside the network that records may name in URLs'),
    nodes: z
      .array(z.unknown(), { error: 'expected a list of nodes' })
      .min(1, 'expected at least one node')
      .describe('the steps that each record passes, in their order'),
  },
  { error: 'expected a flow: a mapping with the key nodes' },
);

/** The schema of a node of one type. */
export function nodeSchema(type: NodeType): z.ZodObject {
  return z.strictObject({ type: z.literal(type.name), ...commonOptions, ...type.options.shape });
}
