import { resolve } from 'node:path';
import envPaths from 'env-paths';

/** The folder of everything that is kept between runs: AUTOMATE_HOME, else where the platform keeps settings. */
export function homeFolder(environment: NodeJS.ProcessEnv): string {
  return resolve(environment.AUTOMATE_HOME || envPaths('automate', { suffix: '' }).config);
}
