import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import type { Finished } from './cli.ts';

/** One run of the tool. */
export interface Call {
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | Buffer;
}

const program = fileURLToPath(new URL('../../dist/main.cjs', import.meta.url));

/** The parts of `process` that the tool uses. */
type Own = Pick<NodeJS.Process, 'argv' | 'exit'> & { env: Record<string, string>; stdin: Readable; stdout: Writable; stderr: Writable };

let loaded: { readonly process: Own & EventEmitter; main(argv: readonly string[]): Promise<void> } | undefined;
let isRunning = false;

/** Variables that Node itself reads. */
const ofNode = /^(?:NODE_|UV_|SSL_|XDG_|LC_|(?:HOME|LANG|TMPDIR|TZ)$)/;

/** True if a command with these variables can run in this process: Node has started without them, and only one command runs at a time. */
export function canRunInProcess(variables: Readonly<Record<string, string>> = {}): boolean {
  return !isRunning && !Object.keys(variables).some((name) => ofNode.test(name));
}

/**
 * Runs the built bundle in this process, instead of in a new one, which would take ten times as long to start.
 * Timers that it leaves keep running.
 */
export async function runInProcess({ args, folder, env, stdin }: Call): Promise<Finished> {
  isRunning = true;
  loaded ??= load();
  const { process: own, main } = loaded;
  const [stdout, stderr] = [collector(), collector()];
  for (const name in own.env) delete own.env[name];
  Object.assign(own.env, env);
  own.removeAllListeners();
  const before = process.cwd();
  process.chdir(folder);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      const ended = new Error('the process has ended');
      const exit = (code: number): never => {
        own.emit('exit', code);
        resolve(code);
        throw ended;
      };
      const argv = [process.execPath, 'automate', ...args];
      define(own, {
        argv,
        exit,
        stdout: stdout.stream,
        stderr: stderr.stream,
        stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]),
      });
      main(argv).catch((error) => (error === ended ? undefined : reject(error)));
    });
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    isRunning = false;
    process.chdir(before);
  }
}

/** A `process` for the program, with its own end, streams and listeners. */
function load() {
  const own = Object.create(process);
  define(own, { env: {} });
  EventEmitter.call(own);
  const require = createRequire(program);
  const requireBeside = (name: string) => (/^(?:node:)?process$/.test(name) ? own : require(name));
  const parameters = ['exports', 'require', 'module', '__filename', '__dirname', 'process'];
  const module = { exports: {} as { main(argv: readonly string[]): Promise<void> } };
  const body = compileFunction(readFileSync(program, 'latin1'), parameters, { filename: program });
  body(module.exports, requireBeside, module, program, dirname(program), own);
  return { process: own, main: module.exports.main };
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
