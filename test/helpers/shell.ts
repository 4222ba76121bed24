import { spawn, spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { split } from 'shlex';
import { type Finished, noCompileCache, type RunOptions, type Workplace } from './cli.ts';

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));

/** Returns the environment variables for a shell in a workplace, without any variables of the developer. */
export function shellEnvironment({ folder, path }: Workplace): Record<string, string> {
  return {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: folder,
    AUTOMATE_HOME: path('.automate'),
    AUTOMATE: bin,
    ...noCompileCache,
  };
}

/** Runs a bash script in a workplace. The command `automate` runs the tool, and `$AUTOMATE` is the path of its file. */
export async function shell(place: Workplace, script: string, env: Record<string, string> = {}): Promise<Finished> {
  const child = spawn('bash', ['-c', `automate() { node "$AUTOMATE" "$@"; }\n${script}`], {
    cwd: place.folder,
    env: { ...shellEnvironment(place), UV_THREADPOOL_SIZE: '1', ...env },
  });
  child.stdin.end();
  const closed = new Promise<number | null>((resolve, reject) => child.on('close', resolve).on('error', reject));
  const [code, stdout, stderr] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** Runs a command line that the tool has printed, as if the user had typed it, but in the process of the test. */
export function typed(place: Workplace, line: string, options: RunOptions = {}): Promise<Finished> {
  const [command, ...args] = split(line);
  if (command !== 'automate') throw new Error(`expected a command line of automate, found ${line}`);
  return place.automate(args, options);
}

/** True if strace(1) can make system calls fail on this machine. */
export const canTrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/** Suffix for the titles of tests that need `canTrace`, with the reason why they are skipped. */
export const unlessTraced = canTrace ? '' : ' (skipped: strace cannot trace here)';

/** True if curl is installed. Always true on CI, where the tests that need it fail if it is missing. */
export const hasCurl = Boolean(process.env.CI) || spawnSync('curl', ['--version']).status === 0;

/** Suffix for the titles of tests that need `hasCurl`, with the reason why they are skipped. */
export const unlessCurl = hasCurl ? '' : ' (skipped: there is no curl)';

/** True if script(1) can run a command in a terminal on this machine. */
export const hasTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

/** Suffix for the titles of tests that need `hasTerminal`, with the reason why they are skipped. */
export const unlessTerminal = hasTerminal ? '' : ' (skipped: no script(1) of util-linux here)';

/**
 * Runs the tool while some system calls on some files fail. `inject`: as for the option of strace(1). `files`: the paths as the
 * tool passes them to the system.
 */
export function sabotaged(place: Workplace, inject: string, files: readonly string[], args: readonly string[]): Promise<Finished> {
  const paths = files.map((name) => `-P '${place.path(name)}'`).join(' ');
  const words = args.map((arg) => `'${arg}'`).join(' ');
  const [call] = inject.split(':');
  return shell(
    place,
    `exec strace -f --seccomp-bpf -qq -o /dev/null ${paths} -e trace=${call} -e inject=${inject} node "$AUTOMATE" ${words}`,
  );
}
