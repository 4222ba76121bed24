import type { Trace } from '../core/action.ts';
import type { CodedMessage } from '../core/error-code.ts';
import type { Ending, Event } from '../core/event.ts';
import type { Item } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import type { Gates } from '../engine/gates.ts';
import type { FoundFailures } from '../io/journal/failed-list.ts';
import type { Checkpoint } from '../io/journal/journal.ts';
import type { FileOutput } from '../io/output/output.ts';
import type { Source } from '../io/records/readers/source.ts';
import type { Messages } from './messages.ts';
import type { Claim } from './output/output-claim.ts';
import type { OutputPlan } from './output/output-plan.ts';
import { statesPrice } from './ports/run-ledger.ts';
import type { RunProgress } from './progress/run-progress.ts';
import type { EventsFile } from './report/events-file.ts';
import type { RunOptions } from './run-options.ts';
import type { Session, SessionParts } from './session.ts';
import type { OpenQueue } from './workers/open-queue.ts';
import type { WorkerWait } from './workers/worker-wait.ts';

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
  /** An error that ended the run, or the reason of its early end, with the way out. */
  message(reason: CodedMessage): string;
}

/** A step that may follow a run, with a command line to copy. */
export interface NextStep {
  readonly why: string;
  readonly command: string;
}

/** The surroundings of a run: what it shares with other runs of the process, and who follows it. */
export interface RunSurroundings extends Pick<SessionParts, 'routes' | 'key'> {
  readonly messages: Messages;
  /** Takes warnings about the run itself. By default they are messages like any other. */
  readonly warn?: (message: string) => void;
  /** The gates of all runs of the process. Without them, the run has its own. */
  readonly gates?: Gates;
  /** The queue of all runs of the process. Without it, a run opens the one that its options name. */
  readonly queue?: OpenQueue | undefined;
  /** No worker can do the run for now. */
  waitingForWorkers?(wait: WorkerWait): void;
  /** Takes every attempt. */
  readonly attempt?: Trace | undefined;
  /** Takes every event. */
  event?(event: Event): void;
  /** The input is open; nothing was sent. `columns`: undefined for JSON. */
  checked?(columns: readonly string[] | undefined): void;
  /** The first records are about to start. `waiting`: the number of finished records that wait for an earlier one. */
  started?(run: OpenRun, waiting: () => number): void | Promise<void>;
  /** Every record has ended, and the output is closed. */
  recordsEnded?(): void;
}

/** A run with everything that it reads, spends, reports and writes. */
export interface OpenRun {
  readonly request: RunRequest;
  readonly session: Session;
  readonly claim: Claim;
  readonly source: Source;
  readonly input: AsyncIterable<readonly Item[]>;
  readonly output: FileOutput;
  readonly progress: RunProgress;
  /** Undefined if no events file is wanted. */
  readonly events: EventsFile | undefined;
}

/** A run whose output is claimed and whose input is open. */
export interface ClaimedRun {
  readonly request: RunRequest;
  readonly claim: Claim;
  readonly source: Source;
}

/** True if credits matter to the user: something limits them, or the flow states a price. */
export function showsCredits({ session: { ledger }, request: { plan } }: OpenRun): boolean {
  return ledger.isLimited || statesPrice(plan);
}
