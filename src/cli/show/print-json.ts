import { escapedControls } from '../../core/text/shell-word.ts';
import { jsonOf, type Value } from '../../core/value/value.ts';
import { createStreamSink } from '../../io/output/sink.ts';
import type { Terminal } from '../terminal.ts';

/** Prints a value as JSON on stdout. Masks secrets so that it stays JSON. Throws an AutomateError if stdout was closed or is full. */
export function printJson(value: Value, { redactor }: Terminal): Promise<void> {
  const masked = escapedControls(jsonOf(redactor.value(value)));
  // print() would mask it as plain text, which could break the JSON.
  return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(`${masked}\n`);
}
