import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measure } from '../child.mjs';
import { automateEnv, binary } from '../contestants.mjs';
import { writeRecords } from '../data.mjs';
import { servedFlows } from '../served.mjs';
import { figure, median, printTable } from '../table.mjs';

const records = 100_000;
const size = 100;
const concurrency = 16;
const rounds = 5;

const script = fileURLToPath(new URL('../peers/batch-script.mjs', import.meta.url));

/** Measures batches of a hundred records with a local server, and compares them with a script that does the same. */
export async function batch({ node, folder, withAutomate }) {
  const [input, flow, output] = [`${folder}/rows.csv`, `${folder}/batch.yaml`, `${folder}/batch.csv`];
  await writeRecords(input, records);
  return servedFlows(1, async ({ origin, seen }) => {
    writeFileSync(flow, flowText(origin));
    const run = [node, binary, 'run', flow, '--in', input, '--out', output, '--concurrency', String(concurrency), '--quiet', '--force'];
    const contestants = {
      ...(withAutomate ? { automate: run } : {}),
      'undici script': [node, script, input, output, origin, String(concurrency)],
    };
    const runs = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
    for (let round = 0; round <= rounds; round++) {
      for (const [name, command] of Object.entries(contestants)) {
        const measured = await measure(command, { env: automateEnv(folder) });
        checkOutput(output);
        rmSync(output);
        const requests = await seen();
        if (round > 0) runs[name].push({ ...measured, requests });
      }
    }
    const results = Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, summary(all)]));
    print(results);
    return { records, size, concurrency, rounds, results };
  });
}

function flowText(origin) {
  return `nodes:
  - type: http
    method: POST
    url: ${origin}/lookup
    batch: { size: ${size}, items: "{{id}}", match: { field: id, path: "results[].id" } }
    body: { ids: "{{items}}" }
    map: { name: "results[].name" }
`;
}

/** Throws unless every record has the name that belongs to it. */
function checkOutput(output) {
  const lines = readFileSync(output, 'utf8').trimEnd().split('\n');
  const wrong = lines.slice(1).find((line) => !line.endsWith(`,name of ${Number.parseInt(line, 10)}`));
  if (lines.length !== records + 1 || wrong !== undefined) throw new Error(`${output}: ${lines.length} lines, wrong is ${wrong}`);
}

function summary(runs) {
  const of = (name) => median(runs.map((run) => run[name]));
  return { seconds: of('seconds'), cpuSeconds: of('cpuSeconds'), peakMb: of('peakMb'), requests: of('requests') };
}

function print(results) {
  const reference = results['undici script'];
  printTable(
    `Batches: ${figure(records)} records by ${size}, ${concurrency} requests in flight, median of ${rounds} rounds (x: against the script)`,
    ['', 'seconds', 'x', 'CPU s', 'x', 'peak MB', 'requests'],
    Object.entries(results).map(([name, { seconds, cpuSeconds, peakMb, requests }]) => [
      name,
      figure(seconds, 2),
      figure(seconds / reference.seconds, 2),
      figure(cpuSeconds, 2),
      figure(cpuSeconds / reference.cpuSeconds, 2),
      figure(peakMb),
      figure(requests),
    ]),
  );
}
