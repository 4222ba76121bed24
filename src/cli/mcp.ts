import { command, flag } from './options.ts';
import { servedFolder } from './serve.ts';
import { file, httpOptions, varOption } from './shared-options.ts';

const mcpOptions = {
  printConfig: flag('--print-config', 'print the JSON that adds this server to a desktop client, and exit'),
  var: varOption,
  ...httpOptions,
  files: file('--files <dir>', 'folder below which flows can send and save files (default: none)'),
};

export const mcp = command({
  examples: ['automate mcp flows', 'automate mcp flows --print-config', 'automate mcp flows --var region=eu'],
  args: { dir: servedFolder },
  tooManyArguments: 'expected one folder with flows, as in: automate mcp flows',
  options: mcpOptions,
  run: async ({ args, options, terminal }) => (await import('./mcp-command.ts')).mcpCommand(args.dir ?? '.', options, terminal),
});
