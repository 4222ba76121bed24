// Runs the official conformance suite against the tool's MCP client. The suite needs Node 22 or later; the client runs with the current
// Node.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const suite = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const revisions = process.argv.length > 2 ? process.argv.slice(2) : ['2025-11-25', '2026-07-28'];

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = await mkdtemp(join(root, 'node_modules', '.conformance-'));
try {
  const client = join(folder, 'client.mjs');
  await build({ input: join(root, 'test/conformance/client.ts'), external: /^[^./]/, platform: 'node', output: { file: client } });
  let failed = 0;
  for (const revision of revisions) failed += await run(revision, client);
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function run(revision, client) {
  const results = join(folder, revision);
  const command = `${process.execPath} ${client}`;
  const args = [
    '--yes',
    '-p',
    'node@24',
    '-p',
    suite,
    'conformance',
    'client',
    '--requirements',
    revision,
    '--command',
    command,
    '-o',
    results,
  ];
  const child = spawn('npx', args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  return new Promise((resolve) => child.on('close', resolve));
}
