import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { exitCodes } from '../../app/exit-codes.ts';
import { AutomateError } from '../../core/failure.ts';
import type { NodeType } from '../../core/node.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { isMapping, orUndefined } from '../../core/value/value.ts';
import { flowJsonSchema, toJsonSchema } from '../../flow/json-schema.ts';
import { nodeSchema } from '../../flow/schema.ts';
import { namingErrors } from '../../io/files/naming-errors.ts';
import { statOf } from '../../io/files/stat.ts';
import { nodeTypes } from '../../nodes/index.ts';
import { tableText } from '../show/table.ts';
import type { Terminal } from '../terminal.ts';
import { type DescribedOption, describedOptions } from './described-options.ts';
import type { NodesOptions, SchemaOptions } from './flow-options.ts';

/** Prints the JSON Schema of the flow file, or writes it to a file. Returns the exit code. */
export async function schemaCommand({ out }: SchemaOptions, terminal: Terminal): Promise<number> {
  const text = JSON.stringify(flowJsonSchema(nodeTypes), null, 2);
  if (out === undefined) await terminal.print(text);
  else {
    await writeSchema(out, `${text}\n`);
    terminal.say(`${terminal.colors.green('wrote')} ${out}`);
  }
  return exitCodes.success;
}

/** Writes a JSON Schema. Throws an AutomateError (`output-exists`) for an existing file that is none: it may be a flow or an input. */
async function writeSchema(path: string, text: string): Promise<void> {
  const found = statOf(path) ? orUndefined(() => JSON.parse(readFileSync(path, 'utf8')) as unknown) : {};
  if (statOf(path) && !(isMapping(found) && '$schema' in found)) {
    throw new AutomateError('output-exists', `${path} exists already, and is no JSON Schema\nname another file with --out`);
  }
  await namingErrors(path, 'written', () => writeFile(path, text));
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
  return [
    type.summary,
    ...describedOptions(toJsonSchema(nodeSchema(type))).flatMap(optionLines),
    '',
    'example:',
    ...type.example.split('\n').map((line) => `  ${line}`),
  ].join('\n');
}

/** An option with its kind and its default. Those inside it follow it without a blank line. */
function optionLines({ name, kind, isRequired, value, description }: DescribedOption): string[] {
  const more = isRequired ? ', required' : value === undefined ? '' : `, default ${value}`;
  return [...(name.includes('.') ? [] : ['']), `  ${name}: ${kind}${more}`, ...(description === undefined ? [] : [`      ${description}`])];
}
