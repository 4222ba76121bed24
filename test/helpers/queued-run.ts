import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { type Gate, gate } from './asking.ts';
import { type Finished, type Workplace, workplace } from './cli.ts';
import { type HttpServer, httpServer } from './http-server.ts';
import type { StartedHere } from './in-process.ts';
import { type RedisServer, redisServer } from './redis.ts';

/** The beginning of the names of all keys of the queue. */
export const prefix = '{automate:default}';

/** Number of records in the input of a queued run. */
export const records = 400;

/** Returns an input with this many records. */
export const tableOf = (count: number) => `id\n${Array.from({ length: count }, (_, index) => `${index + 1}\n`).join('')}`;

/** The input of a queued run. */
export const table = tableOf(records);

/** Returns a flow that asks a server for the name of each record. */
export const flow = (origin: string, more = '') =>
  `nodes:\n  - { type: http, url: "${origin}/{{id}}", concurrency: 4, map: [name]${more} }\n`;

/** Starts a server that responds after `pace.ms`. Every ninth record gets a 404. */
const slowServer = (pace: QueuedRun['pace'], { passed }: Gate): Promise<HttpServer> =>
  httpServer(async ({ path }, response) => {
    await passed();
    await sleep(pace.ms);
    const id = Number(path.slice(1));
    if (id % 9 === 0) response.statusCode = 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: `name ${id}` }));
  });

/** Returns the output for an input with this many records. */
export const rowsOf = (count: number) =>
  `id,name\n${Array.from({ length: count }, (_, index) => index + 1)
    .filter((id) => id % 9 !== 0)
    .map((id) => `${id},name ${id}\n`)
    .join('')}`;

/** The output of a queued run. */
export const expectedRows = rowsOf(records);

/** Resolves once a condition is true. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10);
}

/** A run with a queue, and its workers. */
export interface QueuedRun {
  readonly redis: RedisServer;
  readonly place: Workplace;
  readonly server: HttpServer;
  /** The time that the server takes for each response. A test can change it. */
  readonly pace: { ms: number };
  /** Keeps the server's responses back. Returns the function that sends them. */
  hold(): () => void;
  readonly client: Redis;
  /** Starts a worker in the process of the test, which takes a tenth of the CPU time. It is stopped after the test. */
  worker(more?: readonly string[], env?: Record<string, string>): StartedHere;
  /** Starts a worker in its own process, which a test can kill. */
  workerProcess(more?: readonly string[], env?: Record<string, string>): ReturnType<Workplace['start']>;
  /** Starts the run in its own process, which a test can kill. */
  run(more?: readonly string[], env?: Record<string, string>): ReturnType<Workplace['start']>;
  /** Runs to the end, in the process of the test. */
  finishedRun(more?: readonly string[], env?: Record<string, string>): Promise<Finished>;
  status(more?: readonly string[]): Promise<Finished>;
}

