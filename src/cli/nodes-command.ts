import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { AutomateError, usageError } from '../core/failure.ts';
import type { LateNodeType, NodeType } from '../core/node.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { isMapping, orUndefined } from '../core/value/value.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { flowJsonSchema, toJsonSchema } from '../flow/json-schema.ts';
import { nodeSchema } from '../flow/schema.ts';
import { loadNodeTypes, nodeTypes } from '../run/node-types.ts';
import { type DescribedOption, describedOptions } from './described-options.ts';
import { tableText } from './show/table.ts';
import { indentedJson, type Terminal } from './terminal.ts';

interface NodesOptions {
  readonly refresh?: boolean;
  readonly env?: string;
  readonly cacert?: string;
}

const schemaKinds: readonly string[] = ['flow', 'test'];

export async function schemaCommand(kind: string, { out }: { readonly out?: string }, terminal: Terminal): Promise<undefined> {
  if (!schemaKinds.includes(kind)) throw usageError(`expected ${schemaKinds.join(' or ')}, found "${kind}"`);
  const schema =
    kind === 'test' ? (await import('../flow-tests/test-json-schema.ts')).testJsonSchema() : flowJsonSchema(await loadNodeTypes());
  const text = indentedJson(schema);
  if (out === undefined) await terminal.print(text);
  else {
    await writeSchema(out, `${text}\n`);
    terminal.say(`${terminal.colors.green('wrote')} ${out}`);
  }
}

/** Throws an AutomateError (`output-exists`) for an existing file that is not a schema, because it might be a flow or an input. */
async function writeSchema(path: string, text: string): Promise<void> {
  const found = statOf(path) ? orUndefined(() => JSON.parse(readFileSync(path, 'utf8')) as unknown) : {};
  if (statOf(path) && !(isMapping(found) && '$schema' in found)) {
    throw new AutomateError('output-exists', `${path} already exists, and is not a JSON Schema\nchoose another file with --out`);
  }
  await namingErrors(path, 'written', () => writeFile(path, text));
}

/** Prints the node types and the tools of the saved MCP connections, or explains one node type. */
export async function nodesCommand(name: string | undefined, options: NodesOptions, terminal: Terminal): Promise<undefined> {
  const tools = async () => (await import('./nodes-tools.ts')).connectionLines(options, terminal);
  if (name === undefined)
    await terminal.print([...tableText((await loadNodeTypes()).map((type) => [type.name, type.summary])), ...(await tools())].join('\n'));
  else await terminal.print(explanationOf(await findType(name).load()));
}

function findType(name: string): LateNodeType {
  const type = nodeTypes.find((candidate) => candidate.name === name);
  if (type) return type;
  const names = nodeTypes.map((candidate) => candidate.name);
  throw usageError(`no node type "${name}"${didYouMean(name, names) || `; expected ${names.join(', ')}`}`);
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

function optionLines({ name, kind, isRequired, value, defaultText, description }: DescribedOption): string[] {
  const shown = defaultText ?? value;
  const more = isRequired ? ', required' : shown === undefined ? '' : `, default ${shown}`;
  return [...(name.includes('.') ? [] : ['']), `  ${name}: ${kind}${more}`, ...(description === undefined ? [] : [`      ${description}`])];
}
