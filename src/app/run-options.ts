import type { Concurrency } from '../core/options/amounts.ts';
import type { MaxErrors } from '../engine/failure-limits.ts';
import type { GivenVariables } from './flow/flow-file.ts';
import type { SetFields } from './flow/set-fields.ts';
import type { InputOptions } from './input/input.ts';
import type { OutputOptions } from './output/output-plan.ts';
import type { SessionOptions } from './session.ts';

/** The options of a run. Each means what the option of `automate run` with that name means. */
export interface RunOptions extends InputOptions, OutputOptions, StartOptions, ReportOptions, SessionOptions {
  /** Maximum of records; undefined for all. */
  readonly limit?: number;
  /** Records at the beginning of the input that are left out. */
  readonly skip?: number;
  /** Fields that every record gets before the first node. */
  readonly set?: SetFields;
  /** Values of the flow's variables that win over its file. */
  readonly var?: GivenVariables;
  readonly unordered?: boolean;
  readonly csvSafe?: boolean;
  readonly maxErrors?: MaxErrors;
  readonly keepGoing?: boolean;
  /** Maximum of requests in flight, for each node. */
  readonly concurrency?: Concurrency;
  /** Child processes in which records pass the nodes; undefined for this process. */
  readonly workers?: number;
  /** The URL of the queue whose workers the records pass in; undefined for none. */
  readonly queue?: string;
  readonly queueName?: string;
  /** The run ends after this time without a worker that can do it, in ms. */
  readonly waitForWorkers?: number;
  /** Ms between the starts of two requests to one origin with one credential. */
  readonly rate?: number;
}

/** The treatment of existing files and of an unfinished run. */
export interface StartOptions {
  readonly replace?: boolean;
  readonly resume?: boolean;
  readonly force?: boolean;
  /** True if the output gets a memory of its records. Without `runsAll` records that have not changed are taken over by it. */
  readonly update?: boolean;
  readonly runsAll?: boolean;
  /** Maximum age of rows that are taken over, in ms; undefined for any. */
  readonly maxAge?: number;
  /** True for a look at what a run would do: nothing is written. */
  readonly dryRun?: boolean;
}

/** The files about a run; undefined for each that is not wanted. `-` is stdout. */
export interface ReportOptions {
  readonly events?: string;
  readonly summary?: string;
  readonly report?: string;
}
