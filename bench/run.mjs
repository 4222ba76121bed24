// Usage: npm run bench -- [throughput] [latency] [memory] [startup] [batch] [flows] [lookups] [workers]
//   [duration] [--quick] [--node PATH] [--json FILE]
// Measures `automate` and other contestants on this machine, over loopback. Runs all parts unless some are listed. --quick leaves out the
// longest runs.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { automateProblem } from './contestants.mjs';
import { batch } from './parts/batch.mjs';
import { duration } from './parts/duration.mjs';
import { flows } from './parts/flows.mjs';
import { latency } from './parts/latency.mjs';
import { lookups } from './parts/lookups.mjs';
import { memory } from './parts/memory.mjs';
import { startup } from './parts/startup.mjs';
import { throughput } from './parts/throughput.mjs';
import { workers } from './parts/workers.mjs';

const parts = { throughput, latency, memory, startup, batch, flows, lookups, workers, duration };

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, node: { type: 'string', default: process.execPath }, json: { type: 'string' } },
});
for (const name of wanted) {
  if (!Object.hasOwn(parts, name)) fail(`no part "${name}"; there are: ${Object.keys(parts).join(', ')}`);
}

const { stdout: version } = spawnSync(options.node, ['--version'], { encoding: 'utf8' });
if (!version) fail(`${options.node} is no node`);
const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: version.trim() };
console.log(`${machine.cpu}, ${machine.cores} cores, node ${machine.node}`);
const problem = automateProblem(options.node);
if (problem !== undefined) console.log(`automate is left out: ${problem}`);

const folder = mkdtempSync(join(tmpdir(), 'automate-bench-'));
const results = {};
try {
  for (const [name, part] of Object.entries(parts)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    results[name] = await part({ node: options.node, folder, quick: options.quick, withAutomate: problem === undefined });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ machine, ...results }, null, 2)}\n`);

function fail(message) {
  console.error(message);
  process.exit(2);
}
