import { type CommandCode, subcommand } from './options.ts';
import { json } from './shared-options.ts';

export const cache: CommandCode = {
  commands: [
    subcommand({
      name: 'info',
      help: 'show where the cache is, how large and old it is, and how large it can become',
      examples: ['automate cache info', 'automate cache info --json'],
      options: { json },
      run: async ({ options, terminal }) => (await import('./cache-command.ts')).infoCommand(options, terminal),
    }),
    subcommand({
      name: 'clear',
      help: 'delete all cached answers',
      examples: ['automate cache clear'],
      run: async ({ terminal }) => (await import('./cache-command.ts')).clearCommand(terminal),
    }),
  ],
};
