import type { CodedMessage } from '../../core/error-code.ts';
import { AutomateError } from '../../core/failure.ts';
import { secretOfCommand } from '../../credentials/flow-secrets.ts';
import type { StoredCommand } from '../../credentials/secret.ts';
import type { Terminal } from '../terminal.ts';

/** Runs the command that prints a credential's secret. Resolves to the time it took, or to the problem. */
export async function tryCommand(
  command: StoredCommand,
  terminal: Terminal,
): Promise<{ readonly ms: number } | { readonly problem: CodedMessage }> {
  const startedMs = performance.now();
  try {
    await secretOfCommand(command, terminal);
    return { ms: performance.now() - startedMs };
  } catch (error) {
    // The advice in the error is left out, because it suggests trying the command, which the user has just done.
    if (error instanceof AutomateError) return { problem: { message: error.message } };
    throw error;
  }
}
