import type { Concurrency } from './options/amounts.ts';

/** The options of a run. Each has the meaning of the `automate run` option with the same name. */
export interface RunOptions extends InputOptions, OutputOptions, StartOptions, ReportOptions, SessionOptions {
  readonly limit?: number;
  readonly skip?: number;
  readonly set?: SetFields;
  /** Values of the flow's variables, which override the values in the flow file. */
  readonly var?: GivenVariables;
  readonly unordered?: boolean;
  readonly csvSafe?: boolean;
  readonly maxErrors?: MaxErrors;
  readonly keepGoing?: boolean;
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

interface StartOptions {
  readonly replace?: boolean;
  readonly resume?: boolean;
  readonly force?: boolean;
  /** Remembers the records in a memory file, and reuses the rows of unchanged records. With `runsAll`, no rows are reused. */
  readonly update?: boolean;
  readonly runsAll?: boolean;
  /** Maximum age in ms of rows that are reused; undefined for any age. */
  readonly maxAge?: number;
  readonly dryRun?: boolean;
}

/** Paths of additional files. `-` stands for stdout. */
interface ReportOptions {
  readonly events?: string;
  readonly summary?: string;
  readonly report?: string;
}

export interface InputOptions {
  /** A file, or `-` for stdin. */
  readonly in: string;
  /** Further files with the same columns, read after `in`; undefined for a single input. */
  readonly moreIn?: readonly string[];
  readonly inFormat?: string;
  readonly delimiter?: string;
  readonly encoding?: string;
  /** The path inside a JSON object to the list of records. */
  readonly records?: string;
  readonly sheet?: string;
  /** True for a run without input, which processes a single record without fields. */
  readonly noInput?: boolean;
  /** Undefined to use the default of the file reader. */
  readonly maxRecordBytes?: number;
}

export interface OutputOptions {
  readonly in: string;
  readonly out: string;
  readonly outFormat?: string;
  /** The types of cells in a workbook. By default, columns that contain only numbers become number cells. */
  readonly outTypes?: OutTypes;
  readonly errors?: string;
}

export interface SessionOptions {
  /** The environment of the credentials; undefined to use the one in AUTOMATE_ENV. */
  readonly env?: string;
  /** A file with certificate authorities to trust in addition to the default ones. */
  readonly cacert?: string;
  readonly allowHttp?: boolean;
  /** The folder for files that flows send and save; undefined to use the input's folder. */
  readonly files?: string;
  readonly maxCredits?: number;
}

/** Values that the user or a caller sets for variables, in the order in which they are set. */
export type GivenVariables = readonly (readonly [name: string, value: string])[];

/** The fields that `--set` adds to every record, in the order of the options. */
export type SetFields = readonly (readonly [name: string, value: string])[];

/** A count, or a share of the finished records. */
export type MaxErrors = { readonly count: number } | { readonly share: number };

/** The name of the environment that is used if the user specifies none. */
export const defaultEnv = 'default';

export type OutTypes = 'text';
