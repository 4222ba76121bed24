import { AutomateError } from '../../core/failure.ts';
import type { GivenVariables } from '../../core/run-options.ts';
import { messageWithAdvice } from '../advice.ts';

export interface DoctorOptions {
  readonly json?: boolean;
  readonly var: GivenVariables;
  readonly env?: string;
  readonly cacert?: string;
}

export interface DoctorFinding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly message: string;
  /** `null` if nothing has to be done. */
  readonly advice: string | null;
}

export function okFinding(check: string, message: string): DoctorFinding {
  return { check, state: 'ok', message, advice: null };
}

export function warningFinding(check: string, message: string, advice: string): DoctorFinding {
  return { check, state: 'warning', message, advice };
}

export function problemFinding(check: string, message: string, advice: string | null): DoctorFinding {
  return { check, state: 'problem', message, advice };
}

/** The second and further lines of the message become the advice. */
export function problemIn(check: string, message: string, advice: string | null = null): DoctorFinding {
  const [first = '', ...others] = message.split('\n');
  return problemFinding(check, first, others.length > 0 ? others.join('\n') : advice);
}

/** Turns an AutomateError into a problem with its message. */
export async function orProblem(check: string, find: () => DoctorFinding | Promise<DoctorFinding>): Promise<DoctorFinding> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof AutomateError) return problemIn(check, messageWithAdvice(error));
    throw error;
  }
}
