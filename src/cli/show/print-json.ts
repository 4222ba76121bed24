import { escapedControls } from '../../core/text/quoted-word.ts';
import type { Value } from '../../core/value/value.ts';
import { createStreamSink } from '../../output/sink.ts';
import type { Terminal } from '../terminal.ts';

/**
 * Prints a value as JSON to stdout. Secrets are masked so that the JSON stays valid. Throws an AutomateError if stdout is closed or the
 * disk is full.
 */
export function printJson(value: Value, { redactor }: Terminal): Promise<void> {
  const masked = escapedControls(redactor.jsonOf(value));
  // The terminal's print() is not used, because it would mask secrets as in plain text, which could make the JSON invalid.
  return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(`${masked}\n`);
}
