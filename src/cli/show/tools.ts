import { cleaned, excerpt } from '../../core/answer/response.ts';
import { counted } from '../../core/text/number.ts';
import { escapedControls } from '../../core/text/shell-word.ts';
import type { Tool, ToolSchema, ToolServer } from '../../core/tools/tools.ts';
import { tableText } from './table.ts';

/** A server on one line: name, version, protocol, transport and number of tools. */
export function serverText({ name, version, protocol, transport, tools }: ToolServer): string {
  const called = excerpt(`${name} ${version}`.trim(), 100);
  return `${called}, protocol ${excerpt(protocol, 40)} over ${transport}, ${counted(tools.length, 'tool')}`;
}

/** A table of tools and their arguments; an asterisk marks required ones. */
export function toolsText(tools: readonly Tool[]): string {
  return tableText([
    ['tool', 'arguments', 'what it does'],
    ...tools.map((tool) => [oneLine(tool.name, 80), argumentsText(tool), summaryOf(tool)]),
  ]).join('\n');
}

function argumentsText({ inputSchema: { properties = {}, required = [] } }: Tool): string {
  const names = Object.keys(properties).map((name) => `${oneLine(name, 60)}${required.includes(name) ? '*' : ''}`);
  return names.length === 0 ? '-' : names.join(', ');
}

/** The first sentence of a tool's description. */
export function summaryOf({ description = '', title = '' }: Tool): string {
  const text = oneLine(description || title, 1000);
  return excerpt(/^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text, 90);
}

/** A tool in detail: its description, its arguments and a node to paste. */
export function toolText(connection: string, tool: Tool): string {
  const { description, inputSchema } = tool;
  const { properties = {}, required = [] } = inputSchema;
  const rows = Object.entries(properties).map(([name, schema]) => [
    `  ${oneLine(name, 60)}`,
    argumentType(schema),
    required.includes(name) ? 'required' : defaultOf(schema),
    oneLine(schema.description ?? schema.title ?? '', 200),
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
    .map((kind) => (kind === 'array' && items ? `list of ${argumentType(items)}` : (words[kind] ?? oneLine(kind, 40))));
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

/**
 * A node that calls a tool: its required arguments come from fields of the same names.
 * Arguments other than texts make it one JSON text, in which a CSV cell can become a number.
 */
export function nodeText(connection: string, { name, inputSchema: { properties = {}, required = [] } }: Tool): string {
  const values = required.map((argument) => ({ argument, ...argumentSample(argument, properties[argument] ?? {}) }));
  const asText = `'{ ${values.map(({ argument, json }) => `${JSON.stringify(argument)}: ${json}`).join(', ')} }'`.replace(
    /(?<!^)'(?!$)/g,
    "''",
  );
  const lines = values.map(({ argument, json }) => `    ${yamlKey(argument)}: ${json}`);
  const text = [
    '- type: mcp',
    `  connection: ${yamlText(connection)}`,
    `  tool: ${yamlText(name)}`,
    ...(values.length === 0 ? [] : values.some(({ isBare }) => isBare) ? [`  arguments: ${asText}`] : ['  arguments:', ...lines]),
    '  map: { answer: $body }',
  ].join('\n');
  return escapedControls(text);
}

/** A sample value. `isBare`: it is a reference outside quotes, for anything but text. */
function argumentSample(argument: string, { type, default: usual, const: only }: ToolSchema): { json: string; isBare: boolean } {
  const literal = only ?? usual;
  if (literal !== undefined) return { json: JSON.stringify(literal), isBare: false };
  const reference = `{{${argument.replace(/[^\p{L}\p{M}\p{N}_]/gu, '_')}}}`;
  const isText = type === undefined || [type].flat().includes('string');
  return { json: isText ? `"${reference}"` : reference, isBare: !isText };
}

function yamlKey(name: string): string {
  return /^[A-Za-z_][\w-]*$/.test(name) ? name : JSON.stringify(name);
}

function yamlText(text: string): string {
  return /^[A-Za-z][\w/.-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text) ? text : JSON.stringify(text);
}

function oneLine(text: string, length: number): string {
  return excerpt(text, length);
}
