import type { Trace } from '../core/action.ts';
import type { CodedMessage } from '../core/error-code.ts';
import type { Ending, Event } from '../core/event.ts';
import type { Item } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import type { Gates } from '../engine/gates.ts';
import type { FoundFailures } from '../io/journal/failed-list.ts';
import type { Checkpoint } from '../io/journal/journal.ts';
import type { FileOutput } from '../io/output/output.ts';
import type { OutputSpace } from '../io/output/output-space.ts';
import type { RunProblem } from '../io/queue/worker-signs.ts';
import type { Source } from '../io/records/readers/source.ts';
import type { ReservedPath } from '../io/transfers/reserved-paths.ts';
import type { Children } from '../io/workers/children.ts';
import type { Messages } from './messages.ts';
import type { Claim } from './output/output-claim.ts';
import type { OutputPlan } from './output/output-plan.ts';
import { statesPrice } from './ports/run-ledger.ts';
import type { RunProgress } from './progress/run-progress.ts';
import type { EventsFile } from './report/events-file.ts';
import type { RunOptions } from './run-options.ts';
import type { Session, SessionParts } from './session.ts';
import type { OpenQueue } from './workers/open-queue.ts';

/** A flow that has been checked, with everything needed to run it over an input. */
export interface RunRequest {
  /** The id of a new run that writes a file; undefined to use a UUID. */
  readonly id?: string;
  /** The path of the flow file. */
  readonly flow: string;
  readonly plan: Plan;
  readonly options: RunOptions;
  readonly files: OutputPlan;
  /** Files and folders of this process that the records can neither send nor save to, such as the flows of a server. */
  readonly reserved?: readonly ReservedPath[] | undefined;
  /** Opens the input. Reading starts at the beginning, or after the records that are finished according to the checkpoint. */
  open(from: Checkpoint): Promise<Source>;
  /** The failed records that a retry runs; undefined for a run that is not a retry. */
  readonly retried?: FoundFailures | undefined;
  /** True for a retry that discards an unfinished earlier retry. */
  readonly startsOver?: boolean;
  /** True if the run's credits are not counted, as in the demo. */
  readonly isFree?: boolean | undefined;
  /** Returns further counts that are saved with each checkpoint. When the run is resumed, they are in its claim's checkpoint. */
  readonly notes?: () => object;
  /** Texts for the summary and the report. Undefined if the run was not started from a command line. */
  readonly words?: RunWords;
}

/** A run that has ended. */
export interface EndedRun {
  readonly run: OpenRun;
  readonly ending: Ending;
  /** Number of records in the errors file. */
  readonly failed: number;
}

/** Texts about a run that only the command-line interface can provide. */
export interface RunWords {
  /** The command line that started the run. */
  readonly command: string;
  /** Returns the suggested next steps, each with a command line to copy. */
  next(ended: EndedRun): readonly NextStep[];
  /** Returns the message for an error or another reason that ended the run early, together with a remedy. */
  message(reason: CodedMessage): string;
}

/** A suggested next step, with a command line to copy. */
export interface NextStep {
  readonly why: string;
  readonly command: string;
}

/** Describes a queued run that waits because no worker can process it. */
export interface WorkerWait {
  /** The URL of the queue in Redis. */
  readonly url: string;
  /** The name of the queue; undefined for the queue `default`. */
  readonly queueName: string | undefined;
  /** The live workers, each with the reason why it cannot process the run. */
  readonly problems: readonly (RunProblem & { readonly worker: string })[];
}

/** Objects that a run shares with other runs of the process, and functions that receive its progress. */
export interface RunSurroundings extends Pick<SessionParts, 'routes' | 'key'> {
  readonly messages: Messages;
  /** Receives warnings about the run itself. By default, these are printed like other messages. */
  readonly warn?: (message: string) => void;
  /** The rate limiters (gates) that all runs of the process share. If undefined, the run has its own. */
  readonly gates?: Gates;
  /** The queue that all runs of the process share. If undefined, the run opens the queue that its options specify. */
  readonly queue?: OpenQueue | undefined;
  /** The child processes that all runs of the process share. If undefined, a run with `workers` starts its own. */
  readonly children?: Children | undefined;
  /** Called repeatedly while no worker can process the run. */
  waitingForWorkers?(wait: WorkerWait): void;
  /** The disk space that the run may use; undefined if it is not limited. */
  readonly space?: OutputSpace | undefined;
  /** Receives every attempt to send a request. */
  readonly attempt?: Trace | undefined;
  event?(event: Event): void;
  /** Called when the input is open, before any request is sent. `columns` is undefined for a JSON input. */
  checked?(columns: readonly string[] | undefined): void;
  /** Called before the first records start. `waiting` returns the number of finished records whose rows wait for an earlier record. */
  started?(run: OpenRun, waiting: () => number): void | Promise<void>;
  /** Called when every record has ended and the output is closed. */
  recordsEnded?(): void;
}

/** A run with all objects that it uses: input, secrets, counts and output. */
export interface OpenRun {
  readonly request: RunRequest;
  readonly session: Session;
  readonly claim: Claim;
  readonly source: Source;
  readonly input: AsyncIterable<readonly Item[]>;
  readonly output: FileOutput;
  readonly progress: RunProgress;
  /** The events file; undefined if none was requested. */
  readonly events: EventsFile | undefined;
}

/** A run whose output is claimed and whose input is open. */
export interface ClaimedRun {
  readonly request: RunRequest;
  readonly claim: Claim;
  readonly source: Source;
}

/** True if the user should see credits, because they are limited or the flow states a price. */
export function showsCredits({ session: { ledger }, request: { plan } }: OpenRun): boolean {
  return ledger.isLimited || statesPrice(plan);
}
