#!/usr/bin/env node
import { mkdirSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import v8 from 'node:v8';

const { XDG_CACHE_HOME, LOCALAPPDATA, NODE_DISABLE_COMPILE_CACHE } = process.env;
if (!module.enableCompileCache) {
  // Node 20 would otherwise optimise undici's parser after a few answers, which takes 20 % of the CPU time and 30 % of the memory of a run
  // of one record.
  v8.setFlagsFromString('--wasm-tiering-budget=100000000');
} else if (!NODE_DISABLE_COMPILE_CACHE) {
  // The cache is in the user's own folder. In Node's default folder, below /tmp, other users could plant code. Without a cache, automate
  // only starts more slowly.
  try {
    const folder = `${XDG_CACHE_HOME || LOCALAPPDATA || `${homedir()}/.cache`}/automate`;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    module.enableCompileCache(folder);
  } catch {}
}
// Libraries print to the console without our masking. For example, the MCP client's warnings contain the names of a server's tools.
console.warn = console.debug = () => {};

const { main } = module.createRequire(import.meta.url)('../dist/main.cjs');
void main(process.argv);
