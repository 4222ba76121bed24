import type { Command } from 'commander';
import type { Terminal } from '../terminal.ts';

/** Adds `automate credits` and its commands. What they do is loaded when they are called. */
export function addCreditsCommands(program: Command, terminal: Terminal, exit: (code: number) => void): void {
  const commands = () => import('./credits.ts');
  const json = ['--json', 'print JSON'] as const;

  const credits = program
    .command('credits')
    .description("this month's credits against the allowance, by flow, node and connection (one action is one credit)")
    .option(...json)
    .allowExcessArguments()
    .action(async (options, command) => {
      // As the group does something itself, commander takes a misspelt command for an argument.
      if (command.args.length > 0) command.unknownCommand();
      exit(await (await commands()).creditsCommand(options, terminal));
    });

  credits
    .command('limit')
    .description('set the monthly allowance, for all runs of this home')
    .argument('<n>', 'a number of credits, or unlimited')
    .action(async (limit) => exit(await (await commands()).limitCommand(limit, terminal)));

  credits
    .command('history')
    .description('credits by month')
    .option(...json)
    .action(async (_options, command) => exit(await (await commands()).historyCommand(command.optsWithGlobals(), terminal)));

  credits
    .command('export')
    .description('print every account: month, flow, node, connection, environment, credits')
    .option('--csv', 'print CSV, which is what it does anyway')
    .option(...json)
    .action(async (_options, command) => exit(await (await commands()).exportCommand(command.optsWithGlobals(), terminal)));
}
