import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { orUndefined } from '../../core/value/value.ts';
import { statOf } from './stat.ts';

/**
 * Ends the waits for named pipes: opening one waits for its other end, and reading one for its writer, perhaps forever. The process
 * cannot end meanwhile. Opening both ends for a moment ends the wait (Linux, fifo(7)); a reader gets a line break.
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
