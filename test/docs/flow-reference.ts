import * as z from 'zod';
import { type DescribedOption, describedOptions } from '../../src/cli/flow/described-options.ts';
import { authTypes, loginTypes } from '../../src/core/auth/auth-types.ts';
import { toJsonSchema } from '../../src/flow/json-schema.ts';
import { commonOptions, connectionSchema, flowSchema, mcpConnectionSchema } from '../../src/flow/schema.ts';
import { nodeTypes } from '../../src/nodes/index.ts';

const intro = `<!-- Generated from the tables in src; after a change there: npm test -- test/docs -u -->
# Flow reference

All keys of a flow file. \`automate nodes\` lists the node types, and \`automate nodes http\` prints the options of one.
\`automate schema --out flow.schema.json\` writes the JSON Schema, with which editors complete and check flows.

| value | is written |
|---|---|
| duration | \`250ms\`, \`1s\`, \`5m\`, \`24h\`, \`7d\`, or a whole number of milliseconds |
| rate | \`10/s\`, \`600/min\`, \`5000/h\` |
| size | \`10MB\`, \`512kB\`, or a whole number of bytes |
| condition | [CEL](expressions.md): \`status == "done" && progress >= 100\` |
| path | a [path into an answer](mapping-and-templates.md#paths): \`data.user.name\` |
`;

/** The text of docs/flow-reference.md, from the tables that \`automate nodes\` and \`automate schema\` are made of. */
export function flowReference(): string {
  return [
    intro,
    '## The file\n',
    ...table(flowSchema),
    '## HTTP connections\n\nAn entry of `connections` with `type: http`. See [Connections](connections.md).\n',
    ...table(connectionSchema),
    '## MCP connections\n\nAn entry of `connections` with `type: mcp`. See [MCP servers](mcp.md).\n',
    ...table(mcpConnectionSchema),
    '## auth\n\nOf a connection or an `http` node. `none`, one of these types, or a list of up to four. `oauth2_authorization_code` is for connections alone. See [Connections](connections.md#authentication).\n',
    ...[...authTypes, ...loginTypes].flatMap(({ options }) => [`### ${typeOf(options)}\n`, ...table(options)]),
    '## Every node\n\nAll nodes have these options, besides those of their type.\n',
    ...table(z.strictObject(commonOptions)),
    ...nodeTypes.flatMap(({ name, summary, options, example }) => [
      `## ${name}\n\n${summary}.\n\n\`\`\`yaml\n${example}\n\`\`\`\n`,
      ...table(options),
    ]),
  ].join('\n');
}

/** The value of `type` in a schema, or in the first of its variants. */
function typeOf(schema: z.ZodType): string {
  const described = toJsonSchema(schema);
  return String((described.anyOf?.[0] ?? described).properties?.type?.const);
}

/** The options of a mapping; those of `auth` have a section of their own. */
function table(schema: z.ZodType): string[] {
  const options = describedOptions(toJsonSchema(schema)).filter(({ name }) => !name.startsWith('auth.'));
  return ['| option | value | default | meaning |', '|---|---|---|---|', ...options.map(rowOf), ''];
}

function rowOf({ name, kind, isRequired, value, description = '' }: DescribedOption): string {
  const cells = [`\`${name}\``, kind, isRequired ? 'required' : value === undefined ? '' : `\`${value}\``, description];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
