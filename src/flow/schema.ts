import * as z from 'zod';
import { connectionAuth, mcpAuth } from '../core/auth/auth.ts';
import { clientCertificateOption } from '../core/connection.ts';
import type { NodeType } from '../core/node.ts';
import { concurrency, credits, rate, timeout } from '../core/options/amounts.ts';
import { condition, expression, path } from '../core/options/expressions.ts';
import { charset, credentialName, fieldName, headers, name } from '../core/options/names.ts';
import { isReferable } from '../core/template/template.ts';
import { describedAs, dictionary } from '../core/value/dictionary.ts';
import { isMapping } from '../core/value/value.ts';

/** @internal */
export const commonOptions = {
  id: name.optional().describe('a name for the node, unique in the flow (default: its type and position, such as http-1)'),
  when: condition.optional().describe('records for which this condition is false skip the node'),
  on_error: z
    .enum(['reject', 'keep', 'stop'])
    .default('reject')
    .describe(
      'what to do if a record fails: reject writes it to the errors file; keep passes it to the next node with _error and without the mapped fields; stop ends the run',
    ),
};

/** A connection is a named endpoint, and does not contain its secret. */
export const connectionSchema = z.strictObject({
  type: z.literal('http', { error: 'expected the connection type http or mcp' }),
  base_url: z.string().describe('the URL to which nodes add their relative url'),
  auth: connectionAuth
    .optional()
    .describe('how requests are authenticated: none, one of the types below, or a list of up to four (default: none)'),
  client_cert: clientCertificateOption
    .optional()
    .describe('a client certificate for mTLS: PEM files, with paths relative to the flow file'),
  http2: z.boolean().default(false).describe('use HTTP/2 if the server offers it (in the TLS handshake), otherwise HTTP/1.1'),
  headers: headers.optional().describe('headers to send with every request'),
  rate: rate.optional().describe('maximum rate of requests, such as 10/s (default: no limit)'),
  concurrency: concurrency
    .optional()
    .describe(
      'maximum number of requests in flight at once, for all nodes of the connection together; auto adapts the number to the server (default: what each node allows)',
    ),
  allow_http: z.boolean().default(false).describe('allow http:// URLs to other machines'),
  credits: credits.default(1).describe('the credits that one request costs'),
  cost: path.optional().describe('the path of the real cost in the answer, such as $headers.x-credits-used'),
  charset: charset.optional().describe('the charset of answers that do not state one, such as windows-1252 (default: utf-8)'),
});

const environmentVariable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable such as API_KEY');

const word = z.string({ error: 'expected a string' }).min(1, 'expected a word of a command line, found an empty string');

/** The server is either at a URL, or a command starts it on this machine. */
export const mcpConnectionSchema = z.strictObject({
  type: z.literal('mcp'),
  url: z.string().optional().describe('the URL of the server (Streamable HTTP, or SSE for older servers)'),
  command: z
    .union([word, z.array(word).min(1)], { error: 'expected a command line, or a list of its words' })
    .optional()
    .describe('instead of url: a command that starts the server on this machine; it is not run by a shell'),
  auth: mcpAuth.optional().describe('for a url: how requests are authenticated (default: none)'),
  headers: headers.optional().describe('for a url: headers to send with every request'),
  pass_env: z
    .array(environmentVariable)
    .optional()
    .describe('for a command: environment variables to pass on to the server, in addition to PATH, HOME and similar ones'),
  credentials: dictionary(environmentVariable, credentialName)
    .optional()
    .describe('for a command: environment variables, each with the name of the credential whose secret it contains'),
  start_timeout: timeout.prefault('60s').describe('how long the server can take to start'),
  rate: rate.optional().describe('maximum rate of calls, such as 10/s (default: no limit)'),
  concurrency: concurrency
    .optional()
    .describe(
      'maximum number of calls in flight at once, for all nodes of the connection together; auto adapts the number to the server (default: what each node allows)',
    ),
  allow_http: z.boolean().default(false).describe('allow an http:// URL to another machine'),
  credits: credits.default(1).describe('the credits that one call costs'),
  cost: path.optional().describe('the path of the real cost in the answer'),
});

