import type { Results } from '../workers/run-reports.ts';
import type { Question, ToWorker } from '../workers/wire-form.ts';

/** A message of a worker to a coordinator. */
export type QueueMessage = QueueSender & QueueNews;

/** The sender of a message. */
export interface QueueSender {
  readonly worker: string;
  /** The generation of the units that it concerns. */
  readonly gen: string;
  /** Grows with each message of a worker about a generation: the same message may come twice. */
  readonly seq: number;
}

/** The part of a message that the worker writes. */
export type QueueNews =
  /** `numbers`: the number of each record with a result, in the order of the results. */
  | ({ readonly kind: 'results'; readonly numbers: readonly number[] } & Results)
  | { readonly kind: 'question'; readonly id: number; readonly question: Question }
  /** The records of a unit without a result are left unfinished, since the run closes. */
  | { readonly kind: 'left'; readonly unit: number }
  /** A unit could not be read. */
  | { readonly kind: 'missing'; readonly unit: number }
  /** A unit was begun so often without a result that it must kill its workers. */
  | { readonly kind: 'deadly'; readonly unit: number }
  /** The worker has given back everything of the run. */
  | { readonly kind: 'ended' };

/** News of a run for a worker. */
export type RunNews = Exclude<ToWorker, { kind: 'run' | 'pause' }>;

/** A message of a coordinator to a worker. */
export type QueueAnswer = { readonly run: string; readonly gen: string } & RunNews;
