import { secretOfCommand } from '../../app/flow/flow-secrets.ts';
import type { CodedMessage } from '../../core/error-code.ts';
import { AutomateError } from '../../core/failure.ts';
import type { StoredCommand } from '../../io/credentials/secret.ts';
import type { Terminal } from '../terminal.ts';

/** Runs the command of a credential. Resolves to the time that it took, or to its problem. */
export async function tryCommand(
  command: StoredCommand,
  terminal: Terminal,
): Promise<{ readonly ms: number } | { readonly problem: CodedMessage }> {
  const startedMs = performance.now();
  try {
    await secretOfCommand(command, terminal);
    return { ms: performance.now() - startedMs };
  } catch (error) {
    // Its advice is to try the command.
    if (error instanceof AutomateError) return { problem: { message: error.message } };
    throw error;
  }
}
