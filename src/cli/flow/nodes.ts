import { AutomateError } from '../../core/failure.ts';
import type { NodeType } from '../../core/node.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { flowJsonSchema, type JsonSchema, toJsonSchema } from '../../flow/json-schema.ts';
import { nodeSchema } from '../../flow/schema.ts';
import { nodeTypes } from '../../nodes/index.ts';
import { exitCodes } from '../exit.ts';
import { tableText } from '../show/structure.ts';
import type { Terminal } from '../terminal.ts';
import type { NodesOptions } from './flow-options.ts';

/** Prints the JSON Schema of the flow file. Returns the exit code. */
export async function schemaCommand(terminal: Terminal): Promise<number> {
  await terminal.print(JSON.stringify(flowJsonSchema(nodeTypes), null, 2));
  return exitCodes.success;
}

/** Lists the node types and the tools of the saved MCP connections, or explains a type. Returns the exit code. */
export async function nodesCommand(name: string | undefined, options: NodesOptions, terminal: Terminal): Promise<number> {
  const tools = async () => (await import('./nodes-tools.ts')).connectionLines(options, terminal);
  if (name === undefined)
    await terminal.print([...tableText(nodeTypes.map((type) => [type.name, type.summary])), ...(await tools())].join('\n'));
  else await terminal.print(explanationOf(findType(name)));
  return exitCodes.success;
}

function findType(name: string): NodeType {
  const type = nodeTypes.find((candidate) => candidate.name === name);
  if (type) return type;
  const names = nodeTypes.map((candidate) => candidate.name);
  throw new AutomateError('usage', `no node type "${name}"${didYouMean(name, names) || `; expected ${names.join(', ')}`}`);
}

function explanationOf(type: NodeType): string {
  const { properties: { type: _type, ...options } = {}, required = [] } = toJsonSchema(nodeSchema(type));
  return [
    type.summary,
    ...Object.entries(options).flatMap(([name, option]) => ['', ...optionLines(name, option, required.includes(name))]),
    '',
    'example:',
    ...type.example.split('\n').map((line) => `  ${line}`),
  ].join('\n');
}

/** An option with its kind, its default and the options inside it. */
function optionLines(name: string, option: JsonSchema, isRequired: boolean): string[] {
  return [
    `  ${name}: ${kindOf(option)}${defaultText(option, isRequired)}`,
    ...(option.description === undefined ? [] : [`      ${option.description}`]),
    ...innerOptions(option).flatMap(([inner, of]) => optionLines(`${name}.${inner}`, of, false)),
  ];
}

/** A mapping shows its default in the options inside it. */
function defaultText({ default: value }: JsonSchema, isRequired: boolean): string {
  if (isRequired) return ', required';
  return value === undefined || isPlainObject(value) ? '' : `, default ${shown(value)}`;
}

/** The options of a mapping, or of every mapping among the variants of an option. */
function innerOptions(option: JsonSchema): [string, JsonSchema][] {
  const found = new Map<string, JsonSchema>();
  for (const variant of variantsOf(option)) {
    for (const [name, inner] of Object.entries(variant.properties ?? {})) {
      const other = found.get(name);
      found.set(name, other ? { ...other, anyOf: [...variantsOf(other), inner] } : inner);
    }
  }
  return [...found];
}

function variantsOf({ anyOf, oneOf, ...option }: JsonSchema): JsonSchema[] {
  const variants = [...(anyOf ?? []), ...(oneOf ?? [])];
  return variants.length === 0 ? [option] : variants.flatMap(variantsOf);
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'true | false',
  array: 'list',
  object: 'mapping',
};

/** The kind of an option, in the words of the flow file. */
function kindOf(option: JsonSchema): string {
  const kinds = variantsOf(option).flatMap(({ type, const: only, enum: some }) => {
    if (only !== undefined) return [String(only)];
    if (some) return some.map(String);
    return [type ?? 'any'].flat().map((kind) => words[kind] ?? kind);
  });
  return [...new Set(kinds)].join(' | ');
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
