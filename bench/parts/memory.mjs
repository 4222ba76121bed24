import { automate } from '../contestants.mjs';
import { writeFlow, writeRecords } from '../data.mjs';
import { served } from '../served.mjs';
import { figure, printTable } from '../table.mjs';

const concurrency = 32;

/** Measures the peak memory of `automate` for inputs of different sizes, and tests whether a million records fit into a heap of 64 MB. */
export async function memory({ node, folder, quick, withAutomate }) {
  if (!withAutomate) return console.log('\nMemory: left out, automate cannot run');
  const sizes = [{ records: 20_000 }, { records: 200_000 }];
  if (!quick) sizes.push({ records: 1_000_000 }, { records: 1_000_000, nodeOptions: ['--max-old-space-size=64'] });
  const [input, flow] = [`${folder}/rows.csv`, `${folder}/flow.yaml`];
  const results = await served(0, async ({ origin }) => {
    writeFlow(flow, origin);
    const measured = [];
    for (const size of sizes) {
      await writeRecords(input, size.records);
      measured.push({ ...size, ...(await automate({ node, folder, input, flow, origin, concurrency, ...size })) });
    }
    return measured;
  });
  print(results);
  return { concurrency, results };
}

function print(results) {
  printTable(
    `Memory: automate, ${concurrency} in flight`,
    ['records', 'peak MB', 'x', 'seconds', 'node options'],
    results.map(({ records, peakMb, seconds, nodeOptions = [] }) => [
      figure(records),
      figure(peakMb),
      figure(peakMb === undefined ? undefined : peakMb / results[0].peakMb, 2),
      figure(seconds, 1),
      nodeOptions.join(' '),
    ]),
  );
}
