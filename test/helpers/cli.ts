import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { canRunInProcess, runInProcess, type StartedHere, startInProcess } from './in-process.ts';

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));

/** The result of a command. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command. */
export interface Started {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
}

/** A temporary folder with files, in which the tool runs. */
export interface Workplace {
  readonly folder: string;
  path(name: string): string;
  write(name: string, content: string | Buffer): Promise<void>;
  /** Returns the text of a file. If its name ends in .gz, the file is unzipped. */
  read(name: string): Promise<string>;
  /** Returns the names of the files in the folder, without the tool's own state. */
  files(): Promise<string[]>;
  /** Runs a command until it ends. It runs in this process if that makes no difference. */
  automate(args: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Starts a command in its own process. */
  start(args: readonly string[], options?: RunOptions): Started;
  /** Starts a command in this process. All of its paths must be absolute. */
  startHere(args: readonly string[], options?: Pick<RunOptions, 'env'>): StartedHere;
}

/** Options for running a command. */
export interface RunOptions {
  readonly stdin?: string | Buffer;
  /** True to leave stdin open. */
  readonly keepStdin?: boolean;
  /** True to start the command in its own process group, as a shell in a terminal does. */
  readonly ownGroup?: boolean;
  readonly env?: Record<string, string>;
  readonly node?: readonly string[];
  /** The folder in the workplace in which the command runs. */
  readonly cwd?: string;
}

/** Turns off the compile cache, because it would be written to the home, where tests check what a run left behind. */
export const noCompileCache = { NODE_DISABLE_COMPILE_CACHE: '1' };

/** The queue key of all commands in tests. Commands that use no queue ignore it. */
export const queueKey = 'the queue key of the tests';

/** Creates a workplace that is deleted after the test. No environment variables of the developer are passed to commands. */
export async function workplace(files: Record<string, string | Buffer> = {}): Promise<Workplace> {
  const folder = await mkdtemp(join(tmpdir(), 'automate-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const place: Workplace = {
    folder,
    path: (name) => join(folder, name),
    write: (name, content) => writeFile(join(folder, name), content),
    read: async (name) => {
      const bytes = await readFile(join(folder, name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    },
    files: async () => (await readdir(folder)).filter((name) => name !== '.automate').sort(),
    automate(args, options = {}) {
      if (options.node || options.keepStdin || !canRunInProcess(options.env)) return place.start(args, options).finished;
      return runInProcess({ args, folder: join(folder, options.cwd ?? ''), env: environment(options), stdin: options.stdin ?? '' });
    },
    startHere: (args, options = {}) => startInProcess({ args, env: environment(options), stdin: '' }),
    start(args, options = {}) {
      const env = environment(options);
      const child = spawn(process.execPath, [...(options.node ?? []), bin, ...args], {
        cwd: join(folder, options.cwd ?? ''),
        env,
        detached: options.ownGroup,
      });
      onTestFinished(() => void child.kill('SIGKILL'));
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
    const home = { HOME: folder, AUTOMATE_HOME: join(folder, '.automate') };
    return { PATH: process.env.PATH ?? '', ...home, AUTOMATE_QUEUE_KEY: queueKey, ...noCompileCache, ...env };
  }

  for (const [name, content] of Object.entries(files)) await place.write(name, content);
  return place;
}

/**
 * Returns the bytes of all files in a workplace, as one character per byte. A file might disappear while this function runs, because a
 * command that ran in this process might still rename files, or remove SQLite's -shm and -wal files.
 */
export async function readAllFiles({ folder }: Pick<Workplace, 'folder'>): Promise<string> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const texts = files.map(({ parentPath, name }) =>
    readFile(join(parentPath, name), 'latin1').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && /-(shm|wal)$|\.[0-9a-f-]{36}$/.test(name)) return '';
      throw error;
    }),
  );
  return (await Promise.all(texts)).join('\n');
}

/** The output of `automate credits --json`. */
export interface Credits {
  readonly spent: number;
  readonly held: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly [name: string]: unknown;
}

/** Reads the credits by running the tool. */
export async function readCredits(place: Workplace): Promise<Credits> {
  const { stdout, code, stderr } = await place.automate(['credits', '--json']);
  if (code !== 0) throw new Error(`automate credits: exit ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Returns the saved connections, as `automate connections list --json` prints them. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into it
export async function savedConnections(place: Workplace): Promise<any> {
  return JSON.parse((await place.automate(['connections', 'list', '--json'])).stdout);
}
