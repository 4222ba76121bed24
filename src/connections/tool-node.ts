import { excerpt } from '../core/answer/response.ts';
import { escapedControls } from '../core/text/shell-word.ts';
import type { Tool, ToolSchema } from '../core/tools.ts';

/** Returns the first sentence of a tool's description, or of its title if it has no description. */
export function summaryOf({ description = '', title = '' }: Tool): string {
  const text = excerpt(description || title, 1000);
  return excerpt(/^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text, 90);
}

/**
 * Returns the YAML of a node that calls a tool. Required arguments are filled from fields with the same names. If an argument is not a
 * string, all arguments are written as one JSON string. In that string, a value from a CSV file can be a number.
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

/**
 * Returns a sample value for an argument. `isBare` is true if the sample is a field reference without quotes, as it is for every type
 * except strings.
 */
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
