import { automate, script } from '../contestants.mjs';
import { writeFlow, writeRecords } from '../data.mjs';
import { served } from '../served.mjs';
import { figure, median, printTable } from '../table.mjs';

const concurrency = 64;
const delayMs = 20;

/** A short run, whose duration is mostly start-up time, and a run that is long enough to measure its rate. */
const short = { records: 20_000, rounds: 3 };
const long = { records: 200_000, rounds: 1 };

/** Measures the rate of a run, as a share of the maximum that a server with this latency allows: concurrency / latency. */
export async function latency({ node, folder, quick, withAutomate }) {
  const contestants = {
    ...(withAutomate ? { automate } : {}),
    'undici script': script('undici-script'),
    'bare sockets': script('socket-script'),
  };
  const [input, one, flow] = [`${folder}/rows.csv`, `${folder}/one.csv`, `${folder}/flow.yaml`];
  await writeRecords(one, 1);
  return served(delayMs, async ({ origin, meanDelayMs }) => {
    writeFlow(flow, origin);
    const measured = [];
    for (const { records, rounds } of quick ? [short] : [short, long]) {
      await writeRecords(input, records);
      const job = { node, folder, input, records, flow, origin, concurrency };
      const runs = Object.fromEntries(Object.keys(contestants).map((name) => [name, { whole: [], start: [], delay: [] }]));
      for (let round = 0; round < rounds; round++) {
        for (const [name, run] of Object.entries(contestants)) {
          runs[name].start.push((await run({ ...job, input: one, records: 1 })).seconds - delayMs / 1000);
          await meanDelayMs();
          runs[name].whole.push((await run(job)).seconds);
          runs[name].delay.push(await meanDelayMs());
        }
      }
      const results = Object.fromEntries(Object.entries(runs).map(([name, run]) => [name, shares(run, records)]));
      print(results, records);
      measured.push({ records, rounds, results });
    }
    return { concurrency, delayMs, measured };
  });
}

/**
 * Returns the rates as shares of the maximum rate, which is concurrency / latency. The latency is the one that was measured at the server
 * during that run.
 */
function shares({ whole, start, delay }, records) {
  const servedMs = median(delay);
  const least = (records * servedMs) / 1000 / concurrency;
  const seconds = median(whole);
  const startSeconds = median(start);
  return { seconds, startSeconds, servedMs, share: least / seconds, shareWithoutStart: least / (seconds - startSeconds) };
}

function print(results, records) {
  printTable(
    `Latency: ${figure(records)} records, ${concurrency} in flight, ${delayMs} ms an answer`,
    ['', 'seconds', 'server ms', '% of concurrency / latency', 'start-up s', '% without start-up'],
    Object.entries(results).map(([name, { seconds, servedMs, share, startSeconds, shareWithoutStart }]) => [
      name,
      figure(seconds, 2),
      figure(servedMs, 2),
      figure(share * 100, 1),
      figure(startSeconds, 2),
      figure(shareWithoutStart * 100, 1),
    ]),
  );
}
