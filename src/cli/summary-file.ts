import { writeFile } from 'node:fs/promises';
import { AutomateError } from '../core/failure.ts';
import { reasonOf } from '../io/reason.ts';
import { createStreamSink } from '../io/records/sink.ts';
import type { Terminal } from './terminal.ts';

/** Writes the summary for programs, with every secret masked and still JSON; to stdout for `-`. */
export async function writeSummary(path: string, text: string, { redactor }: Terminal): Promise<void> {
  const masked = `${redactor.json(text.trimEnd(), 2)}\n`;
  // Printed, it would be masked as any text is.
  if (path === '-') return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(masked);
  return writeFile(path, masked).catch((error: Error) => {
    throw new AutomateError('output', `${path} cannot be written: ${reasonOf(error)}`);
  });
}
