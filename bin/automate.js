#!/usr/bin/env node
import { existsSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import v8 from 'node:v8';

if (!module.enableCompileCache) {
  // Node 20 would optimise the parser of HTTP after the first few answers, and a short run wait for that at its end.
  v8.setFlagsFromString('--wasm-tiering-budget=100000000');
} else if (!process.env.NODE_DISABLE_COMPILE_CACHE) {
  keepCompiled();
}

const { main } = await import('../dist/main.js');

// It ends by itself only when it waits for what never comes.
process.once('beforeExit', () => {
  process.exitCode = 1;
  process.stderr.write('automate: this is a bug, please report it: it waits for something that never comes\n');
});
void main(process.argv);

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
