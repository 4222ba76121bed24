import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, readdir, symlink } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createDemoApi } from '../src/cli/demo-api.ts';
import { type Started, type Workplace, workplace } from './helpers/cli.ts';
import { readProc } from './helpers/processes.ts';
import { unusedPort } from './helpers/raw-server.ts';
import { hasRedis, unlessRedis } from './helpers/redis.ts';
import { shell, shellEnvironment } from './helpers/shell.ts';
import { compose, containerOf, manifest, workersExample } from './helpers/worker-files.ts';

const hasValkey = spawnSync('valkey-server', ['--version']).status === 0;

const secrets = {
  AUTOMATE_QUEUE_KEY: 'a queue key of the tests',
  AUTOMATE_QUEUE_PASSWORD: 'a-password-of-the-tests',
  AUTOMATE_CREDENTIAL_AIRPORTS_TOKEN: 'any-token',
};

/** Copies the example, and makes its flow use a demo API that only the current test uses. */
async function playground(): Promise<Workplace> {
  const api = await createDemoApi();
  onTestFinished(api.close);
  const place = await workplace();
  await cp(workersExample, place.folder, { recursive: true });
  await place.write('flow.yaml', (await place.read('flow.yaml')).replace('http://127.0.0.1:4010', api.origin));
  return place;
}

/** Returns the environment variables that a container reads from secrets. */
const given = (names: readonly string[]) => Object.fromEntries(Object.entries(secrets).filter(([name]) => names.includes(name)));

/** Adapts the command of a container so that it can be run on this machine. */
const here = (words: readonly string[], port: number, metrics = 0) =>
  words.map((word) =>
    word
      .replace('//valkey:6379', `//127.0.0.1:${port}`)
      .replace('0.0.0.0:9090', `127.0.0.1:${metrics}`)
      .replace(/^(?:\/flow|\/work|out)\//, ''),
  );

/** Runs the script of a Valkey container on a free port of this machine, with the container's health check. Returns the port. */
async function startValkey(place: Workplace, script: string, check: string): Promise<number> {
  const port = await unusedPort();
  const server = hasValkey ? 'valkey-server' : 'redis-server';
  const lines = script.replace('valkey-server -', `${server} - --port ${port} --bind 127.0.0.1`).replace('/data', place.path('data'));
  await mkdir(place.path('data'));
  const env = { ...shellEnvironment(place), ...given(['AUTOMATE_QUEUE_PASSWORD']) };
  const child = spawn('sh', ['-c', lines], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  onTestFinished(() => end(child));
  const health = check.replace('valkey-cli', `${hasValkey ? 'valkey-cli' : 'redis-cli'} -p ${port}`);
  while ((await shell(place, health, env)).code !== 0) if (child.exitCode !== null) throw new Error('Valkey has ended');
  expect(readProc(child.pid as number, 'cmdline')).not.toContain(secrets.AUTOMATE_QUEUE_PASSWORD);
  return port;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}

/** Stops workers with the signal that stops their containers. */
async function endWorkers(workers: readonly Started[]): Promise<void> {
  for (const { child } of workers) child.kill();
  for (const { finished } of workers) expect((await finished).code).toBe(0);
}

test.skipIf(!hasRedis)(
  `compose.yaml: a run with three workers writes the expected file, and a second run does nothing${unlessRedis}`,
  async () => {
    const place = await playground();
    const { valkey, coordinator, worker } = compose.services;
    // In compose.yaml, $$ means a single dollar sign.
    const [script = '', check = ''] = [valkey?.command?.[0], valkey?.healthcheck.test?.[1]].map((line) => line?.replaceAll('$$', '$'));
    const port = await startValkey(place, script, check);
    const start = (service: typeof worker) =>
      place.start(here(service?.command ?? [], port), { env: given(Object.keys(service?.environment ?? {})) });
    const workers = Array.from({ length: worker?.deploy?.replicas ?? 0 }, () => start(worker));
    const first = await start(coordinator).finished;
    expect(first).toMatchObject({ code: 0, stderr: expect.not.stringContaining('append-only') });
    expect(await place.read('enriched.csv')).toBe(await place.read('expected.csv'));
    const second = await start(coordinator).finished;
    expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining('complete already') });
    await endWorkers(workers);
  },
);

