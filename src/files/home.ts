import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import envPaths from 'env-paths';
import { AutomateError, invalidOption } from '../core/failure.ts';
import { name as nameShape } from '../core/options/names.ts';
import { defaultEnv } from '../core/run-options.ts';
import { fullPath, statOf } from './stat.ts';

/** The folder for data that is kept between runs: AUTOMATE_HOME or, if that is not set, the platform's folder for settings. */
export function homeFolder(environment: NodeJS.ProcessEnv): string {
  return resolve(environment.AUTOMATE_HOME || envPaths('automate', { suffix: '' }).config);
}

/** Also true for a symbolic or hard link to a file there. */
export function isInHome(path: string, environment: NodeJS.ProcessEnv): boolean {
  const home = homeFolder(environment);
  if (fullPath(path).startsWith(fullPath(join(home, 'any')).slice(0, -'any'.length))) return true;
  const found = statOf(path);
  if (!found?.isFile() || found.nlink < 2 || !statOf(home)) return false;
  const isSame = (name: string) => {
    const other = statOf(join(home, name));
    return other?.ino === found.ino && other.dev === found.dev;
  };
  return readdirSync(home, { recursive: true, encoding: 'utf8' }).some(isSame);
}

/** `env`, or else AUTOMATE_ENV, or else `default`. Throws an AutomateError (`usage`) if the name is not valid. */
export function envOf(env: string | undefined): string {
  const found = env ?? (process.env.AUTOMATE_ENV || defaultEnv);
  if (nameShape.safeParse(found).success) return found;
  if (env !== undefined) throw invalidOption('env', `expected an environment name such as staging, found "${found}"`);
  throw new AutomateError('usage', `expected an environment name such as staging in AUTOMATE_ENV, found "${found}"`);
}
