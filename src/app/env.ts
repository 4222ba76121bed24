import { AutomateError, invalidOption } from '../core/failure.ts';
import { name as nameShape } from '../core/options/names.ts';
import { defaultEnv } from '../io/credentials/secret.ts';

/** The environment whose secrets are used: `env`, else AUTOMATE_ENV, else default. Throws an AutomateError (`usage`). */
export function envOf(env: string | undefined): string {
  const found = env ?? (process.env.AUTOMATE_ENV || defaultEnv);
  if (nameShape.safeParse(found).success) return found;
  if (env !== undefined) throw invalidOption('env', `expected a name such as staging, found "${found}"`);
  throw new AutomateError('usage', `expected a name such as staging in AUTOMATE_ENV, found "${found}"`);
}