/** Settings of a queued run: directives of redis.conf, and variables of all its processes. */
interface QueuedRunSettings {
  readonly redis?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The options of workers whose records nobody takes over, because none of them is killed, however busy the machine is. */
export const longLease = ['--lease', '60s'] as const;

/** The variables of processes that have the same queue key. */
export const keyed = { AUTOMATE_QUEUE_KEY: 'the key of this queue' };

/** Starts a Redis server and an API that responds after `ms`. `more` are options of the flow's node. */
export async function queuedRun(more = '', ms = 25, settings: QueuedRunSettings = {}): Promise<QueuedRun> {
  const redis = await redisServer({ 'aof-use-rdb-preamble': 'no', ...settings.redis });
  const pace = { ms };
  const answers = gate();
  const server = await slowServer(pace, answers);
  const place = await workplace({ 'flow.yaml': flow(server.origin, more), 'in.csv': table });
  const client = new Redis(redis.url);
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--summary', 'summary.json', '--queue', redis.url];
  const workerArgs = ['worker', '--queue', redis.url, '--lease', '5s'];
  return {
    ...{ redis, place, server, pace, hold: answers.hold, client },
    worker: (options = [], env = {}) => workerHere(place, [...workerArgs, ...options], { ...settings.env, ...env }),
    workerProcess: (options = [], env = {}) => place.start([...workerArgs, ...options], { env: { ...settings.env, ...env } }),
    run: (options = [], env = {}) => place.start([...args, ...options], { env: { ...settings.env, ...env } }),
    finishedRun: (options = [], env = {}) => place.automate([...args, ...options], { env: { ...settings.env, ...env } }),
    status: (options = []) => place.automate(['status', '--queue', redis.url, ...options], { env: { ...settings.env } }),
  };
}

/** Returns the folder in which Redis stores its files. */
export const folderOf = async (client: Redis) => ((await client.config('GET', 'dir')) as string[])[1] as string;

/** Returns every command in the append-only file of Redis. */
export function commandsOf(folder: string): string {
  const files = join(folder, 'appendonlydir');
  return readdirSync(files)
    .map((name) => readFileSync(join(files, name), 'latin1'))
    .join();
}

/** Returns how many requests repeat an earlier request. */
export const repeated = ({ requests }: HttpServer) => requests.length - new Set(requests.map(({ path }) => path)).size;

/** Returns how many requests were sent for the most frequently requested record. */
export function mostRequests({ requests }: HttpServer): number {
  const times = new Map<string, number>();
  for (const { path } of requests) times.set(path, (times.get(path) ?? 0) + 1);
  return Math.max(...times.values());
}

/** Returns the names of a run's keys in Redis: all of them, or only the keys of one kind. */
export const keysOf = (client: Redis, kind = '') => client.keys(`*automate:default*:run:*${kind}*`);

/** Returns the counts of written and failed records from the coordinator of the only run. */
export async function countsOf(client: Redis): Promise<{ readonly written: number; readonly failed: number }> {
  const key = (await keysOf(client)).find((name) => /:run:[^:]+$/.test(name)) as string;
  return JSON.parse((await client.hget(key, 'counts')) as string);
}

/** Suspends the coordinator of the only run until a worker has sent results that it has not read. Returns the key with the results. */
export async function suspendedWithResults(coordinator: ChildProcess, client: Redis): Promise<string> {
  const waiting = async () => client.llen((await keysOf(client, ':results'))[0] ?? '');
  for (;;) {
    coordinator.kill('SIGSTOP');
    const before = await waiting();
    for (let attempt = 0; attempt < 100 && (await waiting()) <= before; attempt++) await sleep(20);
    if ((await waiting()) > before) return (await keysOf(client, ':results'))[0] as string;
    // All results of a unit had been read, and a worker begins the next unit only when the coordinator has answered.
    coordinator.kill('SIGCONT');
    await sleep(50);
  }
}

/** Returns a value with one changed byte in the middle. */
export function flipped(text: Buffer): Buffer {
  const copy = Buffer.from(text);
  const middle = copy.length >> 1;
  copy[middle] = (copy[middle] as number) ^ 1;
  return copy;
}

/** Changes one byte in the value of a Redis key. */
export const flip = async (client: Redis, key: string) => client.set(key, flipped((await client.getBuffer(key)) as Buffer));

/** Starts a worker in the process of the test, and stops it after the test. */
export function workerHere(place: Workplace, args: readonly string[], env?: Record<string, string>): StartedHere {
  const worker = place.startHere(args, { ...(env && { env }) });
  let isStopped = false;
  const kill = (signal: NodeJS.Signals) => {
    isStopped = true;
    return worker.kill(signal);
  };
  onTestFinished(async () => {
    if (!isStopped) await kill('SIGTERM');
    await worker.finished;
  });
  return { ...worker, kill };
}

/** Resolves when all workers wait for runs. */
export async function ready(...workers: readonly { readonly stderr: Readable | null }[]): Promise<void> {
  const said = workers.map(textOf);
  await until(() => said.every((text) => text().includes(' is ready: ')));
}

/** Returns a function that returns everything that a command has printed to stderr so far. */
export function textOf({ stderr }: { readonly stderr: Readable | null }): () => string {
  let text = '';
  stderr?.on('data', (chunk) => (text += chunk));
  return () => text;
}

/** Returns the names of the Redis keys that belong to runs. */
export const keysOfRuns = async (client: Redis) => (await client.keys('*')).filter((key) => key.includes(':run'));
