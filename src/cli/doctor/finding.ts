import { AutomateError } from '../../core/failure.ts';
import { messageWithAdvice } from '../advice.ts';

/** The result of one check. */
export interface Finding {
  /** The thing that was checked. */
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem';
  /** The facts that were found. */
  readonly message: string;
  /** The way out; `null` if there is nothing to do. */
  readonly advice: string | null;
}

/** A check whose thing is as it should be. */
export function okFinding(check: string, message: string): Finding {
  return { check, state: 'ok', message, advice: null };
}

/** A check whose thing may be in the way. */
export function warningFinding(check: string, message: string, advice: string): Finding {
  return { check, state: 'warning', message, advice };
}

/** A check whose thing will make runs fail. */
export function problemFinding(check: string, message: string, advice: string | null): Finding {
  return { check, state: 'problem', message, advice };
}

/** A problem from a message whose further lines say what to do. */
export function problemIn(check: string, message: string, advice: string | null = null): Finding {
  const [first = '', ...others] = message.split('\n');
  return problemFinding(check, first, others.length > 0 ? others.join('\n') : advice);
}

/** The findings of a check; a problem if it throws an AutomateError. */
export async function orProblem(check: string, find: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof AutomateError) return problemIn(check, messageWithAdvice(error));
    throw error;
  }
}