test.skipIf(!hasRedis)(
  `kubernetes: KEDA can read how many units of records are waiting, and workers finish the run${unlessRedis}`,
  async () => {
    const place = await playground();
    const valkey = manifest('kubernetes/valkey.yaml', 'StatefulSet');
    const [script = ''] = containerOf(valkey).args;
    const port = await startValkey(place, script, valkey.spec.template.spec.containers[0].readinessProbe.exec.command[2]);
    const metrics = await unusedPort();
    const start = (file: string, kind: string) => {
      const { args, env } = containerOf(manifest(file, kind));
      return place.start(here(args, port, metrics), { env: given(env.map(({ name }) => name)) });
    };
    const coordinator = start('kubernetes/coordinator.yaml', 'Job');
    const { triggers } = manifest('kubernetes/keda.yaml', 'ScaledObject').spec;
    const [waiting, active] = triggers.map(({ metadata }: { metadata: Record<'url' | 'valueLocation', string> }) => metadata);
    const value = async ({ url, valueLocation }: typeof waiting) => {
      const answer = await fetch(`http://127.0.0.1:${metrics}${new URL(url).pathname}`).catch(() => undefined);
      const status = await answer?.json();
      // KEDA reads values with GJSON, which follows a path in this way.
      return valueLocation.split('.').reduce((part: Record<string, unknown> | undefined, name: string) => part?.[name], status);
    };
    while (!((await value(waiting)) > 0)) await sleep(20);
    expect(await value(active)).toBe(0);
    const worker = start('kubernetes/workers.yaml', 'Deployment');
    expect(await coordinator.finished).toMatchObject({ code: 0 });
    expect(await place.read('enriched.csv')).toBe(await place.read('expected.csv'));
    await endWorkers([worker]);
  },
);

test('kubernetes: automate refuses the placeholder for the queue key', async () => {
  const place = await playground();
  const { 'queue-key': key = '' } = manifest('kubernetes/secret.yaml', 'Secret').stringData ?? {};
  const { args } = containerOf(manifest('kubernetes/workers.yaml', 'Deployment'));
  const { code, stderr } = await place.automate(args, { env: { AUTOMATE_QUEUE_KEY: key } });
  expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('a queue key of at least 16 characters') });
});

test('one-process.yaml: the Job writes the expected file without a queue, and a second Job does nothing', async () => {
  const place = await playground();
  const { args, env } = containerOf(manifest('one-process.yaml', 'Job'));
  const run = () => place.automate(here(args, 0), { env: given(env.map(({ name }) => name)) });
  expect(await run()).toMatchObject({ code: 0 });
  expect(await place.read('enriched.csv')).toBe(await place.read('expected.csv'));
  expect(await run()).toMatchObject({ code: 0, stderr: expect.stringContaining('complete already') });
});

/** A substitute for srun. It starts the command once for each task, and exits with the highest exit code. */
const srun = `#!/bin/bash
while [[ $1 == -* ]]; do shift; done
for ((rank = 0; rank < SLURM_NTASKS; rank++)); do
  SLURM_PROCID=$rank "$@" &
  tasks+=($!)
done
highest=0
for task in "\${tasks[@]}"; do
  wait "$task" || { code=$?; ((code > highest)) && highest=$code; }
done
exit "$highest"
`;

/** Returns the command lines of all processes that contain the port number. */
async function processesWith(port: number): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => readProc(pid, 'cmdline')).filter((line) => line.includes(`:${port}`) || line.includes(`--port ${port}`));
}

