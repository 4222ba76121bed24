import { spawn } from 'node:child_process';
import { withoutOwnVariables } from '../../credentials/environment.ts';

/** Opens a URL in the user's browser. Errors are ignored, because the URL is also shown to the user. */
export function startBrowser(environment: NodeJS.ProcessEnv, url: string): void {
  const opener = process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open';
  const env = withoutOwnVariables(environment);
  const child = spawn(environment.BROWSER || opener, [url], { stdio: 'ignore', detached: true, env });
  child.on('error', () => {});
  child.unref();
}
