import { queuePrefix } from './queue-url.ts';

/** Time in seconds after which Redis deletes the keys of a run that its coordinator has not removed. */
export const keptSeconds = 7 * 24 * 3600;

/** In a Redis cluster, all keys of a queue belong to the same slot. */
export interface QueueKeys {
  /** The prefix of the keys that BullMQ uses for the queue. */
  readonly prefix: string;
  /** Key of the set that contains the ids of the queue's runs. */
  readonly runs: string;
  /** Key of the hash that contains the last status of each worker, keyed by worker id. */
  readonly workers: string;
  /** Key of the sorted set with the units that are put off, by the time of Redis' clock in ms until which they wait. */
  readonly later: string;
  run(run: string): RunKeys;
  /** Returns the channel on which a worker receives messages from the coordinators of runs. */
  worker(id: string): string;
}

/** A unit is identified by its generation and its number. */
export interface RunKeys {
  /** Key of the hash with the run's version, flow, times, counts and sealed state. */
  readonly run: string;
  readonly manifest: string;
  /** Key of the list of workers' messages that the coordinator has not processed yet. */
  readonly results: string;
  /** The channel on which the coordinator is notified of new messages from workers. */
  readonly more: string;
  records(unit: string): string;
}

/** A UUID, which begins with `run_` for a run of a server. */
export function isRunId(found: unknown): found is string {
  return typeof found === 'string' && /^(?:run_)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(found);
}

export function queueKeys(queueName: string): QueueKeys {
  const prefix = queuePrefix(queueName);
  return {
    prefix,
    runs: `${prefix}:runs`,
    workers: `${prefix}:workers`,
    later: `${prefix}:later`,
    worker: (id) => `${prefix}:worker:${id}`,
    run(run) {
      const key = `${prefix}:run:${run}`;
      return {
        run: key,
        manifest: `${key}:manifest`,
        results: `${key}:results`,
        more: `${key}:more`,
        records: (unit) => `${key}:in:${unit}`,
      };
    },
  };
}
