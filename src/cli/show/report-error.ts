import { CommanderError } from 'commander';
import { cleaned } from '../../core/answer/response.ts';
import { AutomateError, FlowError } from '../../core/failure.ts';
import { exitCodeOf, exitCodes } from '../../run/exit-codes.ts';
import { messageWithAdvice } from '../advice.ts';
import type { Terminal } from '../terminal.ts';
import { flowErrorText } from './problems.ts';

/**
 * Prints an error and returns the exit code for it. If printing fails, prints a fixed text instead, so that no secret is printed unmasked.
 */
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
