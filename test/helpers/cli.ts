import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { canRunInProcess, runInProcess } from './in-process.ts';

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));

/** What a finished command left. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command under way. */
export interface Started {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
}

/** A folder of its own with files in it, and the tool run there. */
export interface Workplace {
  readonly folder: string;
  path(name: string): string;
  write(name: string, content: string | Buffer): Promise<void>;
  read(name: string): Promise<string>;
  /** What is in the folder, but for the tool's own state. */
  files(): Promise<string[]>;
  /** A command to its end. It is run in this very process where that makes no difference. */
  automate(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** A command in a process of its own. */
  start(args: readonly string[], options?: RunOptions): Started;
}

/** How a command is run. */
export interface RunOptions {
  readonly stdin?: string | Buffer;
  /** Whether more may be written to stdin: it is not ended. */
  readonly keepStdin?: boolean;
  readonly env?: Record<string, string>;
  readonly node?: readonly string[];
}

/** Compiled code is kept in the home, where tests look for what a run left. */
export const noCompileCache = { NODE_DISABLE_COMPILE_CACHE: '1' };

/** Makes a workplace; it is gone after the test. The environment holds nothing of the tester's own. */
export async function workplace(files: Record<string, string | Buffer> = {}): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const place: Workplace = {
    folder,
    path: (name) => join(folder, name),
    write: (name, content) => writeFile(join(folder, name), content),
    read: (name) => readFile(join(folder, name), 'utf8'),
    files: async () => (await readdir(folder)).filter((name) => name !== '.automate').sort(),
    automate(args, options = {}) {
      if (options.node || options.keepStdin || !canRunInProcess(options.env)) return place.start(args, options).finished;
      return runInProcess({ args, folder, env: environment(options), stdin: options.stdin ?? '' });
    },
    start(args, options = {}) {
      const env = environment(options);
      const child = spawn(process.execPath, [...(options.node ?? []), bin, ...args], { cwd: folder, env });
      child.stdin.on('error', () => {});
      child.stdin.write(options.stdin ?? '');
      if (!options.keepStdin) child.stdin.end();
      const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
      const finished = Promise.all([closed, text(child.stdout).catch(() => ''), text(child.stderr).catch(() => '')]).then(
        ([code, stdout, stderr]) => ({
          code,
          stdout,
          stderr,
        }),
      );
      return { child, finished };
    },
  };
  function environment({ env }: RunOptions): Record<string, string> {
    return { PATH: process.env.PATH ?? '', HOME: folder, AUTOMATE_HOME: join(folder, '.automate'), ...noCompileCache, ...env };
  }

  for (const [name, content] of Object.entries(files)) await place.write(name, content);
  return place;
}
