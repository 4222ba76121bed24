import { queuePrefix } from './queue-url.ts';

/** Keys of a run that was never ended are kept this long, in seconds. */
export const keptSeconds = 7 * 24 * 3600;

/** The keys of a queue in Redis. All of them are in one slot. */
export interface QueueKeys {
  /** The prefix of BullMQ's own keys. */
  readonly prefix: string;
  /** The set of the runs. */
  readonly runs: string;
  /** By worker, its last sign of life. */
  readonly workers: string;
  run(run: string): RunKeys;
  /** The channel on which a worker hears what runs tell it. */
  worker(id: string): string;
}

/** The keys of a run. A unit has a name: its generation and its number. */
export interface RunKeys {
  /** A hash: version, flow, times, counts, generation, the reason to stop. */
  readonly run: string;
  readonly manifest: string;
  /** The list of results that the coordinator has not taken. */
  readonly results: string;
  /** By unit, how often it was begun since its last result. */
  readonly starts: string;
  /** The channel on which the coordinator hears of results. */
  readonly more: string;
  records(unit: string): string;
  /** The places of the records of a unit that are finished. */
  done(unit: string): string;
}

/** The keys of a queue. */
export function queueKeys(queueName: string): QueueKeys {
  const prefix = queuePrefix(queueName);
  return {
    prefix,
    runs: `${prefix}:runs`,
    workers: `${prefix}:workers`,
    worker: (id) => `${prefix}:worker:${id}`,
    run(run) {
      const key = `${prefix}:run:${run}`;
      return {
        run: key,
        manifest: `${key}:manifest`,
        results: `${key}:results`,
        starts: `${key}:starts`,
        more: `${key}:more`,
        records: (unit) => `${key}:in:${unit}`,
        done: (unit) => `${key}:done:${unit}`,
      };
    },
  };
}
