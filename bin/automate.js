#!/usr/bin/env node
// This is CommonJS, as package.json in this folder says: Node's loader for ES modules takes 10 ms.
const { enableCompileCache } = require('node:module');

const { XDG_CACHE_HOME, LOCALAPPDATA, NODE_DISABLE_COMPILE_CACHE } = process.env;
if (!enableCompileCache) {
  // Node 20 would otherwise optimise undici's parser after a few answers, which takes 20 % of the CPU time and 30 % of the memory of a run
  // of one record.
  require('node:v8').setFlagsFromString('--wasm-tiering-budget=100000000');
} else if (!NODE_DISABLE_COMPILE_CACHE) {
  // The cache is in the user's own folder. In Node's default folder, below /tmp, other users could plant code. Without a cache, automate
  // only starts more slowly.
  try {
    const folder = `${XDG_CACHE_HOME || LOCALAPPDATA || `${require('node:os').homedir()}/.cache`}/automate`;
    require('node:fs').mkdirSync(folder, { recursive: true, mode: 0o700 });
    enableCompileCache(folder);
  } catch {}
}
// Libraries print to the console without our masking. For example, the MCP client's warnings contain the names of a server's tools.
console.warn = console.debug = () => {};

if (require('node:fs').existsSync(`${__dirname}/../dist/main.cjs`)) {
  void require('../dist/main.cjs').main(process.argv);
} else {
  process.stderr.write('automate: this clone is not built\n  install the packages and build it: npm ci\n');
  process.exitCode = 1;
}
