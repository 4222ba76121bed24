import { nodeText, summaryOf } from '../../connections/tool-server.ts';
import { cleaned, excerpt } from '../../core/answer/response.ts';
import { counted } from '../../core/text/number.ts';
import type { Tool, ToolSchema, ToolServer } from '../../core/tools.ts';
import type { Terminal } from '../terminal.ts';
import { tableText } from './table.ts';

export function serverText({ name, version, protocol, transport, tools }: ToolServer): string {
  const called = excerpt(`${name} ${version}`.trim(), 100);
  return `${called}, protocol ${excerpt(protocol, 40)} over ${transport}, ${counted(tools.length, 'tool')}`;
}

/** An asterisk marks required arguments. */
export function toolsText(tools: readonly Tool[]): string {
  return tableText([
    ['tool', 'arguments', 'what it does'],
    ...tools.map((tool) => [excerpt(tool.name, 80), argumentsText(tool), summaryOf(tool)]),
  ]).join('\n');
}

function argumentsText({ inputSchema: { properties = {}, required = [] } }: Tool): string {
  const names = Object.keys(properties).map((name) => `${excerpt(name, 60)}${required.includes(name) ? '*' : ''}`);
  return names.length === 0 ? '-' : names.join(', ');
}

export function toolText(connection: string, tool: Tool): string {
  const { description, inputSchema } = tool;
  const { properties = {}, required = [] } = inputSchema;
  const rows = Object.entries(properties).map(([name, schema]) => [
    `  ${excerpt(name, 60)}`,
    argumentType(schema),
    required.includes(name) ? 'required' : defaultOf(schema),
    excerpt(schema.description ?? schema.title ?? '', 200),
  ]);
  return [
    ...(description ? [cleaned(description).trim(), ''] : []),
    ...(rows.length > 0 ? ['arguments:', ...tableText(rows)] : ['it takes no arguments']),
    '',
    'a node that calls it:',
    ...nodeText(connection, tool)
      .split('\n')
      .map((line) => `  ${line}`),
  ].join('\n');
}

function argumentType({ type, enum: some, const: only, anyOf, oneOf, items }: ToolSchema): string {
  if (only !== undefined) return excerpt(JSON.stringify(only), 40);
  if (some) return excerpt(some.map((one) => JSON.stringify(one)).join(' | '), 80);
  const variants = anyOf ?? oneOf;
  if (variants) return [...new Set(variants.map(argumentType))].join(' | ');
  const kinds = [type ?? 'any']
    .flat()
    .map((kind) => (kind === 'array' && items ? `list of ${argumentType(items)}` : (words[kind] ?? excerpt(kind, 40))));
  return kinds.join(' | ');
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true | false',
  array: 'list',
  object: 'mapping',
};

function defaultOf({ default: usual }: ToolSchema): string {
  return usual === undefined ? '' : `default ${excerpt(JSON.stringify(usual), 40)}`;
}

const maxShownTools = 10;

export function printServer(server: ToolServer, { say }: Terminal): void {
  say(serverText(server));
  for (const tool of server.tools.slice(0, maxShownTools)) say(cleaned(`  ${excerpt(tool.name, 80)}: ${summaryOf(tool) || '-'}`));
  if (server.tools.length > maxShownTools) say(`  and ${server.tools.length - maxShownTools} more`);
}
