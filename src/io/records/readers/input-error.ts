import { AutomateError } from '../../../core/failure.ts';

/** The input cannot be read any further. The place is `FILE`, `FILE:LINE` or `FILE:LINE:COLUMN`, counted from 1. */
export function inputError(place: string, message: string, cause?: unknown): AutomateError {
  return new AutomateError('input', `${place}: ${message}`, { cause });
}
