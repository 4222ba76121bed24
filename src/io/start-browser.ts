import { spawn } from 'node:child_process';
import { withoutOwnVariables } from './credentials/environment.ts';

/** Opens an address in the user's browser. If that fails, nothing happens: the address is shown as well. */
export function startBrowser(environment: NodeJS.ProcessEnv, url: string): void {
  const opener = process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open';
  const env = withoutOwnVariables(environment);
  const child = spawn(environment.BROWSER || opener, [url], { stdio: 'ignore', detached: true, env });
  child.on('error', () => {});
  child.unref();
}
