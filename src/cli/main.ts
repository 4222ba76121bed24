import { CommanderError } from 'commander';
import { exitCodes } from '../run/exit-codes.ts';
import { childArgument } from '../workers/child-argument.ts';
import { commands } from './commands.ts';
import { createProgram } from './program.ts';
import { reportError } from './show/report-error.ts';
import { createTerminal } from './terminal.ts';

/** Runs a command line. Ends the process with an exit code from exit-codes.ts. */
export async function main(argv: readonly string[]): Promise<void> {
  if (argv[2] === childArgument) return (await import('../workers/child.ts')).childProcess();
  const terminal = createTerminal();
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => process.exit(reportError(error, terminal)));
  }
  // Normally process.exit ends the process. If the event loop becomes empty earlier, the command waits for an event that never comes, which
  // is a bug.
  process.once('beforeExit', () => {
    process.exitCode = exitCodes.bug;
    process.stderr.write('automate: this is a bug, please report it: automate is waiting for something that will never happen\n');
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

/** Rethrows an error, unless commander threw it only to end the program after `--help` or `--version`. */
function rethrow(error: unknown): void {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
}
