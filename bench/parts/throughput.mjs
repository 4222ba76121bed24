import { automate, automateToStdout, curl, hasCurl, script } from '../contestants.mjs';
import { writeFlow, writeRecords } from '../data.mjs';
import { served } from '../served.mjs';
import { figure, median, printTable } from '../table.mjs';

const records = 20_000;
const concurrency = 32;
const rounds = 5;

/** Measures records per second, CPU time and memory of all contestants with a server that answers immediately. */
export async function throughput({ node, folder, withAutomate }) {
  const contestants = {
    ...(withAutomate ? { automate, 'automate, no checkpoints': automateToStdout } : {}),
    'undici script': script('undici-script'),
    'fetch script': script('fetch-script'),
    ...(hasCurl() ? { 'curl -Z (fetches only)': curl } : {}),
  };
  const input = `${folder}/rows.csv`;
  await writeRecords(input, records);
  const runs = await served(0, (server) => {
    const flow = `${folder}/flow.yaml`;
    writeFlow(flow, server.origin);
    return inTurns(contestants, { node, folder, input, records, flow, origin: server.origin, concurrency }, server);
  });
  const results = Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, summary(all)]));
  print(results);
  return { records, concurrency, rounds, results };
}

/** Runs all contestants in every round, so that other load on the machine affects them equally. The first round is only a warm-up. */
async function inTurns(contestants, job, server) {
  const runs = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of Object.entries(contestants)) {
      const before = await server.cpuSeconds();
      const measured = await run(job);
      const serverShare = ((await server.cpuSeconds()) - before) / measured.seconds;
      if (round > 0) runs[name].push({ ...measured, serverShare });
    }
  }
  return runs;
}

function summary(runs) {
  const of = (field) => median(runs.map((run) => run[field]));
  const rates = runs.map(({ seconds }) => records / seconds);
  return {
    recordsPerSecond: median(rates),
    slowest: Math.min(...rates),
    fastest: Math.max(...rates),
    cpuSeconds: of('cpuSeconds'),
    peakMb: of('peakMb'),
    serverShare: of('serverShare'),
  };
}

function print(results) {
  const reference = results['undici script'];
  const ratio = (result, field) => figure(result[field] / reference[field], 2);
  printTable(
    `Throughput: ${figure(records)} records, ${concurrency} in flight, median of ${rounds} rounds (x: against the undici script)`,
    ['', 'records/s', 'x', 'least', 'most', 'CPU s', 'x', 'peak MB', 'x', 'server busy %'],
    Object.entries(results).map(([name, result]) => [
      name,
      figure(result.recordsPerSecond),
      ratio(result, 'recordsPerSecond'),
      figure(result.slowest),
      figure(result.fastest),
      figure(result.cpuSeconds, 2),
      ratio(result, 'cpuSeconds'),
      figure(result.peakMb),
      result.peakMb === undefined ? '-' : ratio(result, 'peakMb'),
      figure(result.serverShare * 100),
    ]),
  );
}
