import type { Trace } from '../core/action.ts';
import type { Ending } from '../core/event.ts';
import type { Item, Outcome } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Output, Ports } from '../core/ports.ts';
import type { StopReason } from '../core/workers/closing.ts';
import type { InputState } from './batches/batches.ts';
import { reportOf } from './call.ts';
import { type MaxErrors, SameFailureWatch, tooManyErrors } from './failure-limits.ts';
import type { Gates } from './gates.ts';
import { LocalPassage, type Passage, type PassageTools } from './passage/passage.ts';
import { RunPhase } from './phase.ts';
import { Window } from './window.ts';
import { Writing } from './writing.ts';

/** The surroundings of a run. Several runs of one process may share the gates, and ports such as the ledger. */
export interface RunParts {
  /** An empty list: no more records come for now. */
  readonly input: AsyncIterable<readonly Item[]>;
  readonly output: Output;
  readonly ports: Ports;
  readonly gates: Gates;
  /** Takes every attempt; absent if nothing watches them. */
  readonly trace?: Trace | undefined;
  /** Opens the passage of the records; undefined if they pass the nodes in this process. */
  readonly passage?: ((tools: PassageTools) => Passage) | undefined;
}

/** The settings of a run. */
export interface RunSettings {
  /** True if records are written as soon as they are finished. */
  readonly unordered: boolean;
  /** Absent for any number of failures. */
  readonly maxErrors: MaxErrors | undefined;
  /** True if the run continues although its first records failed in the same way, or although no server answers. */
  readonly keepsGoing: boolean;
  /** Undefined for a run that decides by itself. */
  readonly worker?: WorkerSettings;
}

/** The settings of a worker: its records come in units, in any order, and its run decides when to close. */
export interface WorkerSettings {
  /** Takes the reason to close the run because no server answers; undefined if the run continues all the same. */
  readonly giveUp: ((reason: StopReason) => void) | undefined;
  /** False while no record may begin, because its unit may belong to another worker by now; absent for always. */
  readonly mayBegin?: (() => boolean) | undefined;
}

/** A run under way. */
export interface Run {
  /** Advance it to end the run early. */
  readonly phase: RunPhase;
  /** Rejects with an error that concerns the whole run, not one record. */
  readonly ended: Promise<Ending>;
  /** The number of finished records that wait for an earlier one, and are written after it. */
  waiting(): number;
}

/** Starts a run: every record is read, passes the chain, and is written in its place. */
export function startRun(plan: Plan, parts: RunParts, settings: RunSettings): Run {
  const run = new RecordRun(plan, parts, settings);
  return { phase: run.phase, ended: run.toEnd(), waiting: () => run.waiting() };
}

/** The number of rows of a record; undefined for a failed one. */
function rowsOf(outcome: Outcome): number | undefined {
  if ('failure' in outcome) return undefined;
  if ('rendered' in outcome) return outcome.rendered.rows;
  return 'rows' in outcome ? outcome.rows.length : outcome.spilled.rows;
}

class RecordRun {
  readonly phase: RunPhase;
  readonly #parts: RunParts;
  readonly #settings: RunSettings;
  readonly #passage: Passage;
  readonly #window: Window;
  readonly #writing: Writing;
  /** Absent if the run continues although its first records failed in the same way. */
  readonly #sameFailure: SameFailureWatch | undefined;
  readonly #counts = { finished: 0, failed: 0 };
  /** Finished records that are not written yet. Their places in the window become free with the write. */
  #unwritten = 0;
  #reading: InputState = 'more';
  /** True if records without a row are counted as filtered. */
  readonly #filters: boolean;

