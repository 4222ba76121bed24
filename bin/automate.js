#!/usr/bin/env node
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';
import vm from 'node:vm';

const program = fileURLToPath(new URL('../dist/main.cjs', import.meta.url));
const compiled = `${program}.${process.version}-${process.platform}-${process.arch}`;
const require = module.createRequire(program);

if (!module.enableCompileCache) {
  // Node 20 would optimise the parser of HTTP after the first few answers, and a short run wait for that at its end.
  v8.setFlagsFromString('--wasm-tiering-budget=100000000');
}

const cachedData = keptByBuild();
const { main } = cachedData ? fromCompiled(cachedData) : fromSource();

// It ends by itself only when it waits for what never comes.
process.once('beforeExit', () => {
  process.exitCode = 1;
  process.stderr.write('automate: this is a bug, please report it: it waits for something that never comes\n');
});
void main(process.argv);

/**
 * What the build has compiled for this very Node; absent where it did not, or the program was changed since: V8 compares only its length.
 * Who copies both of them may copy the program last.
 */
function keptByBuild() {
  const copyingMs = 10_000;
  try {
    return statSync(compiled).mtimeMs + copyingMs >= statSync(program).mtimeMs ? readFileSync(compiled) : undefined;
  } catch {
    return undefined;
  }
}

/** Halves the start. Where V8 was given other flags it compiles anew. The program is ASCII: it is read without being decoded. */
function fromCompiled(cachedData) {
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(program, 'latin1')}\n})`;
  const script = new vm.Script(source, { filename: program, cachedData });
  const loaded = { exports: {} };
  script.runInThisContext()(loaded.exports, require, loaded, program, dirname(program));
  return loaded.exports;
}

function fromSource() {
  if (module.enableCompileCache && !process.env.NODE_DISABLE_COMPILE_CACHE) keepCompiled();
  return require(program);
}

/**
 * Keeps compiled code from one start to the next, in the user's own cache:
 * where everybody can write, as in the usual place under /tmp, is nothing to load code from.
 */
function keepCompiled() {
  try {
    const caches = process.env.XDG_CACHE_HOME || process.env.LOCALAPPDATA || `${homedir()}/.cache`;
    const folder = `${caches}/automate`;
    for (const needed of [caches, folder]) if (!existsSync(needed)) mkdirSync(needed, { mode: 0o700 });
    module.enableCompileCache(folder);
  } catch {
    // There is no place of one's own: then it starts a little later.
  }
}
