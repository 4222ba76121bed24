import vm from 'node:vm';

/** A script that only calls the function whose duration is limited. Node can limit the duration of a script, but not of a function call. */
const script = new vm.Script('work()');

/**
 * Returns a function that runs synchronous work with a time limit. If the work takes longer, it is aborted with an Error that has this
 * `message`. Each use costs 0.1 ms, because a separate thread watches the time.
 */
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
