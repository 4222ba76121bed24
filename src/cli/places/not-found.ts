import { AutomateError } from '../../core/failure.ts';
import { exitCodes } from '../../run/exit-codes.ts';
import { printJson } from '../show/print-json.ts';
import type { Terminal } from '../terminal.ts';

/** Prints that a search found nothing. Returns the exit code for that. */
export async function notFound(what: string, words: string, { json }: { readonly json?: boolean }, terminal: Terminal): Promise<number> {
  if (json) await printJson([], terminal);
  terminal.say(`no ${what} fits "${words}"`);
  return exitCodes.someFailed;
}

/** Throws an AutomateError (`usage`) if the text has no letter or digit. */
export function refuseBlank(what: string, text: string): void {
  if (!/[\p{L}\p{N}]/u.test(text)) throw new AutomateError('usage', `expected ${what}, found ${JSON.stringify(text)}`);
}
