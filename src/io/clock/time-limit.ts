import vm from 'node:vm';

/** The work in progress. It runs from a script, because only scripts have a time limit. */
let work: () => unknown = () => undefined;

const place = Symbol.for('automate.limited-work');
Object.defineProperty(globalThis, place, { value: () => work() });
const script = new vm.Script(`globalThis[Symbol.for('${place.description}')]()`);

/**
 * Creates a time limit for synchronous work. Work that takes longer is ended, wherever it is, with an Error of `message`.
 * It costs 0.1 ms each time: a thread watches the work.
 */
export function createTimeLimit(maxMs: number, message: string): <Result>(limited: () => Result) => Result {
  return <Result>(limited: () => Result) => {
    work = limited;
    try {
      return script.runInThisContext({ timeout: maxMs }) as Result;
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? new Error(message) : error;
    }
  };
}
