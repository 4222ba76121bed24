import { jsonOf, type Value } from '../../core/value/value.ts';
import { createStreamSink } from '../../io/output/sink.ts';
import type { Terminal } from '../terminal.ts';
import { escapedControls } from './text.ts';

/** Prints a value as JSON on stdout, with every secret masked and still JSON. Throws an AutomateError when stdout was closed or is full. */
export function printJson(value: Value, { redactor }: Terminal): Promise<void> {
  const masked = escapedControls(jsonOf(redactor.value(value)));
  // Printed as a text, it would be masked as any text is.
  return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(`${masked}\n`);
}
