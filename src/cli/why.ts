import { wholeNumber } from './arguments.ts';
import { argument, command, parsedOption } from './options.ts';
import { json } from './shared-options.ts';

export const why = command({
  examples: ['automate why out.csv --record 347', 'automate why out.csv --record 347 --json'],
  args: { out: argument('<out>', 'the output of a run with --keep-answers or --replay') },
  options: { record: parsedOption('--record <number>', wholeNumber(1), 'the number of the record in the input, from 1'), json },
  run: async ({ args, options, terminal }) => (await import('./why-command.ts')).whyCommand(args.out, options, terminal),
});
