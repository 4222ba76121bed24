import type { Results } from '../workers/run-reports.ts';
import type { Question, ToWorker } from '../workers/wire-form.ts';

/** A message from a worker to the coordinator of a run. */
export type QueueMessage = QueueSender & QueueNews;

/** The sender of a message and the number that identifies it. */
export interface QueueSender {
  readonly worker: string;
  /** The generation of the units that the message is about. A new generation begins whenever all units are put into the queue again. */
  readonly gen: string;
  /** A number that a worker increases with each message in a generation. The coordinator uses it to recognize repeated messages. */
  readonly seq: number;
}

/** The content of a message from a worker to the coordinator. */
export type QueueNews =
  /** The results of records. `numbers` contains the input numbers of these records, in the order of the results. */
  | ({ readonly kind: 'results'; readonly numbers: readonly number[] } & Results)
  | { readonly kind: 'question'; readonly id: number; readonly question: Question }
  /** The worker leaves the remaining records of a unit unfinished, because the run is closing. */
  | { readonly kind: 'left'; readonly unit: number }
  /** The worker could not read the content of a unit from Redis. */
  | { readonly kind: 'missing'; readonly unit: number }
  /** The unit probably crashes the workers, because it was started several times without a result. */
  | { readonly kind: 'deadly'; readonly unit: number }
  /** An unexpected error has ended the worker's part of the run. The credits and money that it still holds might be spent. */
  | { readonly kind: 'broken' }
  /** The worker has handed back all units and credits of the run. */
  | { readonly kind: 'ended' };

/** The content of a message from the coordinator of a run to a worker. */
export type RunNews = Exclude<ToWorker, { kind: 'run' | 'pause' }>;

/** A message from the coordinator of a run to a worker. */
export type QueueAnswer = { readonly run: string; readonly gen: string } & RunNews;
