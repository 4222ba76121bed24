import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { Finished, Workplace } from './cli.ts';
import { shellEnvironment } from './shell.ts';

/** True if a command can run in a terminal window on this machine. */
export const hasWindow = spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0;

/**
 * Runs the tool in a terminal window. The window has no set size unless `columns` is given. `stdout` contains everything that it
 * displays.
 */
export async function inWindow(
  place: Workplace,
  args: readonly string[],
  env: Record<string, string> = {},
  columns?: number,
): Promise<Finished> {
  const size = columns === undefined ? '' : `stty cols ${columns} rows 40; `;
  const words = args.map((arg) => `'${arg}'`).join(' ');
  const child = spawn('timeout', ['-s', 'KILL', '60', 'script', '-qec', `${size}exec node "$AUTOMATE" ${words}`, '/dev/null'], {
    cwd: place.folder,
    env: { ...shellEnvironment(place), TERM: 'xterm', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [code, stdout, stderr] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
