import * as z from 'zod';
import { type DescribedOption, describedOptions } from '../../src/cli/described-options.ts';
import { authTypes, loginTypes } from '../../src/core/auth/auth-types.ts';
import { toJsonSchema } from '../../src/flow/json-schema.ts';
import { commonOptions, connectionSchema, flowSchema, mcpConnectionSchema } from '../../src/flow/schema.ts';
import { answerSchema, testFileSchema, testSchema } from '../../src/flow-tests/test-schema.ts';
import { nodeTypes } from '../helpers/node-types.ts';

const intro = `<!-- Generated from the tables in src; after a change there: npm test -- test/docs -u -->
# Flow reference

This page lists every key that you can write in a flow file. If you are new to flows, start with [Getting started](getting-started.md).

- \`automate nodes\` lists the node types, and \`automate nodes http\` prints the options of one of them.
- \`automate schema --out flow.schema.json\` writes a JSON Schema, so that your editor can complete and check flows.

The column "value" says what you can write:

| value | is written |
|---|---|
| string | a YAML string. If it contains \`{{field}}\` or \`: \`, put it into quotes: \`"{{id}}"\` |
| mapping | names with values: \`{ name: value }\`, or one name on each line |
| list | \`[a, b]\`, or one \`- item\` on each line |
| duration | \`250ms\`, \`1s\`, \`5m\`, \`24h\`, \`7d\`, or a whole number of milliseconds |
| rate | \`10/s\`, \`600/min\`, \`5000/h\` |
| size | \`10MB\`, \`512kB\`, or a whole number of bytes |
| distance | \`250m\`, \`5km\`, \`2mi\` |
| condition | a [CEL expression](expressions.md) that is true or false: \`status == "done" && progress >= 100\` |
| path | a [path into an answer](mapping-and-templates.md#paths): \`data.user.name\` |
| variable | a [variable](variables.md) of the flow: \`"{{vars.limit}}"\`. \`rate\` and \`timeout\` accept one as well |

You can leave out an option unless the column "default" says \`required\`. Inside a mapping, \`required\` means that you cannot write the mapping without it: for example, \`client_cert\` can be left out, but if you write it, it needs \`cert\` and \`key\`. In an option such as \`map.NAME.path\`, \`NAME\` stands for a name that you choose.
`;

/** The options of the nodes that send requests or look something up. */
const requestTypes = nodeTypes.flatMap(({ name, options }) =>
  'retry' in options.shape ? [{ name, options: describedOptions(toJsonSchema(options)) }] : [],
);

const shared = `## Nodes that send requests

The nodes ${listed(requestTypes.map(({ name }) => name))} have these options in addition to their own. If a default differs from node to node, the first line in the column "default" applies to every node that is not in the other lines.

Some limits cannot be raised. The public servers of Overpass, Nominatim and Photon get at most one request per second, and their answers are cached for at least 30 days. \`retry\` has no effect for Overpass, and \`retry.backoff\` has none for Nominatim and Photon. If you use a \`connection\` to your own server, your values apply.

See also [Errors and retries](errors-and-retries.md) for \`timeout\` and \`retry\`, [Performance](performance.md) for \`rate\` and \`concurrency\`, [Mapping](mapping-and-templates.md) for \`map\`, and [Credits](credits.md).
`;

/** Returns the content of docs/flow-reference.md, from the same tables as `automate nodes` and `automate schema`. */
export function flowReference(): string {
  return [
    intro,
    '## The file\n',
    ...table(flowSchema),
    '## HTTP connections\n\nAn entry of `connections` with `type: http`. See [Connections](connections.md).\n',
    ...table(connectionSchema),
    '## MCP connections\n\nAn entry of `connections` with `type: mcp`. See [MCP servers](mcp.md).\n',
    ...table(mcpConnectionSchema),
    '## auth\n\nYou can write `auth` in a connection or in an `http` node. It is `none`, one of the types below, or a list of up to four of them. `oauth2_authorization_code` works only in connections. See [Authentication](connections.md#authentication).\n',
    ...[...authTypes, ...loginTypes].flatMap(({ options }) => [`### ${typeOf(options)}\n`, ...table(options)]),
    '## Every node\n\nEvery node has these options, in addition to those of its type.\n',
    ...table(z.strictObject(commonOptions)),
    shared,
    ...rows(sharedOptions().map(rowOfShared)),
    ...nodeTypes.flatMap(({ name, summary, options, example }) => [
      `## ${name}\n\n${summary}.${'retry' in options.shape ? ' This node has the options of [nodes that send requests](#nodes-that-send-requests), too.' : ''}\n\n\`\`\`yaml\n${example}\n\`\`\`\n`,
      ...rows(
        describedOptions(toJsonSchema(options))
          .filter((option) => isShown(option) && !isShared(option))
          .map((option) => rowOf(option)),
      ),
    ]),
    '## Files of tests\n\nA file such as `flow.test.yaml`. `automate schema test` writes its JSON Schema. See [Tests of flows](testing.md).\n',
    ...table(testFileSchema),
    'An entry of `tests`, with `record` or `records`:\n',
    ...table(testSchema),
    'An entry of `answers`, as far as its request has them:\n',
    ...table(answerSchema),
  ].join('\n');
}

