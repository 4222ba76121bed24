import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { automateEnv, binary } from '../contestants.mjs';
import { checkOutput, writeFlow, writeRecords } from '../data.mjs';
import { served } from '../served.mjs';
import { figure, median, printTable } from '../table.mjs';

const rounds = 15;

/** Measures the start-up time, and compares it with a Node.js process that does nothing. */
export async function startup({ node, folder, withAutomate }) {
  const [input, output, flow] = [`${folder}/one.csv`, `${folder}/one.out.csv`, `${folder}/flow.yaml`];
  await writeRecords(input, 1);
  const lookup = `${folder}/lookup.yaml`;
  writeFileSync(lookup, 'nodes: [{ type: places, lookup: chain, name: Starbucks }]\n');
  return served(0, async ({ origin }) => {
    writeFlow(flow, origin);
    const commands = {
      'node -e 0': ['-e', '0'],
      ...(withAutomate && {
        'automate --version': [binary, '--version'],
        'automate validate': [binary, 'validate', flow],
        'automate run, one record': [binary, 'run', flow, '--in', input, '--out', output, '--force', '--quiet'],
        'automate run, one lookup': [binary, 'run', lookup, '--in', input, '--out', `${folder}/lookup.out.csv`, '--force', '--quiet'],
      }),
    };
    const times = inTurns(node, commands, automateEnv(folder));
    if (withAutomate) await checkOutput(output, 1);
    const results = Object.fromEntries(Object.entries(times).map(([name, all]) => [name, { ms: median(all) }]));
    print(results);
    return { rounds, results };
  });
}

function inTurns(node, commands, env) {
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, command] of Object.entries(commands)) {
      const startedAt = performance.now();
      const { status, stderr } = spawnSync(node, command, { env, encoding: 'utf8' });
      const ms = performance.now() - startedAt;
      if (status !== 0) throw new Error(`${name} ended with ${status}\n${stderr}`);
      if (round > 0) times[name].push(ms);
    }
  }
  return times;
}

function print(results) {
  const bare = results['node -e 0'].ms;
  printTable(
    `Start-up: median of ${rounds} alternating runs`,
    ['', 'ms', 'x', 'more ms'],
    Object.entries(results).map(([name, { ms }]) => [name, figure(ms, 1), figure(ms / bare, 2), figure(ms - bare, 1)]),
  );
}