/** A job that was started with slurm.sh. */
interface Job {
  readonly process: ChildProcess;
  /** The port of the job's Valkey. */
  readonly port: number;
  /** Everything that the job prints to stderr. */
  readonly stderr: Promise<string>;
}

/** Creates a workplace in which jobs with four tasks can be submitted. As sbatch does, it runs a copy of the script. */
async function cluster(): Promise<{ readonly place: Workplace; submit(): Promise<Job> }> {
  const place = await playground();
  for (const folder of ['bin', 'spool']) await mkdir(place.path(folder));
  await place.write('bin/srun', srun);
  await chmod(place.path('bin/srun'), 0o755);
  const environment = shellEnvironment(place);
  await symlink(environment.AUTOMATE as string, place.path('bin/automate'));
  const script = (await place.read('slurm.sh')).replace('--exit-when-idle 60s', '--exit-when-idle 12s');
  for (const copy of ['slurm.sh', 'spool/script']) await place.write(copy, script);
  const submit = async () => {
    let port = await unusedPort();
    // Finds a free port in the range that the script uses.
    while (port < 20_000 || port >= 40_000) port = await unusedPort();
    const env = {
      ...{ ...environment, ...given(['AUTOMATE_CREDENTIAL_AIRPORTS_TOKEN']), PATH: `${place.path('bin')}:${environment.PATH}` },
      ...{ SLURM_JOB_ID: String(port - 20_000), SLURM_SUBMIT_DIR: place.folder, SLURM_NTASKS: '4', TMPDIR: place.folder },
    };
    const job = spawn('bash', [place.path('spool/script')], { env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
    onTestFinished(() => void (job.exitCode === null && job.signalCode === null && process.kill(-(job.pid as number), 'SIGKILL')));
    return { process: job, port, stderr: text(job.stderr as Readable) };
  };
  return { place, submit };
}

/** Waits for the end of a job that should write the expected file. Returns what the job printed to stderr. */
async function endOf(job: Job, place: Workplace): Promise<string> {
  const [stderr, [code]] = await Promise.all([job.stderr, once(job.process, 'close')]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(await place.read('enriched.csv')).toBe(await place.read('expected.csv'));
  expect(await processesWith(job.port)).toEqual([]);
  return stderr;
}

test.skipIf(!hasRedis)(`slurm.sh: one job writes the expected file, and leaves no process running${unlessRedis}`, async () => {
  const { place, submit } = await cluster();
  const job = await submit();
  const stderr = await endOf(job, place);
  expect(stderr.split(` is ready: redis://127.0.0.1:${job.port}, `)).toHaveLength(4);
});

test.skipIf(!hasRedis)(`slurm.sh: a job that reached its time limit continues when it is submitted again${unlessRedis}`, async () => {
  const { place, submit } = await cluster();
  await place.write('flow.yaml', (await place.read('flow.yaml')).replace('auth:', 'rate: 30/s\n    auth:'));
  const first = await submit();
  while (!(await place.read('enriched.csv').catch(() => '')).includes('Europe/')) await sleep(50);
  // Slurm sends the signal to every process of a job.
  process.kill(-(first.process.pid as number), 'SIGTERM');
  expect(await first.stderr).toContain('SIGTERM: finishing the records already started');
  expect(await processesWith(first.port)).toEqual([]);
  expect(await endOf(await submit(), place)).toContain('resumed');
});

test('slurm.sh is a valid bash script', async () => {
  const place = await playground();
  expect(await shell(place, 'bash -n slurm.sh')).toEqual({ code: 0, stdout: '', stderr: '' });
});

const hasShellcheck = spawnSync('shellcheck', ['--version']).status === 0;

test.skipIf(!hasShellcheck)(`slurm.sh passes shellcheck${hasShellcheck ? '' : ' (skipped: there is no shellcheck)'}`, async () => {
  const place = await playground();
  expect(await shell(place, 'shellcheck slurm.sh')).toEqual({ code: 0, stdout: '', stderr: '' });
});
