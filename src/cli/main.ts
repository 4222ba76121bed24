import { CommanderError } from 'commander';
import { cleaned } from '../core/answer/response.ts';
import { AutomateError, FlowError } from '../core/failure.ts';
import { exitCodeOf, exitCodes } from '../run/exit-codes.ts';
import { childArgument } from '../workers/child-argument.ts';
import { messageWithAdvice } from './advice.ts';
import { commands, loadCommand } from './commands.ts';
import { createProgram, refuseOtherWords, withOptionalValues } from './program.ts';
import { flowErrorText } from './show/problems.ts';
import { createTerminal, type Terminal } from './terminal.ts';

/** Ends the process with an exit code from exit-codes.ts. */
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
    const word = commandIn(argv);
    const used = commands.find(({ name }) => name === word);
    const loaded = used && (await loadCommand(used));
    refuseOtherWords(argv, loaded);
    const program = createProgram(loaded ? [loaded] : [], terminal, {
      exit: (code) => {
        exitCode = code;
      },
      help: (text) => {
        help += text;
      },
    });
    // The parser answers `help WORD` with the whole help if there is no such command.
    const words = argv[2] === 'help' && word !== undefined && !used ? argv.toSpliced(2, 1) : argv;
    await program.parseAsync(withOptionalValues(words, loaded)).catch(rethrow);
    if (help !== '') await terminal.print(help.replace(/\n$/, ''));
  } catch (error) {
    exitCode = reportError(error, terminal);
  }
  process.exit(exitCode);
}

function commandIn(argv: readonly string[]): string | undefined {
  return argv.slice(2).find((word) => !word.startsWith('-') && word !== 'help');
}

/** Except errors that commander threw only to end the program after `--help` or `--version`. */
function rethrow(error: unknown): void {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
}

/** Returns the exit code. If printing fails, prints a fixed text instead, so that no secret is printed unmasked. */
export function reportError(error: unknown, terminal: Terminal): number {
  try {
    return printError(error, terminal);
  } catch {
    process.stderr.write('automate: this is a bug, please report it: the error cannot be printed\n');
    return exitCodes.bug;
  }
}

function printError(error: unknown, { say, colors }: Terminal): number {
  if (error instanceof CommanderError) return exitCodes.usage;
  if (error instanceof FlowError) say(flowErrorText(error, colors));
  else if (error instanceof AutomateError) {
    if (error.kind !== 'stdout-closed') say(`${colors.red('automate:')} ${cleaned(messageWithAdvice(error)).replaceAll('\n', '\n  ')}`);
  } else {
    say(`${colors.red('automate: this is a bug, please report it:')} ${(error as Error)?.stack ?? String(error)}`);
  }
  return exitCodeOf(error);
}
