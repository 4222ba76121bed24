import { AutomateError } from '../../core/failure.ts';
import type { NodeType } from '../../core/node.ts';
import { didYouMean } from '../../core/suggest.ts';
import { type JsonSchema, toJsonSchema } from '../../flow/json-schema.ts';
import { nodeSchema } from '../../flow/schema.ts';
import { nodeTypes } from '../../nodes/index.ts';
import { exitCodes } from '../exit.ts';
import { tableText } from '../show/structure.ts';
import type { Terminal } from '../terminal.ts';

/** Lists the node types, or explains one. Answers the exit code. */
export async function nodesCommand(name: string | undefined, terminal: Terminal): Promise<number> {
  if (name === undefined) await terminal.print(tableText(nodeTypes.map((type) => [type.name, type.summary])).join('\n'));
  else await terminal.print(explained(typeOf(name)));
  return exitCodes.success;
}

function typeOf(name: string): NodeType {
  const type = nodeTypes.find((candidate) => candidate.name === name);
  if (type) return type;
  const names = nodeTypes.map((candidate) => candidate.name);
  throw new AutomateError('usage', `no node type "${name}"${didYouMean(name, names) || `; expected ${names.join(', ')}`}`);
}

function explained(type: NodeType): string {
  const schema = toJsonSchema(nodeSchema(type));
  const rows = Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== 'type')
    .map(([name, option]) => [`  ${name}`, kindOf(option), standing(name, option, schema), option.description ?? '']);
  return [type.summary, '', ...tableText(rows), '', 'example:', ...type.example.split('\n').map((line) => `  ${line}`)].join('\n');
}

function standing(name: string, option: JsonSchema, schema: JsonSchema): string {
  if (option.default !== undefined) return `default ${JSON.stringify(option.default)}`;
  return schema.required?.includes(name) ? 'required' : '';
}

function kindOf(option: JsonSchema): string {
  if (option.enum) return option.enum.join(' | ');
  const kinds = (option.anyOf ?? option.oneOf ?? [option]).map(({ type, const: only, enum: some, oneOf }) =>
    only !== undefined ? String(only) : some ? some.join(' | ') : (type ?? (oneOf ? 'object' : 'any')),
  );
  return [...new Set(kinds)].join(' | ');
}
