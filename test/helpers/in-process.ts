import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import { compileFunction } from 'node:vm';
import type { Finished } from './cli.ts';

/** One run of the tool. */
export interface Call {
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | Buffer;
}

const folderOfProgram = fileURLToPath(new URL('../../dist/', import.meta.url));

/** The names that a CommonJS module finds around it. */
const parameters = ['exports', 'require', 'module', '__filename', '__dirname', 'process'];

/** The parts of `process` that the tool uses. */
type Own = Pick<NodeJS.Process, 'argv' | 'exit'> & { env: Record<string, string>; stdin: Readable; stdout: Writable; stderr: Writable };

/** The program with a `process` of its own. */
interface Program {
  readonly process: Own & EventEmitter;
  main(argv: readonly string[]): Promise<void>;
}

let loaded: Program | undefined;
let isRunning = false;

/** Variables that Node itself reads. */
const ofNode = /^(?:NODE_|UV_|SSL_|XDG_|LC_|(?:HOME|LANG|TMPDIR|TZ)$)/;

/** True if a command with these variables can run in this process: Node has started without them, and only one command runs at a time. */
export function canRunInProcess(variables: Readonly<Record<string, string>> = {}): boolean {
  return !isRunning && !Object.keys(variables).some((name) => ofNode.test(name));
}

/**
 * Runs the built program in this process, instead of in a new one, which would take ten times as long to start.
 * Timers that it leaves keep running.
 */
export async function runInProcess({ args, folder, env, stdin }: Call): Promise<Finished> {
  isRunning = true;
  loaded ??= load();
  const { process: own } = loaded;
  const [stdout, stderr] = [collector(), collector()];
  for (const name in own.env) delete own.env[name];
  own.removeAllListeners();
  const before = process.cwd();
  process.chdir(folder);
  try {
    const code = await begin(loaded, { args, env, stdin }, stdout.stream, stderr.stream);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    isRunning = false;
    process.chdir(before);
  }
}

/** A command that goes on in this process while others run. */
export interface StartedHere {
  /** Emits what it prints. */
  readonly stderr: Readable;
  readonly finished: Promise<Finished>;
  /** Sends a signal, once the command listens to it. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a command with a program of its own in this process. Its paths must be absolute, and it must listen to the signal that ends it. */
export function startInProcess({ args, env, stdin }: Omit<Call, 'folder'>): StartedHere {
  const program = load();
  const [stdout, stderr] = [collector(), collector()];
  const printed = new PassThrough();
  const umask = process.umask();
  let hasEnded = false;
  const tee = new Writable({
    write(chunk: Buffer, _encoding, done) {
      stderr.stream.write(chunk);
      printed.write(chunk);
      done();
    },
  });
  const finished = begin(program, { args, env, stdin }, stdout.stream, tee).then((code) => {
    hasEnded = true;
    process.umask(umask);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  });
  return {
    stderr: printed,
    finished,
    async kill(signal) {
      while (!hasEnded && program.process.listenerCount(signal) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      program.process.emit(signal, signal);
    },
  };
}

/** Begins a command. Resolves with its exit code. */
function begin(
  { process: own, main }: Program,
  { args, env, stdin }: Omit<Call, 'folder'>,
  stdout: Writable,
  stderr: Writable,
): Promise<number> {
  Object.assign(own.env, env);
  return new Promise((resolve, reject) => {
    const ended = new Error('the process has ended');
    const exit = (code: number): never => {
      own.emit('exit', code);
      resolve(code);
      throw ended;
    };
    const argv = [process.execPath, 'automate', ...args];
    define(own, { argv, exit, stdout, stderr, stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]) });
    main(argv).catch((error) => (error === ended ? undefined : reject(error)));
  });
}

/** The files of the program itself; the others are packages. */
const ours = /^\.\/(?:main|serve|shared|lookups)\.cjs$/;

/** Flags of V8 would change this process for good. */
const harmlessV8 = { ...v8, setFlagsFromString: () => undefined };

/** Loads the program with a `process` of its own: its end, streams, variables and listeners. */
function load(): Program {
  const own = Object.create(process);
  // A signal to itself must not reach this process.
  const kill = (pid: number, signal?: string | number) =>
    pid === process.pid && signal !== 0 ? own.emit(signal ?? 'SIGTERM', signal) : process.kill(pid, signal);
  define(own, { env: {}, kill });
  EventEmitter.call(own);
  const require = createRequire(folderOfProgram);
  const loaded = new Map<string, { readonly exports: unknown }>();
  const loadPart = (name: string) => {
    const file = join(folderOfProgram, name);
    const module = { exports: {} };
    loaded.set(name, module);
    const body = compileFunction(readFileSync(file, 'latin1'), parameters, { filename: file });
    body(module.exports, requireBeside, module, file, folderOfProgram, own);
    return module;
  };
  const requireBeside = (name: string): unknown => {
    if (/^(?:node:)?process$/.test(name)) return own;
    if (/^(?:node:)?v8$/.test(name)) return harmlessV8;
    if (!ours.test(name)) return require(name);
    return (loaded.get(name) ?? loadPart(name)).exports;
  };
  const { main } = requireBeside('./main.cjs') as Pick<Program, 'main'>;
  return { process: own, main };
}

function define(own: object, values: object): void {
  for (const [name, value] of Object.entries(values)) Object.defineProperty(own, name, { value, writable: true, configurable: true });
}

function collector() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
