import { InvalidArgumentError } from 'commander';
import { duration } from './arguments.ts';
import { command, defaultsTo, flag, parsedOption } from './options.ts';
import { cacertOption, json, runOption } from './shared-options.ts';

const leaseRange = { least: 5000, most: 600_000 };

function lease(text: string): number {
  const ms = duration(text);
  if (ms >= leaseRange.least && ms <= leaseRange.most) return ms;
  throw new InvalidArgumentError(`expected 5s to 10m, found ${text}`);
}

const queue = runOption('queue', 'the URL of the queue: redis://host:6379, or rediss:// for TLS; the queue key is in AUTOMATE_QUEUE_KEY');

const workerOptions = {
  queue,
  queueName: runOption('queueName'),
  lease: defaultsTo(
    20_000,
    parsedOption('--lease <time>', lease, 'if this worker is silent for this long, other workers take its records'),
    '20s',
  ),
  grace: defaultsTo(25_000, parsedOption('--grace <time>', duration, 'how long to wait for unfinished records after SIGTERM'), '25s'),
  exitWhenIdle: parsedOption('--exit-when-idle <time>', duration, 'exit if there is no work for this long (default: never)'),
  metrics: runOption('metrics'),
  cacert: cacertOption('with rediss://: '),
  quiet: flag('--quiet', 'show only problems', { short: 'q' }),
};

const statusOptions = { queue, queueName: runOption('queueName'), cacert: cacertOption('with rediss://: '), json };

export const worker = command({
  examples: [
    'automate worker --queue redis://redis:6379',
    'automate worker --queue redis://localhost --exit-when-idle 60s',
    'automate worker --queue redis://redis:6379 --metrics 0.0.0.0:9464',
  ],
  args: {},
  options: workerOptions,
  run: async ({ options, terminal }) => (await import('./worker-command.ts')).workerCommand(options, terminal),
});

export const status = command({
  examples: ['automate status --queue redis://redis:6379', 'automate status --queue redis://redis:6379 --json'],
  args: {},
  options: statusOptions,
  run: async ({ options, terminal }) => (await import('./worker-command.ts')).statusCommand(options, terminal),
});
