import { CommanderError } from 'commander';
import { exitCodes } from '../app/exit-codes.ts';
import { childArgument } from '../app/workers/child-argument.ts';
import { commands } from './commands.ts';
import { createProgram } from './program.ts';
import { reportError } from './show/report-error.ts';
import { createTerminal } from './terminal.ts';

/** Runs a command line. Ends the process with one of the exit codes in exit.ts. */
export async function main(argv: readonly string[]): Promise<void> {
  if (argv[2] === childArgument) return (await import('../app/workers/child.ts')).childProcess();
  const terminal = createTerminal();
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => process.exit(reportError(error, terminal)));
  }
  // The command line ends with process.exit: the event loop runs dry only if something waits for what never comes.
  process.once('beforeExit', () => {
    process.exitCode = exitCodes.bug;
    process.stderr.write('automate: this is a bug, please report it: it waits for something that never comes\n');
  });
  let exitCode: number = exitCodes.success;
  let help = '';
  try {
    const program = createProgram(commands, terminal, {
      exit: (code) => {
        exitCode = code;
      },
      help: (text) => {
        help += text;
      },
    });
    await program.parseAsync(argv).catch(rethrow);
    if (help !== '') await terminal.print(help.replace(/\n$/, ''));
  } catch (error) {
    exitCode = reportError(error, terminal);
  }
  process.exit(exitCode);
}

/** Passes on an error. Commander throws after `--help` and `--version`, too. */
function rethrow(error: unknown): void {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
}
