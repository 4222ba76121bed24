import { AutomateError } from '../../core/failure.ts';
import { messageWithAdvice } from '../advice.ts';
import type { ValuesOf } from '../options.ts';
import { cacertOption, envOption, json, varOption } from '../shared-options.ts';

export const doctorOptions = { json, var: varOption, env: envOption(), cacert: cacertOption() };

export type DoctorOptions = ValuesOf<typeof doctorOptions>;

/** The result of one check of the `doctor` command. */
export interface DoctorFinding {
  /** The name of the thing that was checked. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem';
  /** A description of what was found. */
  readonly message: string;
  /** Advice for the user; `null` if nothing has to be done. */
  readonly advice: string | null;
}

/** Returns the finding for a check without problems. */
export function okFinding(check: string, message: string): DoctorFinding {
  return { check, state: 'ok', message, advice: null };
}

/** Returns the finding for something that might cause problems. */
export function warningFinding(check: string, message: string, advice: string): DoctorFinding {
  return { check, state: 'warning', message, advice };
}

/** Returns the finding for something that will make runs fail. */
export function problemFinding(check: string, message: string, advice: string | null): DoctorFinding {
  return { check, state: 'problem', message, advice };
}

/** Returns a problem made from a message whose second and further lines are the advice. */
export function problemIn(check: string, message: string, advice: string | null = null): DoctorFinding {
  const [first = '', ...others] = message.split('\n');
  return problemFinding(check, first, others.length > 0 ? others.join('\n') : advice);
}

/** Runs a check and returns its finding. If the check throws an AutomateError, returns a problem with the error's message. */
export async function orProblem(check: string, find: () => DoctorFinding | Promise<DoctorFinding>): Promise<DoctorFinding> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof AutomateError) return problemIn(check, messageWithAdvice(error));
    throw error;
  }
}