const host = z.string().regex(/^[^/\s@?#]+$/, 'expected a host such as intranet.example.com or 10.0.0.7:8080');

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable such as api_url: letters, digits and underscores');

const variableValue = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'expected a string, a number, true, false, or null for a value that must be given',
});

const variableByEnvironment = dictionary(name, variableValue);

/** A mapping is checked separately, because a union of schemas would hide the messages about the mapping's values. */
const variableOption = describedAs(
  z.unknown().transform((written, context) => {
    const { data, error } = (isMapping(written) ? variableByEnvironment : variableValue).safeParse(written, { reportInput: true });
    for (const issue of error?.issues ?? []) context.issues.push(issue as z.core.$ZodRawIssue);
    return data;
  }),
  z.union([variableValue, z.record(name, variableValue)]),
);

const columnAlias = z
  .string()
  .refine(isReferable, { error: 'expected a name that templates can contain, such as first_name: letters, digits and underscores' });

const ownColumnName = z
  .string({ error: 'expected the name of a column, such as First Name; a number, true, false or null needs quotes' })
  .min(1, 'expected the name of a column, found an empty string');

const serialField = fieldName.refine((text) => !/\{\{.*\}\}/.test(text), { error: 'expected the name of a field, without braces' });

const serialBy = z.union(
  [
    serialField,
    z.array(serialField).min(1, 'expected at least one field'),
    z.strictObject({ cel: expression.describe('an expression whose value is compared') }),
  ],
  {
    error: 'expected a field such as email, a list of fields, or { cel: EXPRESSION }',
  },
);

/** YAML reads a name such as 503 or yes as another type. */
function nameProblem({ input }: { readonly input?: unknown }): string {
  return ['number', 'boolean'].includes(typeof input) ? `expected a string such as "${input}", with quotes` : 'expected a string';
}

/** The whole flow file, except for the contents of connections and nodes. */
export const flowSchema = z.strictObject(
  {
    name: z.string({ error: nameProblem }).optional().describe("the flow's name in messages and reports (default: the name of the file)"),
    description: z
      .string()
      .trim()
      .min(1, 'expected a string, found an empty string')
      .optional()
      .describe('what the flow does, for people and for AI agents that can call it'),
    connections: dictionary(name, z.unknown())
      .default({})
      .describe('endpoints that nodes refer to by name, with URL, authentication and limits'),
    vars: dictionary(variableName, variableOption)
      .default({})
      .describe(
        'values for {{vars.NAME}}: one value, a mapping with default and one for each environment, or null for a value that each run must give',
      ),
    open_vars: z.array(variableName).default([]).describe('variables that a caller may set when the flow is served over HTTP or MCP'),
    allow_hosts: z
      .array(host)
      .default([])
      .describe('hosts inside your network to which requests can go even if the URL comes from the fields of a record'),
    columns: dictionary(columnAlias, ownColumnName)
      .default({})
      .describe(
        'names for columns of the input that templates cannot name, such as { first_name: First Name }: the flow uses the new name, and files keep the name of the column',
      ),
    serial_by: serialBy
      .optional()
      .describe(
        'records with the same value go through the whole flow one after another, in the order of the input: a field such as email, a list of fields, or { cel: EXPRESSION } over the record as it is read; records without a value do not wait',
      ),
    nodes: z
      .array(z.unknown(), { error: 'expected a list of nodes' })
      .min(1, 'expected at least one node')
      .describe('the steps of the flow, in the order in which each record goes through them'),
  },
  { error: 'expected a flow: a mapping with the key nodes' },
);

export function nodeSchema(type: NodeType): z.ZodObject {
  return z.strictObject({ type: z.literal(type.name), ...commonOptions, ...type.options.shape });
}
