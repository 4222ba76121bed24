import { dirname } from 'node:path';
import Conf from 'conf';

/** The folder of everything that is kept between runs: AUTOMATE_HOME, else where the platform keeps settings. */
export function homeFolder(environment: NodeJS.ProcessEnv): string {
  return environment.AUTOMATE_HOME || dirname(new Conf({ projectName: 'automate', projectSuffix: '', configFileMode: 0o600 }).path);
}
