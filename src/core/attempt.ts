import type { ActionRequest } from './action.ts';
import type { Failure } from './failure.ts';

/** Takes every attempt of a run. */
export type Trace = (attempt: Attempt) => void;

/** One attempt of a call, for those who watch a run. */
export interface Attempt {
  /** Number of the record, or of the first of a batch. */
  readonly record: number;
  readonly node: string;
  readonly request: ActionRequest;
  readonly ms: number;
  /** The status of an HTTP answer, `ok` or `error` of a tool's, or the reason why there is no answer. */
  readonly result: number | 'ok' | 'error' | Failure;
}
