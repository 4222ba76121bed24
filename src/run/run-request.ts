import type { Trace } from '../core/action.ts';
import type { Ending, Event } from '../core/event.ts';
import type { Item, Outcome } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import type { RunOptions } from '../core/run-options.ts';
import type { Messages } from '../credentials/messages.ts';
import type { Gates } from '../engine/gates.ts';
import type { Passage, PassageTools } from '../engine/passage.ts';
import type { OutputSpace } from '../files/folder.ts';
import type { AnswerSettings, KeptAnswers } from '../http/answers/kept-answers.ts';
import type { ReservedPath } from '../http/transfers/reserved-paths.ts';
import type { FoundFailures } from '../output/journal/failed-list.ts';
import type { Checkpoint } from '../output/journal/journal.ts';
import type { FileOutput } from '../output/output.ts';
import type { Claim } from '../output/output-claim.ts';
import type { OutputPlan } from '../output/output-plan.ts';
import type { InputNote, RecordSource } from '../records/source.ts';
import type { EventsFile } from '../report/report-file.ts';
import type { NextStep, RunTexts } from '../report/reported-run.ts';
import type { RunProgress, WorkerFigures } from '../report/run-progress.ts';
import type { RunView } from '../report/run-view.ts';
import type { Session, SessionParts } from './session.ts';

/** A flow that has been checked, with everything needed to run it over an input. */
export interface RunRequest {
  /** The id of a new run that writes a file; undefined to use a UUID. */
  readonly id?: string;
  readonly flow: string;
  readonly plan: Plan;
  readonly options: RunOptions;
  readonly files: OutputPlan;
  /** Paths of this process that records can neither send nor save to, such as the flows of a server. */
  readonly reserved?: readonly ReservedPath[];
  /** Reading starts at the beginning, or after the records that are finished according to the checkpoint. */
  open(from: Checkpoint): Promise<RecordSource>;
  readonly retried?: FoundFailures;
  /** True for a retry that discards an unfinished earlier retry. */
  readonly startsOver?: boolean;
  /** True if credits are not counted, as in the demo. */
  readonly isFree?: boolean;
  readonly pilot?: PilotRun;
  /** Further counts for each checkpoint. When the run is resumed, they are in its claim's checkpoint. */
  readonly notes?: () => object;
  readonly words?: RunWords;
}

/** Runs only some records, out of order. Their results are parked, so that a resumed run writes them among the others. */
interface PilotRun {
  readonly records: ReadonlySet<number>;
  finished(item: Item, outcome: Outcome): void;
  /** Called when all records are finished, while the output is still claimed. `goesOn` is true if the run is resumed at once. */
  ended(view: RunView): Promise<{ readonly view: RunView; readonly goesOn: boolean }>;
}

export interface EndedRun {
  readonly run: OpenRun;
  readonly ending: Ending;
  readonly failed: number;
}

export interface RunWords extends RunTexts {
  next(ended: EndedRun): readonly NextStep[];
}

/** Describes a queued run that waits because no worker can process it. */
export interface WorkerWait {
  readonly url: string;
  /** Undefined for the queue `default`. */
  readonly queueName: string | undefined;
  readonly problems: readonly WorkerProblem[];
}

interface WorkerProblem {
  readonly worker: string;
  readonly problem: string;
  /** The credentials that the worker lacks; undefined if there is another reason. */
  readonly credentials?: readonly string[];
}

/** A run's workers, which are other processes that process its records. */
export interface Workers {
  readonly figures: WorkerFigures;
  passage(tools: PassageTools): Passage;
  kill(): void;
}

/** Receives the attempts and warnings that a run's workers report. */
export interface WorkerFollower {
  readonly attempt: Trace | undefined;
  warn(message: string): void;
  /** Called repeatedly while no worker of a queue can process the run. */
  waiting?: (wait: WorkerWait) => void;
}

/** Opens the workers of one run. It is handed in, because workers are built on runs. */
export interface WorkerOpener {
  /**
   * Connects to the queue, before the output is claimed or a request is sent. Throws an AutomateError: `usage` if workers cannot run the
   * flow, `credential` if Redis cannot be reached.
   */
  prepare(request: Pick<RunRequest, 'plan' | 'options'>, messages: Messages): Promise<void>;
  open(run: OpenRun, follower: WorkerFollower): Promise<Workers | undefined>;
  close(): Promise<void>;
}

/** Objects that a run shares with other runs of the process, and functions that receive its progress. */
export interface RunSurroundings extends Pick<SessionParts, 'routes' | 'key'> {
  readonly messages: Messages;
  /** Receives warnings about the run itself. By default, these are printed like other messages. */
  readonly warn?: (message: string) => void;
  /** All runs of the process share these rate limiters. If undefined, the run has its own. */
  readonly gates?: Gates;
  /** If undefined, this process runs the nodes itself. */
  readonly workers?: WorkerOpener;
  /** Called repeatedly while no worker can process the run. */
  waitingForWorkers?(wait: WorkerWait): void;
  readonly space?: OutputSpace;
  readonly attempt?: Trace;
  event?(event: Event): void;
  /** Called before any request. `columns` are a table's columns, or the fields of the first records; undefined if there are none. */
  checked?(columns: readonly string[] | undefined): void;
  /** Called when the reader of the input has found something out. */
  noted?(note: InputNote): void;
  /** Called before the first records start. `waiting` counts finished records whose rows wait for an earlier record. */
  started?(run: OpenRun, waiting: () => number): void | Promise<void>;
  recordsEnded?(): void;
}

export interface ClaimedRun {
  readonly request: RunRequest;
  readonly claim: Claim;
  readonly source: RecordSource;
}

/** A run with all objects that it uses: input, secrets, counts and output. */
export interface OpenRun extends ClaimedRun {
  readonly session: Session;
  readonly input: AsyncIterable<readonly Item[]>;
  readonly output: FileOutput;
  readonly progress: RunProgress;
  readonly events: EventsFile | undefined;
  readonly answers?: KeptAnswers & { readonly settings: AnswerSettings };
}
