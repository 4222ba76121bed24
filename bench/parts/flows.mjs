import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measure } from '../child.mjs';
import { automateEnv, binary } from '../contestants.mjs';
import { writeRecords } from '../data.mjs';
import { servedFlows, servedJobs } from '../served.mjs';
import { figure, printTable } from '../table.mjs';

const everyMs = 2000;
/** The poll measurements. The default is 16 requests in flight. */
const polling = [
  { records: 200, inFlight: 16 },
  { records: 2000, inFlight: 16 },
  { records: 2000, inFlight: 64 },
];
const exactMs = 20;
const rounds = 3;
const pages = [1000, 10_000];

const pollScript = fileURLToPath(new URL('../peers/poll-script.mjs', import.meta.url));

/** Measures how punctual polls are, compared with a script, and how much memory polling records and pages need. */
export async function flows({ node, folder, withAutomate }) {
  const output = `${folder}/flows.csv`;
  const runOf = (flow, input) => [node, binary, 'run', flow, '--in', input, '--out', output, '--quiet', '--force'];
  const run = async (flow, input) => {
    const measured = await measure(runOf(flow, input), { env: automateEnv(folder) });
    rmSync(output);
    return measured;
  };
  const script = async (origin, input, inFlight, client) => {
    const measured = await measure([node, pollScript, input, output, origin, inFlight, everyMs, client].map(String));
    rmSync(output);
    return measured;
  };
  const results = await polls({ run, script, withAutomate }, folder);
  return { polls: results, ...(withAutomate ? { pages: await memoryOfPages(run, folder) } : {}) };
}

async function polls({ run, script, withAutomate }, folder) {
  const [flow, input] = [`${folder}/poll.yaml`, `${folder}/jobs.csv`];
  const results = [];
  await servedJobs(async ({ origin, seen }) => {
    for (const { records, inFlight } of polling) {
      const contestants = {
        ...(withAutomate ? { automate: () => run(flow, input) } : {}),
        'undici script': () => script(origin, input, inFlight, 'undici'),
        'bare sockets': () => script(origin, input, inFlight, 'sockets'),
      };
      writeFileSync(flow, pollText(origin, inFlight));
      await writeRecords(input, records);
      const measured = Object.fromEntries(Object.keys(contestants).map((name) => [name, { waits: [], peakMb: 0 }]));
      for (let round = 0; round < rounds; round++) {
        for (const [name, contestant] of Object.entries(contestants)) {
          const { peakMb } = await contestant();
          measured[name].waits.push(...(await seen()));
          measured[name].peakMb = Math.max(measured[name].peakMb, peakMb);
        }
      }
      for (const [name, { waits, peakMb }] of Object.entries(measured))
        results.push({ name, records, inFlight, ...lateness(waits), peakMb });
    }
  });
  printTable(
    `Polls: every ${everyMs} ms, from an answer to the next question; ms by which a question came late, of ${rounds} runs each`,
    ['', 'records at once', 'in flight', 'waits', 'least', 'median', '99 %', 'most', `within ${exactMs} ms`, 'peak MB'],
    results.map((result) => [
      result.name,
      figure(result.records),
      figure(result.inFlight),
      figure(result.waits),
      ...[result.leastMs, result.middleMs, result.p99Ms, result.mostMs].map((ms) => figure(ms, 1)),
      `${figure(result.exact * 100, 2)} %`,
      figure(result.peakMb),
    ]),
  );
  return results;
}

function lateness(waits) {
  const late = waits.map((waitMs) => waitMs - everyMs).sort((a, b) => a - b);
  const at = (share) => late[Math.min(late.length - 1, Math.floor(late.length * share))];
  const exact = late.filter((ms) => Math.abs(ms) <= exactMs).length / late.length;
  return { waits: late.length, leastMs: late[0], middleMs: at(0.5), p99Ms: at(0.99), mostMs: late.at(-1), exact };
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

function pollText(origin, inFlight) {
  return `nodes:
  - type: poll
    every: ${everyMs}ms
    timeout: 5m
    until: status == "done"
    nodes: [{ type: http, url: "${origin}/jobs/{{id}}", concurrency: ${inFlight}, map: [status] }]
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
