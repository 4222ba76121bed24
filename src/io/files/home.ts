import { resolve } from 'node:path';
import envPaths from 'env-paths';

/** The folder of everything that stays between runs: AUTOMATE_HOME, else the platform's folder for settings. */
export function homeFolder(environment: NodeJS.ProcessEnv): string {
  return resolve(environment.AUTOMATE_HOME || envPaths('automate', { suffix: '' }).config);
}