/** Returns the value of `type` in a schema or, if the schema has variants, in the first variant. */
function typeOf(schema: z.ZodType): string {
  const described = toJsonSchema(schema);
  return String((described.anyOf?.[0] ?? described).properties?.type?.const);
}

/** An option that several nodes have: each of these nodes with its own version of the option. */
type SharedOption = readonly (readonly [node: string, option: DescribedOption])[];

/** Returns the options that at least three request nodes have with the same meaning. */
function sharedOptions(): SharedOption[] {
  const found = new Map<string, SharedOption>();
  for (const option of requestTypes.flatMap(({ options }) => options).filter(isShared)) found.set(option.name, sharing(option));
  return [...found.values()];
}

function sharing(option: DescribedOption): SharedOption {
  return requestTypes.flatMap(({ name, options }) =>
    options.filter((other) => isAlike(option, other)).map((own): SharedOption[number] => [name, own]),
  );
}

function isShared(option: DescribedOption): boolean {
  return sharing(option).length >= 3;
}

/**
 * Returns the table row for an option of several nodes. The row lists nodes with a different default. It also lists the nodes that have the
 * option or the nodes that do not, whichever list is shorter.
 */
function rowOfShared(nodes: SharedOption): string {
  const [[, option]] = nodes as [SharedOption[number]];
  const others = new Map<string, string[]>();
  for (const [name, own] of nodes) {
    const value = defaultOf(own);
    if (value !== undefined && value !== defaultOf(option)) others.set(value, [...(others.get(value) ?? []), name]);
  }
  const defaults = [...others].map(([value, names]) => `${listed(names)}: ${value}`);
  const only = nodes.length * 2 <= requestTypes.length ? `for ${listed(nodes.map(([name]) => name))}: ` : '';
  const lacking = requestTypes.filter(({ options }) => options.every(({ name }) => name !== option.name)).map(({ name }) => name);
  const except = only === '' && lacking.length > 0 ? `; not for ${listed(lacking)}` : '';
  return rowOf({ ...option, description: `${only}${option.description}${except}` }, defaults);
}

function isAlike(one: DescribedOption, other: DescribedOption): boolean {
  return one.name === other.name && one.kind === other.kind && one.description === other.description;
}

/** False for the options inside `auth`, which have a separate section. */
function isShown({ name }: DescribedOption): boolean {
  return !/^(?:login\.)?auth\./.test(name);
}

function table(schema: z.ZodType): string[] {
  return rows(
    describedOptions(toJsonSchema(schema))
      .filter(isShown)
      .map((option) => rowOf(option)),
  );
}

function rows(lines: readonly string[]): string[] {
  return ['| option | value | default | meaning |', '|---|---|---|---|', ...lines, ''];
}

/** Returns the table row for an option. `more` contains further lines for the column of defaults. */
function rowOf(option: DescribedOption, more: readonly string[] = []): string {
  const { name, kind, isRequired, description = '' } = option;
  const values = [defaultOf(option), ...more].filter(Boolean).join('<br>');
  const cells = [`\`${name}\``, kind, isRequired ? 'required' : values, description];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** Returns a default in the form that the page shows: as code if it is a single word. */
function defaultOf({ value, defaultText }: DescribedOption): string | undefined {
  const shown = defaultText ?? value;
  return defaultText?.includes(' ') || shown === undefined ? shown : `\`${shown}\``;
}

/** Returns a list of node names such as `http`, `mcp` and `llm`. */
function listed(names: readonly string[]): string {
  const shown = names.map((name) => `\`${name}\``);
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}
