import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measure } from '../child.mjs';
import { automateEnv, binary } from '../contestants.mjs';
import { checkOutput, writeFlow, writeRecords } from '../data.mjs';
import { hasRedis, withRedis } from '../redis.mjs';
import { served } from '../served.mjs';
import { figure, median, printTable } from '../table.mjs';

const inFlight = 16;
const atOnce = { delayMs: 0, records: 40_000, rounds: 2 };
const slowly = { delayMs: 50, records: 4000, rounds: 2 };

const usageHook = fileURLToPath(new URL('../usage.cjs', import.meta.url));

const plain = { name: 'plain', args: [] };
const children = [1, 2, 4].map((count) => ({ name: `--workers ${count}`, args: ['--workers', String(count)] }));

/** Compares runs in several processes with runs in one: speed, start-up time, and the CPU time and memory of each process. */
export async function workers({ node, folder, withAutomate }) {
  if (!withAutomate) return console.log('\nWorkers: left out, automate cannot run');
  const job = { node, folder, input: `${folder}/workers.csv`, one: `${folder}/one.csv`, flow: `${folder}/workers.yaml` };
  await writeRecords(job.one, 1);
  const queued = (redis) => ({ name: '--queue, 1 worker', args: ['--queue', redis.url], redis });
  const fast = await (hasRedis
    ? withRedis(folder, (redis) => inTurns([plain, ...children, queued(redis)], atOnce, job))
    : inTurns([plain, ...children], atOnce, job));
  const slow = await inTurns([plain, ...children], slowly, job);
  printRuns(fast, atOnce);
  printRuns(slow, slowly);
  printTargets(fast, slow);
  return { inFlight, fast, slow };
}

/** Runs all variants in every round, each with one record and with all records. */
async function inTurns(ways, { delayMs, records, rounds }, job) {
  await writeRecords(job.input, records);
  return served(delayMs, async ({ origin }) => {
    writeFlow(job.flow, origin);
    const measured = Object.fromEntries(ways.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const way of ways) {
        const one = await run(way, job, job.one, 1);
        measured[way.name].push({ one, all: await run(way, job, job.input, records) });
      }
    }
    return Object.fromEntries(Object.entries(measured).map(([name, runs]) => [name, summary(runs, records)]));
  });
}

async function run({ args, redis }, { node, folder, flow }, input, records) {
  const [output, usage] = [`${folder}/workers.out.csv`, `${folder}/usage.ndjson`];
  const own = { AUTOMATE_QUEUE_KEY: 'the queue key of the bench', NODE_OPTIONS: `--require ${usageHook}`, BENCH_USAGE: usage };
  const env = { ...automateEnv(folder), ...own };
  const worker = redis && (await queueWorker(node, redis, env));
  const redisBefore = (await redis?.cpuUs()) ?? 0;
  const command = [node, binary, 'run', flow, '--in', input, '--out', output, '--concurrency', String(inFlight), '--quiet', ...args];
  const { seconds } = await measure(command, { env });
  const redisUs = ((await redis?.cpuUs()) ?? 0) - redisBefore;
  await worker?.stop();
  await checkOutput(output, records);
  rmSync(output);
  const processes = readFileSync(usage, 'utf8').trim().split('\n').map(JSON.parse);
  rmSync(usage);
  const others = processes.filter(({ isRun }) => !isRun);
  return {
    seconds,
    redisUs,
    ...processes.find(({ isRun }) => isRun),
    workerUs: others.reduce((sum, { cpuUs }) => sum + cpuUs, 0),
    workerMb: Math.max(...others.map(({ peakMb }) => peakMb)),
  };
}

/** Starts a queue worker, and waits until it is ready. */
async function queueWorker(node, { url }, env) {
  const child = spawn(node, [binary, 'worker', '--queue', url], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  while (!said.includes(' is ready')) await once(child.stderr, 'data');
  return {
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Summarizes the runs. The CPU time per record does not include the start of the processes. */
function summary(runs, records) {
  const each = (field) => median(runs.map(({ one, all }) => (all[field] - one[field]) / (records - 1)));
  const middle = (field) => median(runs.map(({ all }) => all[field]));
  return {
    startMs: median(runs.map(({ one }) => one.seconds)) * 1000,
    perSecond: records / median(runs.map(({ all, one }) => all.seconds - one.seconds)),
    cpuUs: each('cpuUs'),
    workerUs: each('workerUs'),
    redisUs: each('redisUs'),
    peakMb: middle('peakMb'),
    workerMb: middle('workerMb'),
  };
}

function printRuns(results, { delayMs, records, rounds }) {
  const { perSecond, startMs } = results.plain;
  printTable(
    `Workers: ${figure(records)} records, ${inFlight} in flight in each process, answers after ${delayMs} ms, median of ${rounds} runs in turns`,
    ['', 'x speed', 'start, more ms', 'CPU us of the run', 'of its workers', 'peak MB of the run', 'of a worker'],
    Object.entries(results).map(([name, result]) => [
      name,
      figure(result.perSecond / perSecond, 2),
      figure(result.startMs - startMs),
      figure(result.cpuUs, 1),
      figure(name === 'plain' ? undefined : result.workerUs, 1),
      figure(result.peakMb),
      figure(name === 'plain' ? undefined : result.workerMb),
    ]),
  );
}

function printTargets(fast, slow) {
  const [one, four, queue] = [fast['--workers 1'], fast['--workers 4'], fast['--queue, 1 worker']];
  const ofPlain = (us) => figure(us === undefined ? undefined : us / fast.plain.cpuUs, 2);
  const rows = [
    ['CPU of the run for a record, --workers, us', '16', figure(one.cpuUs, 1)],
    ['the same against a plain run of 40 us', '0.40', ofPlain(one.cpuUs)],
    ['CPU of the run for a record, --queue, us', '22', figure(queue?.cpuUs, 1)],
    ['the same against a plain run of 40 us', '0.55', ofPlain(queue?.cpuUs)],
    ['CPU of a child against a plain run', '1.10', ofPlain(one.workerUs)],
    ['CPU of a worker of a queue against a plain run', '1.30', ofPlain(queue?.workerUs)],
    ['4 workers against 1, answers after 50 ms', '3.4', figure(slow['--workers 4'].perSecond / slow['--workers 1'].perSecond, 2)],
    ['start of one record, --workers 1, more ms', '250', figure(one.startMs - fast.plain.startMs)],
    ['start of one record, --workers 4, more ms', '500', figure(four.startMs - fast.plain.startMs)],
    ['peak of the run, --queue, MB', '250', figure(queue?.peakMb)],
    ['peak of a worker of a queue, MB', figure(fast.plain.peakMb), figure(queue?.workerMb)],
    ['CPU of Redis for a record, us', '4', figure(queue?.redisUs, 1)],
    ['the same against a plain run of 40 us', '0.10', ofPlain(queue?.redisUs)],
  ];
  printTable('Workers: targets', ['', 'target', 'found'], rows);
}
