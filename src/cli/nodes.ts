import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { AutomateError } from '../core/failure.ts';
import type { NodeType } from '../core/node.ts';
import { didYouMean } from '../core/text/suggest.ts';
import { isMapping, orUndefined } from '../core/value/value.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { flowJsonSchema, toJsonSchema } from '../flow/json-schema.ts';
import { nodeSchema } from '../flow/schema.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { nodeTypes } from '../run/node-types.ts';
import { reportName } from './arguments.ts';
import { type DescribedOption, describedOptions } from './described-options.ts';
import { argument, command, flag, parsedOption, type ValuesOf } from './options.ts';
import { cacertOption, envOption } from './shared-options.ts';
import { tableText } from './show/table.ts';
import type { Terminal } from './terminal.ts';

const schemaKinds: readonly string[] = ['flow', 'test'];

const schemaOptions = {
  out: parsedOption('--out <file>', reportName, 'write the schema to this file; an older schema there is replaced', { short: 'o' }),
};

type SchemaOptions = ValuesOf<typeof schemaOptions>;

const nodesOptions = {
  refresh: flag('--refresh', 'request the current list of tools from the MCP servers'),
  env: envOption('with --refresh: '),
  cacert: cacertOption('with --refresh: '),
};

type NodesOptions = ValuesOf<typeof nodesOptions>;

export const nodes = command({
  examples: ['automate nodes', 'automate nodes http', 'automate nodes --refresh'],
  args: {
    type: argument('[type]', 'the node type to explain, such as http', {
      choices: async () => (await import('../run/node-types.ts')).nodeTypes.map(({ name }) => name),
    }),
  },
  options: nodesOptions,
  run: ({ args, options, terminal }) => nodesCommand(args.type, options, terminal),
});

export const schema = command({
  examples: ['automate schema', 'automate schema --out flow.schema.json', 'automate schema test --out test.schema.json'],
  args: { kind: argument('[kind]', 'flow for flow files, or test for test files', { default: 'flow', choices: async () => schemaKinds }) },
  options: schemaOptions,
  run: ({ args, options, terminal }) => schemaCommand(args.kind ?? 'flow', options, terminal),
});

async function schemaCommand(kind: string, { out }: SchemaOptions, terminal: Terminal): Promise<number> {
  if (!schemaKinds.includes(kind)) throw new AutomateError('usage', `expected ${schemaKinds.join(' or ')}, found "${kind}"`);
  const schema = kind === 'test' ? (await import('../flow-tests/test-json-schema.ts')).testJsonSchema() : flowJsonSchema(nodeTypes);
  const text = JSON.stringify(schema, null, 2);
  if (out === undefined) await terminal.print(text);
  else {
    await writeSchema(out, `${text}\n`);
    terminal.say(`${terminal.colors.green('wrote')} ${out}`);
  }
  return exitCodes.success;
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
async function nodesCommand(name: string | undefined, options: NodesOptions, terminal: Terminal): Promise<number> {
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

function optionLines({ name, kind, isRequired, value, defaultText, description }: DescribedOption): string[] {
  const shown = defaultText ?? value;
  const more = isRequired ? ', required' : shown === undefined ? '' : `, default ${shown}`;
  return [...(name.includes('.') ? [] : ['']), `  ${name}: ${kind}${more}`, ...(description === undefined ? [] : [`      ${description}`])];
}
