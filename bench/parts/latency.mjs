import { Agent, request } from 'undici';
import { automate, script } from '../contestants.mjs';
import { writeFlow, writeRecords } from '../data.mjs';
import { served } from '../served.mjs';
import { figure, median, printTable } from '../table.mjs';

const records = 20_000;
const concurrency = 64;
const delayMs = 20;
const rounds = 3;

/** How close a run comes to concurrency / latency, the most that a server with that latency allows. */
export async function latency({ node, folder, withAutomate }) {
  const contestants = { ...(withAutomate ? { automate } : {}), 'undici script': script('undici-script') };
  const [input, one, flow] = [`${folder}/rows.csv`, `${folder}/one.csv`, `${folder}/flow.yaml`];
  await writeRecords(input, records);
  await writeRecords(one, 1);
  return served(delayMs, async ({ origin }) => {
    writeFlow(flow, origin);
    const job = { node, folder, input, records, flow, origin, concurrency };
    const runs = Object.fromEntries(Object.keys(contestants).map((name) => [name, { whole: [], start: [] }]));
    for (let round = 0; round < rounds; round++) {
      for (const [name, run] of Object.entries(contestants)) {
        runs[name].start.push((await run({ ...job, input: one, records: 1 })).seconds - delayMs / 1000);
        runs[name].whole.push((await run(job)).seconds);
      }
    }
    const results = Object.fromEntries(Object.entries(runs).map(([name, run]) => [name, shares(run)]));
    const servedMs = await probe(origin);
    print(results, servedMs);
    return { records, concurrency, delayMs, servedMs, rounds, results };
  });
}

function shares({ whole, start }) {
  const least = (records * delayMs) / 1000 / concurrency;
  const seconds = median(whole);
  const startSeconds = median(start);
  return { seconds, startSeconds, share: least / seconds, shareWithoutStart: least / (seconds - startSeconds) };
}

/** What the server's delay comes to for a client that asks one thing at a time. */
async function probe(origin) {
  const dispatcher = new Agent({ connections: 1 });
  const times = [];
  for (let i = 0; i < 100; i++) {
    const startedAt = performance.now();
    await (await request(`${origin}/users/1`, { dispatcher })).body.dump();
    times.push(performance.now() - startedAt);
  }
  await dispatcher.close();
  return median(times);
}

function print(results, servedMs) {
  const most = figure((concurrency * 1000) / delayMs);
  printTable(
    `Latency: ${figure(records)} records, ${concurrency} in flight, ${delayMs} ms an answer (measured one by one: ${figure(servedMs, 1)} ms), at most ${most} records/s`,
    ['', 'seconds', '% of the most', 'start-up s', '% without start-up'],
    Object.entries(results).map(([name, { seconds, share, startSeconds, shareWithoutStart }]) => [
      name,
      figure(seconds, 2),
      figure(share * 100, 1),
      figure(startSeconds, 2),
      figure(shareWithoutStart * 100, 1),
    ]),
  );
}
