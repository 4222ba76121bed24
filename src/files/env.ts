import { AutomateError, invalidOption } from '../core/failure.ts';
import { name as nameShape } from '../core/options/names.ts';
import { defaultEnv } from '../core/run-options.ts';

/**
 * Returns the environment whose secrets are used: `env`, or else the variable AUTOMATE_ENV, or else `default`. Throws an AutomateError
 * (`usage`) if the name is not valid.
 */
export function envOf(env: string | undefined): string {
  const found = env ?? (process.env.AUTOMATE_ENV || defaultEnv);
  if (nameShape.safeParse(found).success) return found;
  if (env !== undefined) throw invalidOption('env', `expected an environment name such as staging, found "${found}"`);
  throw new AutomateError('usage', `expected an environment name such as staging in AUTOMATE_ENV, found "${found}"`);
}
