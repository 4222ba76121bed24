import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import { compileFunction } from 'node:vm';
import type { Finished } from './cli.ts';

/** One call of the tool from its command line. */
export interface Call {
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | Buffer;
}

const folderOfProgram = fileURLToPath(new URL('../../dist/', import.meta.url));

/** The names of the variables that a CommonJS module gets from Node.js. */
const parameters = ['exports', 'require', 'module', '__filename', '__dirname', 'process'];

/** The members of `process` that the tool uses. */
type Own = Pick<NodeJS.Process, 'argv' | 'exit'> & { env: Record<string, string>; stdin: Readable; stdout: Writable; stderr: Writable };

/** The program, loaded with its own `process` object. */
interface Program {
  readonly process: Own & EventEmitter;
  main(argv: readonly string[]): Promise<void>;
}

/** Programs whose commands have ended. Loading the program takes longer than most commands, so it is done once for several of them. */
const idle: Program[] = [];
let isRunning = false;

/** The umask of this process. A server changes it, and several servers can run here at once. */
const umask = process.umask();

/** Matches variables that Node.js itself reads. */
const ofNode = /^(?:NODE_|UV_|SSL_|XDG_|LC_|(?:HOME|LANG|TMPDIR|TZ)$)/;

/**
 * True if a command with these variables can run in this process. Node.js was started without them, and only one command can run
 * at a time.
 */
export function canRunInProcess(variables: Readonly<Record<string, string>> = {}): boolean {
  return !isRunning && !Object.keys(variables).some((name) => ofNode.test(name));
}

/**
 * Runs the built program in this process. Starting a new process would take ten times as long. Timers that the program leaves
 * behind keep running.
 */
export async function runInProcess({ args, folder, env, stdin }: Call): Promise<Finished> {
  isRunning = true;
  const program = idle.pop() ?? load();
  const [stdout, stderr] = [collector(), collector()];
  const before = process.cwd();
  process.chdir(folder);
  try {
    const code = await begin(program, { args, env, stdin }, stdout.stream, stderr.stream);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    isRunning = false;
    process.chdir(before);
  }
}

/** A command that runs in this process while others run. */
export interface StartedHere {
  /** The streams of everything that the command prints. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly finished: Promise<Finished>;
  /** Sends a signal as soon as the command listens to it. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

/**
 * Starts a command in this process, with a copy of the program that no other command uses. Its paths must be absolute, and it must
 * listen to the signal that ends it.
 */
export function startInProcess({ args, env, stdin }: Omit<Call, 'folder'>): StartedHere {
  const program = idle.pop() ?? load();
  const [stdout, stderr] = [collector(), collector()];
  const [printed, said] = [new PassThrough(), new PassThrough()];
  let hasEnded = false;
  const finished = begin(program, { args, env, stdin }, tee(stdout.stream, printed), tee(stderr.stream, said)).then((code) => {
    hasEnded = true;
    process.umask(umask);
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  });
  return {
    stdout: printed,
    stderr: said,
    finished,
    async kill(signal) {
      while (!hasEnded && program.process.listenerCount(signal) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      if (!hasEnded) program.process.emit(signal, signal);
    },
  };
}

/** Begins a command. Resolves with its exit code; the program is then idle again. */
function begin(program: Program, { args, env, stdin }: Omit<Call, 'folder'>, stdout: Writable, stderr: Writable): Promise<number> {
  const { process: own, main } = program;
  own.removeAllListeners();
  for (const name in own.env) delete own.env[name];
  Object.assign(own.env, env);
  return new Promise((resolve, reject) => {
    const ended = new Error('the process has ended');
    const exit = (code: number): never => {
      own.emit('exit', code);
      if (!idle.includes(program)) idle.push(program);
      resolve(code);
      throw ended;
    };
    const argv = [process.execPath, 'automate', ...args];
    define(own, { argv, exit, stdout, stderr, stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]) });
    main(argv).catch((error) => (error === ended ? undefined : reject(error)));
  });
}

/** Matches the files of the program. */
const ours = /^\.\/[^/]+\.cjs$/;

/** The module v8 without setting flags, because these would change this process permanently. */
const harmlessV8 = { ...v8, setFlagsFromString: () => undefined };

/** Loads the program with its own `process` object, which has its own exit, streams, variables and listeners. */
function load(): Program {
  const own = Object.create(process);
  // A signal that the program sends to itself must not reach this process.
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
    const body = compileFunction(readFileSync(file, 'utf8'), parameters, { filename: file });
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

/** Returns a stream that writes everything to two streams. */
function tee(one: Writable, other: Writable): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      one.write(chunk);
      other.write(chunk);
      done();
    },
  });
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
