import envPaths from 'env-paths';

/** The folder of everything that is kept between runs: AUTOMATE_HOME, else the platform's config folder. */
export function homeFolder(environment: NodeJS.ProcessEnv): string {
  return environment.AUTOMATE_HOME || envPaths('automate', { suffix: '' }).config;
}
