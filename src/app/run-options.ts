import type { Concurrency } from '../core/options/amounts.ts';
import type { MaxErrors } from '../engine/failure-limits.ts';
import type { GivenVariables } from './flow/flow-file.ts';
import type { SetFields } from './flow/set-fields.ts';
import type { InputOptions } from './input/input.ts';
import type { OutputOptions } from './output/output-plan.ts';
import type { SessionOptions } from './session.ts';

/** The options of a run. Each has the meaning of the `automate run` option with the same name. */
export interface RunOptions extends InputOptions, OutputOptions, StartOptions, ReportOptions, SessionOptions {
  /** Maximum number of records to process; undefined to process all. */
  readonly limit?: number;
  /** Number of records to skip at the beginning of the input. */
  readonly skip?: number;
  /** Fields with fixed values that every record gets before the first node. */
  readonly set?: SetFields;
  /** Values of the flow's variables, which override the values in the flow file. */
  readonly var?: GivenVariables;
  readonly unordered?: boolean;
  readonly csvSafe?: boolean;
  readonly maxErrors?: MaxErrors;
  readonly keepGoing?: boolean;
  /** Maximum number of requests in flight for each node. */
  readonly concurrency?: Concurrency;
  /** Number of child processes that run the nodes; undefined if this process runs them. */
  readonly workers?: number;
  /** The URL of a queue in Redis whose workers run the nodes; undefined to use no queue. */
  readonly queue?: string;
  readonly queueName?: string;
  /** The run ends if no worker of the queue can process it for this time in ms. */
  readonly waitForWorkers?: number;
  /** Minimum time in ms between the starts of two requests to the same origin with the same credential. Undefined if there is none. */
  readonly rate?: number;
}

/** Options that determine what happens to existing output files and to an unfinished run. */
export interface StartOptions {
  readonly replace?: boolean;
  readonly resume?: boolean;
  readonly force?: boolean;
  /**
   * True to remember the records in a memory file, and to reuse the rows of records that have not changed. With `runsAll`, every record is
   * run and no rows are reused.
   */
  readonly update?: boolean;
  readonly runsAll?: boolean;
  /** Maximum age in ms of rows that are reused; undefined for any age. */
  readonly maxAge?: number;
  /** True to show what the run would do, without writing anything. */
  readonly dryRun?: boolean;
}

/** Paths of additional files that describe a run. Each is undefined if it was not requested. `-` stands for stdout. */
export interface ReportOptions {
  readonly events?: string;
  readonly summary?: string;
  readonly report?: string;
}
