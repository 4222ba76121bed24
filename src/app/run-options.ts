import type { Ending } from '../core/event.ts';
import type { Plan } from '../core/plan.ts';
import type { MaxErrors } from '../engine/failure-limits.ts';
import type { FoundFailures } from '../io/journal/failed-list.ts';
import type { Checkpoint } from '../io/journal/journal.ts';
import type { Source } from '../io/records/readers/source.ts';
import type { SetFields } from './flow/set-fields.ts';
import type { InputOptions } from './input/input.ts';
import type { OpenRun } from './open-run.ts';
import type { OutputOptions, OutputPlan } from './output/output-plan.ts';
import type { SessionOptions } from './session.ts';

/** The options of a run. Each means what the option of `automate run` with that name means. */
export interface RunOptions extends InputOptions, OutputOptions, StartOptions, ReportOptions, SessionOptions {
  /** Maximum of records; undefined for all. */
  readonly limit?: number;
  /** Records at the beginning of the input that are left out. */
  readonly skip?: number;
  /** Fields that every record gets before the first node. */
  readonly set?: SetFields;
  readonly unordered?: boolean;
  readonly csvSafe?: boolean;
  readonly maxErrors?: MaxErrors;
  readonly keepGoing?: boolean;
  /** Maximum of requests in flight, for each node. */
  readonly concurrency?: number;
  /** Ms between the starts of two requests to one origin with one credential. */
  readonly rate?: number;
}

/** What a run does with the files that exist, and with an unfinished run. */
export interface StartOptions {
  readonly replace?: boolean;
  readonly resume?: boolean;
  readonly force?: boolean;
  /** True for a look at what a run would do: nothing is written. */
  readonly dryRun?: boolean;
}

/** The files about a run; undefined for each that is not wanted. `-` is stdout. */
export interface ReportOptions {
  readonly events?: string;
  readonly summary?: string;
  readonly report?: string;
}

/** A run whose flow is checked. */
export interface RunRequest {
  /** The flow's file. */
  readonly flow: string;
  readonly plan: Plan;
  readonly options: RunOptions;
  readonly files: OutputPlan;
  /** Opens the input at its beginning, or after the records that are done. */
  open(from: Checkpoint): Promise<Source>;
  /** The failed records that a retry runs; undefined for other runs. */
  readonly retried?: FoundFailures | undefined;
  /** True for a retry that gives up an unfinished one. */
  readonly startsOver?: boolean;
  /** True if its credits are not counted, as in the demo. */
  readonly isFree?: boolean | undefined;
  /** Counts that each checkpoint holds. A resumed run finds them in its claim. */
  readonly notes?: () => object;
  /** The words of the command line about this run, for its summary and report. */
  readonly words?: RunWords;
}

/** A run that has ended. */
export interface EndedRun {
  readonly run: OpenRun;
  readonly ending: Ending;
  /** Records in the errors file. */
  readonly failed: number;
}

/** The command line's words about a run. */
export interface RunWords {
  /** The command line of the run. */
  readonly command: string;
  /** The steps that may follow, each with a command line to copy. */
  next(ended: EndedRun): readonly NextStep[];
  /** An error that ended the run, with the way out of it. */
  problem(error: Error): string;
}

/** A step that may follow a run, with a command line to copy. */
export interface NextStep {
  readonly why: string;
  readonly command: string;
}
