import { argument, type CommandCode, command, flag, subcommand } from './options.ts';
import { json } from './shared-options.ts';

export const credits: CommandCode = {
  ...command({
    examples: ['automate credits', 'automate credits --json', 'automate credits limit 10000'],
    options: { json },
    run: async ({ options, terminal }) => (await import('./credits-command.ts')).creditsCommand(options, terminal),
  }),
  commands: [
    subcommand({
      name: 'limit',
      help: 'set how many credits all runs together can spend in a month',
      examples: ['automate credits limit 10000', 'automate credits limit unlimited'],
      args: { limit: argument('<n>', 'the number of credits, or unlimited') },
      run: async ({ args, terminal }) => (await import('./credits-command.ts')).limitCommand(args.limit, terminal),
    }),
    subcommand({
      name: 'history',
      help: 'show the credits that were spent in each month',
      examples: ['automate credits history', 'automate credits history --json'],
      options: { json },
      run: async ({ options, terminal }) => (await import('./credits-command.ts')).historyCommand(options, terminal),
    }),
    subcommand({
      name: 'export',
      help: 'print spent credits as a table, by month, flow, node, connection, environment and API key',
      examples: ['automate credits export > credits.csv', 'automate credits export --json'],
      options: { csv: flag('--csv', 'print CSV; this is the default'), json },
      run: async ({ options, terminal }) => (await import('./credits-command.ts')).exportCommand(options, terminal),
    }),
  ],
};
