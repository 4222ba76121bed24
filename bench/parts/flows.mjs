import { rmSync, writeFileSync } from 'node:fs';
import { measure } from '../child.mjs';
import { automateEnv, binary } from '../contestants.mjs';
import { writeRecords } from '../data.mjs';
import { servedFlows } from '../served.mjs';
import { figure, printTable } from '../table.mjs';

const everyMs = 2000;
const polling = [200, 2000];
const pages = [1000, 10_000];

/** How exact polls are, and what polling records and pages take of memory. */
export async function flows({ node, folder, withAutomate }) {
  if (!withAutomate) return {};
  const run = async (flow, input) => {
    const output = `${folder}/flows.csv`;
    const command = [node, binary, 'run', flow, '--in', input, '--out', output, '--quiet', '--force'];
    const measured = await measure(command, { env: automateEnv(folder) });
    rmSync(output);
    return measured;
  };
  return { polls: await polls(run, folder), pages: await memoryOfPages(run, folder) };
}

async function polls(run, folder) {
  const [flow, input] = [`${folder}/poll.yaml`, `${folder}/jobs.csv`];
  const results = [];
  await servedFlows(1, async ({ origin, seen }) => {
    writeFileSync(flow, pollText(origin));
    for (const records of polling) {
      await writeRecords(input, records);
      const { peakMb } = await run(flow, input);
      const { waits } = await seen();
      const late = waits.map((waitMs) => waitMs - everyMs).sort((a, b) => a - b);
      const at = (share) => late[Math.min(late.length - 1, Math.floor(late.length * share))];
      results.push({ records, waits: late.length, leastMs: late[0], middleMs: at(0.5), p99Ms: at(0.99), mostMs: late.at(-1), peakMb });
    }
  });
  printTable(
    `Polls: every ${everyMs} ms, from an answer to the next question; ms by which a question came late`,
    ['records at once', 'waits', 'least', 'median', '99 %', 'most', 'peak MB'],
    results.map((result) => [
      figure(result.records),
      figure(result.waits),
      ...[result.leastMs, result.middleMs, result.p99Ms, result.mostMs].map((ms) => figure(ms, 1)),
      figure(result.peakMb),
    ]),
  );
  return results;
}

async function memoryOfPages(run, folder) {
  const [flow, input] = [`${folder}/pages.yaml`, `${folder}/one.csv`];
  await writeRecords(input, 1);
  const results = [];
  for (const count of pages) {
    await servedFlows(count, async ({ origin }) => {
      writeFileSync(flow, pagesText(origin));
      results.push({ pages: count, ...(await run(flow, input)) });
    });
  }
  printTable(
    'Pages of one record, 100 items each',
    ['pages', 'seconds', 'peak MB'],
    results.map((result) => [figure(result.pages), figure(result.seconds, 2), figure(result.peakMb)]),
  );
  return results;
}

function pollText(origin) {
  return `nodes:
  - type: poll
    every: ${everyMs}ms
    timeout: 5m
    until: status == "done"
    nodes: [{ type: http, url: "${origin}/jobs/{{id}}", concurrency: 64, map: [status] }]
`;
}

function pagesText(origin) {
  return `nodes:
  - type: http
    url: ${origin}/pages?page=1
    paginate: { type: next_url, path: next, max: 10000 }
    map: { item: "items[].id", text: "items[].text" }
`;
}