  constructor(plan: Plan, parts: RunParts, settings: RunSettings) {
    const phase = new RunPhase(settings.worker?.mayBegin);
    this.phase = phase;
    const { ports, output } = parts;
    this.#parts = parts;
    this.#settings = settings;
    this.#filters = allSteps(plan.steps).some(({ node }) => node.filters);
    phase.onPhase((_, previous) => {
      const { reason } = phase;
      if (previous !== 'open' || !reason) return;
      const { ending, message, code, details } = reason;
      ports.report({ type: 'stopping', ending, reason: message, ...(code && { code, details }) });
    });
    const { keepsGoing, worker } = settings;
    this.#sameFailure = keepsGoing ? undefined : new SameFailureWatch(phase);
    const endRun = (reason: StopReason) => phase.advance('finishing', reason);
    const giveUp = worker ? worker.giveUp : keepsGoing ? undefined : endRun;
    const tools = { phase, giveUp, input: () => this.#inputState() };
    this.#passage = parts.passage?.(tools) ?? new LocalPassage(plan, parts, tools);
    const finish = (item: Item, outcome: Outcome) => this.#finish(item, outcome);
    const size = () => this.#passage.size;
    this.#window = new Window({ size, unordered: settings.unordered, finish }, phase);
    this.#writing = new Writing(output, ports.clock, phase, (records) => this.#written(records));
  }

  waiting(): number {
    return this.#window.waiting;
  }

  async toEnd(): Promise<Ending> {
    const { input, ports } = this.#parts;
    const startedMs = ports.clock.now();
    try {
      for await (const items of input) if (!(await this.#beginAll(items))) break;
    } finally {
      this.#setReading('ended');
      // Even after an error, no call is under way here.
      await this.#window.end().finally(() => this.#writing.end().finally(() => this.#passage.close()));
      this.#park();
    }
    const ending = this.phase.reason?.ending ?? 'complete';
    ports.report({ type: 'run-ended', ending, ms: ports.clock.now() - startedMs });
    return ending;
  }

  /** Returns false once the run takes no more records. */
  async #beginAll(items: readonly Item[]): Promise<boolean> {
    if (items.length === 0) this.#setReading('ended');
    for (const item of items) {
      for (let room = this.#room(); room; room = this.#room()) {
        this.#setReading('blocked');
        await room;
        this.#reading = 'more';
        await this.#parts.ports.clock.nextTurn();
      }
      this.#reading = 'more';
      if (!this.#begins(item)) {
        if (this.#settings.worker) continue;
        return false;
      }
      this.#window.begin(item, this.#passage.pass(item));
    }
    return true;
  }

  /** True if a record is still begun. After a closing, a worker may get records before the one that closed the run. */
  #begins({ number }: Item): boolean {
    return this.#settings.worker ? this.phase.wants(number, false) : this.phase.current === 'open';
  }

  /** Resolves when another record may begin; `undefined` when it may now. */
  #room(): Promise<void> | undefined {
    return this.#window.room() ?? this.#passage.room();
  }

  #finish(item: Item, result: Outcome): void {
    const { output, ports } = this.#parts;
    const isFiltered = this.#filters && rowsOf(result) === 0;
    const outcome = output.put(item, result, isFiltered);
    this.#counts.finished++;
    this.#unwritten++;
    this.#sameFailure?.finished('failure' in outcome ? outcome.failure : undefined);
    if ('failure' in outcome) {
      this.#counts.failed++;
      ports.report({ type: 'record-failed', record: item.number, ...reportOf(outcome.failure) });
      const refusal = tooManyErrors(this.#settings.maxErrors, this.#counts);
      if (refusal) this.phase.advance('finishing', { ending: 'max-errors', ...refusal });
    } else if (item.unchanged) {
      ports.report({ type: 'record-unchanged', record: item.number, rows: rowsOf(outcome) ?? 0, isFiltered });
    } else if (isFiltered) ports.report({ type: 'record-filtered', record: item.number });
    else ports.report({ type: 'record-done', record: item.number, rows: rowsOf(outcome) ?? 0 });
    this.#writing.add();
  }

  #written(records: number): void {
    this.#unwritten -= records;
    this.#window.free(records);
    this.#passage.inputChanged();
  }

  /** Parks the finished records after an unfinished record. A resumed run processes failed records again. */
  #park(): void {
    const { output, ports } = this.#parts;
    for (const { item, outcome } of this.#window.parkable()) {
      if ('failure' in outcome || !output.park(item, outcome)) continue;
      ports.report({ type: 'record-parked', record: item.number, isNew: item.parked === undefined });
    }
  }

  #setReading(state: InputState): void {
    this.#reading = state;
    this.#passage.inputChanged();
  }

  /** The state of the input. While finished records wait to be written, more records will be read: their places become free. */
  #inputState(): InputState {
    return this.#reading === 'blocked' && this.#unwritten > 0 ? 'more' : this.#reading;
  }
}
