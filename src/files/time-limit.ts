import vm from 'node:vm';
import { durationText } from '../core/duration.ts';

/** Calls the limited function. Node can limit the duration of a script, but not of a function call. */
const script = new vm.Script('work()');

/** Aborts longer work with an Error that has this `message`. Each use costs 0.1 ms, because a separate thread watches the time. @internal */
export function createTimeLimit(maxMs: number, message: string): <Result>(limited: () => Result) => Result {
  let context: { work?: () => unknown } | undefined;
  return <Result>(limited: () => Result) => {
    context ??= vm.createContext({});
    context.work = limited;
    try {
      return script.runInContext(context, { timeout: maxMs }) as Result;
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? new Error(message) : error;
    }
  };
}

const maxEvaluationMs = 1000;

/** The limit for one expression and one record. All clocks share it, because evaluations go on one after another. */
export const abortIfLong = createTimeLimit(
  maxEvaluationMs,
  `the expression takes more than ${durationText(maxEvaluationMs)} for this record`,
);
