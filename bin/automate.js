#!/usr/bin/env node
// This is CommonJS, as package.json in this folder says: Node's loader for ES modules takes 10 ms.
const { enableCompileCache } = require('node:module');

if (!enableCompileCache) {
  // Node 20 would otherwise optimise undici's parser after a few answers, which takes 20 % of the CPU time and 30 % of the memory of a run
  // of one record.
  require('node:v8').setFlagsFromString('--wasm-tiering-budget=100000000');
}
// Libraries print to the console without our masking. For example, the MCP client's warnings contain the names of a server's tools.
console.warn = console.debug = () => {};

if (require('node:fs').existsSync(`${__dirname}/../dist/main.cjs`)) {
  void loadProgram().main(process.argv);
} else {
  process.stderr.write('automate: this clone is not built\n  install the packages and build it: npm ci\n');
  process.exitCode = 1;
}

/** Loads the program with the code that V8 made of it in an earlier process. Without such code, automate only starts more slowly. */
function loadProgram() {
  const folder = cacheFolder();
  if (folder !== undefined && !enableCompileCache) return require('./code-cache.js').loadCached(folder);
  if (folder !== undefined) enableCompileCache(folder);
  return require('../dist/main.cjs');
}

/**
 * Returns the folder for compiled code, or undefined if there is none. It is the user's own: in Node's default folder, below /tmp, other
 * users could plant code. src/run/reserved-paths.ts keeps flows from writing to it.
 */
function cacheFolder() {
  const { XDG_CACHE_HOME, LOCALAPPDATA, NODE_DISABLE_COMPILE_CACHE } = process.env;
  if (NODE_DISABLE_COMPILE_CACHE) return undefined;
  try {
    const folder = `${XDG_CACHE_HOME || LOCALAPPDATA || `${require('node:os').homedir()}/.cache`}/automate`;
    require('node:fs').mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  } catch {
    return undefined;
  }
}
