import { rmSync, writeFileSync } from 'node:fs';
import { measure } from '../child.mjs';
import { automateEnv, binary } from '../contestants.mjs';
import { checkOutput, writeRecords } from '../data.mjs';
import { served } from '../served.mjs';
import { figure, printTable } from '../table.mjs';

/** The time that a typical API on the internet takes for an answer. */
const delayMs = 200;

/** `again`: after the run, the same command runs a second time over unchanged records. */
const runs = [
  { records: 1_000, set: '' },
  { records: 1_000, set: 'rate: 10/s' },
  { records: 10_000, set: '' },
  { records: 10_000, set: 'concurrency: 64' },
  { records: 100_000, set: 'concurrency: 64' },
  { records: 100_000, set: 'concurrency: 256', again: true },
  { records: 1_000_000, set: 'concurrency: 256', again: true },
];

const longestQuick = 10_000;

/** Measures how long runs of several sizes take, and how much memory they need. */
export async function duration({ node, folder, quick, withAutomate }) {
  if (!withAutomate) return console.log('\nDuration: left out, automate cannot run');
  const [input, flow, output] = [`${folder}/rows.csv`, `${folder}/flow.yaml`, `${folder}/out.csv`];
  const command = [node, binary, 'run', flow, '--in', input, '--out', output, '--update', '--quiet'];
  const results = await served(delayMs, async ({ origin }) => {
    const measured = [];
    for (const { records, set, again } of runs.filter((run) => !quick || run.records <= longestQuick)) {
      await writeRecords(input, records);
      const options = `url: ${origin}/users/{{id}}\n    map: [data.user.name, "results[0].value"]\n    ${set}`;
      writeFileSync(flow, `nodes:\n  - type: http\n    ${options}\n`);
      for (const part of again ? [set, `${set}, unchanged`] : [set]) {
        measured.push({ records, set: part, ...(await measure(command, { env: automateEnv(folder) })) });
        await checkOutput(output, records);
      }
      for (const file of [output, `${output}.automate`]) rmSync(file);
    }
    return measured;
  });
  printTable(
    `Duration: a server that takes ${delayMs} ms`,
    ['records', 'seconds', 'CPU s', 'peak MB', 'in the flow'],
    results.map(({ records, seconds, cpuSeconds, peakMb, set }) => [
      figure(records),
      figure(seconds, 1),
      figure(cpuSeconds, 1),
      figure(peakMb),
      set,
    ]),
  );
  return { delayMs, results };
}
