import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { AutomateError, invalidOption } from '../core/failure.ts';
import { name as nameShape } from '../core/options/names.ts';
import { defaultEnv } from '../core/run-options.ts';
import { orUndefined } from '../core/value/value.ts';
import { fullPath, statOf } from './stat.ts';

/**
 * The folder for data that is kept between runs: AUTOMATE_HOME or, if that is not set, the platform's folder for settings. Throws an
 * AutomateError (`usage`) if there is neither.
 */
export function homeFolder(environment: NodeJS.ProcessEnv): string {
  return resolve(environment.AUTOMATE_HOME || settingsFolder(environment));
}

/** Undefined for a user who has no home folder, in which nothing can be stored. */
export function homeIfAny(environment: NodeJS.ProcessEnv): string | undefined {
  return orUndefined(() => homeFolder(environment));
}

function settingsFolder({ APPDATA, XDG_CONFIG_HOME }: NodeJS.ProcessEnv): string {
  if (process.platform === 'darwin') return join(userFolder(), 'Library', 'Preferences', 'automate');
  if (process.platform === 'win32') return join(APPDATA || join(userFolder(), 'AppData', 'Roaming'), 'automate', 'Config');
  return join(XDG_CONFIG_HOME || join(userFolder(), '.config'), 'automate');
}

/** In a container, the user can be a number without an entry in passwd. Node then throws, unless HOME is set. */
function userFolder(): string {
  const folder = orUndefined(homedir);
  if (folder) return folder;
  throw new AutomateError(
    'usage',
    'the user of this process has no home folder\nset AUTOMATE_HOME to a folder for credentials and other data',
  );
}

/** Also true for a symbolic or hard link to a file there. */
export function isInHome(path: string, environment: NodeJS.ProcessEnv): boolean {
  const home = homeIfAny(environment);
  if (home === undefined) return false;
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
