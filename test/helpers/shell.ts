import { spawn, spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Finished, noCompileCache, type Workplace } from './cli.ts';

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));

/** The variables of a shell in a workplace, and none of the tester's own. */
export function shellEnvironment({ folder, path }: Workplace): Record<string, string> {
  return {
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: folder,
    AUTOMATE_HOME: path('.automate'),
    AUTOMATE: bin,
    ...noCompileCache,
  };
}

/** Runs a bash script in a workplace. `automate` runs the tool, and `$AUTOMATE` is its file. */
export async function shell(place: Workplace, script: string, env: Record<string, string> = {}): Promise<Finished> {
  const child = spawn('bash', ['-c', `automate() { node "$AUTOMATE" "$@"; }\n${script}`], {
    cwd: place.folder,
    env: { ...shellEnvironment(place), UV_THREADPOOL_SIZE: '1', ...env },
  });
  child.stdin.end();
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [code, stdout, stderr] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** True if strace(1) can make system calls fail here. */
export const canTrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/** Suffix for the titles of tests that need `canTrace`: the reason why they are skipped. */
export const unlessTraced = canTrace ? '' : ' (skipped: strace cannot trace here)';

/** True if script(1) can give a command a terminal here. */
export const hasTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;

/** Suffix for the titles of tests that need `hasTerminal`: the reason why they are skipped. */
export const unlessTerminal = hasTerminal ? '' : ' (skipped: no script(1) of util-linux here)';

/** Runs the tool while some system calls on some files fail, as the option `inject` of strace(1) describes. Paths count as the tool writes them. */
export function sabotaged(place: Workplace, inject: string, files: readonly string[], args: readonly string[]): Promise<Finished> {
  const paths = files.map((name) => `-P '${place.path(name)}'`).join(' ');
  const words = args.map((arg) => `'${arg}'`).join(' ');
  const [call] = inject.split(':');
  return shell(
    place,
    `exec strace -f --seccomp-bpf -qq -o /dev/null ${paths} -e trace=${call} -e inject=${inject} node "$AUTOMATE" ${words}`,
  );
}
