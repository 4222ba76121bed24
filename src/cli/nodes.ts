import { reportName } from './arguments.ts';
import { argument, command, flag, parsedOption } from './options.ts';
import { cacertOption, envOption } from './shared-options.ts';

const schemaOptions = {
  out: parsedOption('--out <file>', reportName, 'write the schema to this file; an older schema there is replaced', { short: 'o' }),
};

const nodesOptions = {
  refresh: flag('--refresh', 'request the current list of tools from the MCP servers'),
  env: envOption('with --refresh: '),
  cacert: cacertOption('with --refresh: '),
};

export const nodes = command({
  examples: ['automate nodes', 'automate nodes http', 'automate nodes --refresh'],
  args: {
    type: argument('[type]', 'the node type to explain, such as http', {
      choices: async () => (await import('../run/node-types.ts')).nodeTypes.map(({ name }) => name),
    }),
  },
  options: nodesOptions,
  run: async ({ args, options, terminal }) => (await import('./nodes-command.ts')).nodesCommand(args.type, options, terminal),
});

export const schema = command({
  examples: ['automate schema', 'automate schema --out flow.schema.json', 'automate schema test --out test.schema.json'],
  args: {
    kind: argument('[kind]', 'flow for flow files, or test for test files', { default: 'flow', choices: async () => ['flow', 'test'] }),
  },
  options: schemaOptions,
  run: async ({ args, options, terminal }) => (await import('./nodes-command.ts')).schemaCommand(args.kind ?? 'flow', options, terminal),
});
