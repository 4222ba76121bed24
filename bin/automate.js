#!/usr/bin/env node
import module from 'node:module';

// Node 22 and later keep compiled code from one start to the next.
module.enableCompileCache?.();

const { main } = await import('../dist/main.js');
await main(process.argv);
