import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { orUndefined } from '../core/value/value.ts';
import { statOf } from './stat.ts';

/**
 * Ends everything that waits for a named pipe, because such a wait would keep the process from exiting. Opening a pipe waits for the other
 * end to be opened, and reading waits for data. So this function briefly opens both ends (as Linux allows, see fifo(7)), and writes a line
 * break into the input pipes.
 */
export function endWaitsForPipes(inputs: readonly string[], outputs: readonly (string | undefined)[]): void {
  for (const path of [...inputs, ...outputs]) {
    if (path !== undefined && statOf(path)?.isFIFO()) orUndefined(() => openBriefly(path, inputs.includes(path)));
  }
}

function openBriefly(path: string, isInput: boolean): void {
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    if (isInput) writeSync(pipe, '\n');
  } finally {
    closeSync(pipe);
  }
}
