import type { Trace } from '../core/action.ts';
import type { Ending } from '../core/event.ts';
import type { Item, Outcome } from '../core/item.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import type { Output, Ports } from '../core/ports.ts';
import type { RunOptions } from '../core/run-options.ts';
import type { InputState } from './batches.ts';
import { reportOf } from './call.ts';
import { type FailureLimit, SameFailureWatch, tooManyErrors } from './failure-limits.ts';
import type { Gates } from './gates.ts';
import { LocalPassage, type Passage, type PassageTools } from './passage.ts';
import { RunPhase, type StopReason } from './phase.ts';
import type { SerialKeys } from './serial.ts';
import { Window } from './window.ts';
import { Writing } from './writing.ts';

/** The input, output and services of a run. The runs of a process can share the gates, and services such as the ledger. */
interface RunParts {
  /** The records, in the portions in which they are read. An empty portion means that no record is available at the moment. */
  readonly input: AsyncIterable<readonly Item[]>;
  readonly output: Output;
  readonly ports: Ports;
  readonly gates: Gates;
  readonly serialKeys?: SerialKeys;
  readonly trace?: Trace;
  /** Undefined if the nodes run in this process. */
  readonly passage?: (tools: PassageTools) => Passage;
}

export interface RunSettings extends FailureLimit, Pick<RunOptions, 'unordered' | 'keepGoing'> {
  /** The ending of a run that nothing ends early; undefined for `complete`. */
  readonly ending?: Ending;
  /** Undefined for a run that itself decides when to end early. */
  readonly worker?: WorkerSettings;
}

/** A worker receives its records in units (groups), in any order. The coordinator decides when the run ends early. */
interface WorkerSettings {
  readonly giveUp: ((reason: StopReason) => void) | undefined;
  /** Returns false while a different worker might have taken over the unit. By default, records may always begin. */
  readonly mayBegin?: () => boolean;
}

export interface Run {
  /** The phase of the run. To advance the phase is to end the run early. */
  readonly phase: RunPhase;
  /** Resolves when the run ends. Rejects with an error that concerns the whole run rather than a single record. */
  readonly ended: Promise<Ending>;
  /** Returns the number of finished records that cannot be written yet, because an earlier record is not finished. */
  waiting(): number;
}

export function startRun(plan: Plan, parts: RunParts, settings: RunSettings): Run {
  const run = new RecordRun(plan, parts, settings);
  return { phase: run.phase, ended: run.toEnd(), waiting: () => run.waiting() };
}

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
  /** Ends the run if the first records all failed in the same way; undefined if the run continues in that case. */
  readonly #sameFailure: SameFailureWatch | undefined;
  readonly #counts = { finished: 0, failed: 0 };
  /** Number of finished records that are not written yet. When they are written, their places in the window become free. */
  #unwritten = 0;
  #reading: InputState = 'more';
  /** True if a node filters records, so that a record without output rows counts as filtered. */
  readonly #filters: boolean;

  constructor(plan: Plan, parts: RunParts, settings: RunSettings) {
    const phase = new RunPhase(settings.worker?.mayBegin);
    this.phase = phase;
    const { ports, output } = parts;
    this.#parts = parts;
    this.#settings = settings;
    this.#filters = allSteps(plan.steps).some(({ node }) => node.filters);
    let reported: StopReason | undefined;
    phase.onPhase(() => {
      const { reason } = phase;
      if (!reason || reason === reported) return;
      reported = reason;
      const { ending, message, code, details, step } = reason;
      ports.report({ type: 'stopping', ending, reason: message, ...(step && { step }), ...(code && { code, details }) });
    });
    const { keepGoing = false, worker } = settings;
    const endRun = (reason: StopReason) => phase.advance('finishing', reason);
    this.#sameFailure = keepGoing ? undefined : new SameFailureWatch(endRun);
    const giveUp = worker ? worker.giveUp : keepGoing ? undefined : endRun;
    const tools = { phase, giveUp, input: () => this.#inputState() };
    this.#passage = parts.passage?.(tools) ?? new LocalPassage(plan, parts, tools);
    const size = () => this.#passage.size;
    this.#window = new Window({ size, unordered: settings.unordered ?? false, finish: this.#finish }, phase);
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
      // After this, no call is in flight, even if an error has ended the run.
      await this.#window.end().finally(() => this.#writing.end().finally(() => this.#passage.close()));
      this.#park();
    }
    const ending = this.phase.reason?.ending ?? this.#settings.ending ?? 'complete';
    ports.report({ type: 'run-ended', ending, ms: ports.clock.now() - startedMs });
    return ending;
  }

  /** Begins the given records. Returns false if the run accepts no more records. */
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

  /** In a worker whose run is ending, a record begins only if its number is lower than that of the record that ended the run. */
  #begins({ number }: Item): boolean {
    return this.#settings.worker ? this.phase.wants(number, false) : this.phase.current === 'open';
  }

  #room(): Promise<void> | undefined {
    return this.#window.room() ?? this.#passage.room();
  }

  readonly #finish = (item: Item, result: Outcome): void => {
    const { output, ports } = this.#parts;
    const isFiltered = this.#filters && rowsOf(result) === 0;
    const outcome = output.put(item, result, isFiltered);
    this.#counts.finished++;
    this.#unwritten++;
    this.#sameFailure?.finished('failure' in outcome ? outcome.failure : undefined);
    if ('failure' in outcome) {
      this.#counts.failed++;
      ports.report({ type: 'record-failed', record: item.number, ...reportOf(outcome.failure) });
      const reason = tooManyErrors(this.#settings, this.#counts);
      if (reason) this.phase.advance('finishing', reason);
    } else if (item.unchanged) {
      ports.report({ type: 'record-unchanged', record: item.number, rows: rowsOf(outcome) ?? 0, isFiltered });
    } else if (isFiltered) ports.report({ type: 'record-filtered', record: item.number });
    else ports.report({ type: 'record-done', record: item.number, rows: rowsOf(outcome) ?? 0 });
    this.#writing.add();
  };

  #written(records: number): void {
    this.#unwritten -= records;
    this.#window.free(records);
    this.#passage.inputChanged();
  }

  /** Parks finished records after an unfinished record, so that a resumed run can write them. Failed records will be processed again. */
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

  /** `more` while finished records wait to be written, because then there will be room for more records. */
  #inputState(): InputState {
    return this.#reading === 'blocked' && this.#unwritten > 0 ? 'more' : this.#reading;
  }
}
