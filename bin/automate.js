#!/usr/bin/env node
import module from 'node:module';
import v8 from 'node:v8';

// Node 22 and later keep compiled code from one start to the next, as long as the flags are the same.
if (module.enableCompileCache) module.enableCompileCache();
// Node 20 would optimise the parser of HTTP after the first few answers, and a short run wait for that at its end.
else v8.setFlagsFromString('--wasm-tiering-budget=100000000');

const { main } = await import('../dist/main.js');
await main(process.argv);
