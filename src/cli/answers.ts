import { duration } from './arguments.ts';
import { argument, type CommandCode, command, parsedOption, subcommand } from './options.ts';
import { json } from './shared-options.ts';

const out = argument('<out>', 'the output of the runs that keep answers');

export const answers: CommandCode = {
  ...command({
    examples: ['automate answers out.csv', 'automate answers out.csv --json'],
    args: { out },
    options: { json },
    run: async ({ args, options, terminal }) => (await import('./answers-command.ts')).answersCommand(args.out, options, terminal),
  }),
  commands: [
    subcommand({
      name: 'clear',
      help: 'delete the kept answers of an output, so that its next run sends every request again',
      examples: ['automate answers clear out.csv', 'automate answers clear out.csv --older 30d'],
      args: { out },
      options: { older: parsedOption('--older <age>', duration, 'delete only answers that are older than this, such as 30d') },
      run: async ({ args, options, terminal }) => (await import('./answers-command.ts')).clearCommand(args.out, options, terminal),
    }),
  ],
};
