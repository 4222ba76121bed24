import { InvalidArgumentError } from 'commander';
import { duration } from '../arguments.ts';
import { defaultsTo, flag, parsedOption } from '../options.ts';
import { cacertOption, json, queueNameOption, queueOption } from '../shared-options.ts';

const leaseRange = { least: 5000, most: 600_000 };

function lease(text: string): number {
  const ms = duration(text);
  if (ms >= leaseRange.least && ms <= leaseRange.most) return ms;
  throw new InvalidArgumentError(`expected 5s to 10m, found ${text}`);
}

const queue = queueOption('the queue: redis://host:6379, or rediss:// for TLS');

/** The options of `automate worker`. */
export const workerOptions = {
  queue,
  queueName: queueNameOption,
  lease: defaultsTo(
    20_000,
    parsedOption('--lease <time>', lease, 'others take the units of this worker after this time without a sign of life'),
    '20s',
  ),
  grace: defaultsTo(25_000, parsedOption('--grace <time>', duration, 'time for the records under way after SIGTERM'), '25s'),
  exitWhenIdle: parsedOption('--exit-when-idle <time>', duration, 'end after this time without work'),
  cacert: cacertOption('for Redis: '),
  quiet: flag('--quiet', 'show problems only', { short: 'q' }),
};

/** The options of `automate status`. */
export const statusOptions = { queue, queueName: queueNameOption, cacert: cacertOption('for Redis: '), json };
