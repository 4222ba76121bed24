import { randomUUID } from 'node:crypto';
import type { ColumnNames } from '../core/column-names.ts';
import type { CodedMessage } from '../core/error-code.ts';
import type { Event } from '../core/event.ts';
import { errorOf } from '../core/failure.ts';
import { HeldRows, type Item, type Outcome, type PartialRows } from '../core/item.ts';
import { joinedFilesOf, type Plan } from '../core/plan.ts';
import type { Ledger, Output } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { RunOptions } from '../core/run-options.ts';
import { createMessages } from '../credentials/messages.ts';
import type { Redactor } from '../credentials/redact.ts';
import type { PayingKey } from '../credits/rest.ts';
import type { RunLedger } from '../credits/run-ledger.ts';
import type { Gates } from '../engine/gates.ts';
import { type Run, startRun } from '../engine/run.ts';
import type { SerialKeys } from '../engine/serial.ts';
import type { Routes } from '../http/routes.ts';
import type { ReservedPath } from '../http/transfers/reserved-paths.ts';
import type { FollowedFlow, Metrics } from './metrics.ts';
import { reservedPaths } from './reserved-paths.ts';
import type { WorkerOpener } from './run-request.ts';
import { openSession, type Session, useOf } from './session.ts';

/** The workers that the runs of this process share. */
export interface SharedRunWorkers {
  /** Empty for a flow that must run in this process. */
  optionsFor(plan: Plan): Pick<RunOptions, 'workers' | 'queue' | 'queueName' | 'waitForWorkers'>;
  forRun(): WorkerOpener;
}

/** The objects and settings that all runs and calls in this process share. */
export interface SharedParts {
  readonly gates: Gates;
  readonly workers?: SharedRunWorkers;
  readonly routes: Routes;
  readonly allowHttp: boolean;
  readonly cacert: string | undefined;
  readonly env: string | undefined;
  /** The quota may change during a call. Undefined if quotas never change. */
  quotaOf?(key: PayingKey): number | undefined;
  /** The folder of the flows; undefined for a process without stored runs. */
  readonly flows?: string;
  /** The folder for files that flows send and save; undefined for a server without such a folder. */
  readonly files: string | undefined;
  /** Paths that the records of all flows can neither send nor save to. */
  readonly reserved: readonly ReservedPath[];
  /** True if there is no folder for files that flows send or save. */
  readonly withoutFiles: boolean;
  readonly metrics?: Metrics;
  say(text: string): void;
}

export function payingNow(key: PayingKey | undefined, { quotaOf }: Pick<SharedParts, 'quotaOf'>): PayingKey | undefined {
  if (!key || !quotaOf) return key;
  return {
    ...key,
    get quota() {
      return quotaOf(key);
    },
  };
}

interface OpenedFlow {
  readonly plan: Plan;
  readonly file: string;
  readonly serialKeys: SerialKeys;
}

export interface CallUnderWay {
  readonly run: Run;
  readonly output: MemoryOutput;
  readonly names: ColumnNames;
  credits(): number;
}

/** Plan and session (secrets and connections) stay open between calls. */
export class FlowRuntime {
  readonly #plan: Plan;
  readonly #shared: SharedParts;
  readonly #session: Session;
  readonly #serialKeys: SerialKeys;
  readonly #followed: FollowedFlow | undefined;
  #callsUnderWay = 0;

  private constructor({ plan, serialKeys }: OpenedFlow, shared: SharedParts, session: Session) {
    this.#plan = plan;
    this.#serialKeys = serialKeys;
    this.#shared = shared;
    this.#session = session;
    this.#followed = shared.metrics?.follow(session.redactor.text(plan.name), plan, {
      credits: () => session.ledger.spent(),
      open: () => this.#callsUnderWay,
    });
  }

  /** `key` is the API key that pays; undefined for calls from the web page. Throws a FlowError (`credential`) if a secret is missing. */
  static async open(flow: OpenedFlow, shared: SharedParts, key: PayingKey | undefined): Promise<FlowRuntime> {
    const { env, routes, say, cacert, reserved } = shared;
    const { plan, file } = flow;
    const files = { folder: shared.files, reserved: await reservedPaths(plan, { flow: file, cacert, reserved }) };
    const parts = { routes, files, key: payingNow(key, shared) };
    return new FlowRuntime(flow, shared, await openSession(useOf(plan, file, env), shared, createMessages(say), parts));
  }

  get redactor(): Redactor {
    return this.#session.redactor;
  }

  /** Throws an AutomateError (`credits`) if no credits are left. */
  call(fields: Fields, report?: (event: Event) => void): CallUnderWay {
    const usedUp = this.#session.ledger.usedUp();
    if (usedUp) throw errorOf('credits', usedUp);
    const output = new MemoryOutput();
    const paid = new CountingLedger(this.#session.ledger);
    const followed = this.#followed;
    const event = (event: Event) => {
      followed?.add(event);
      report?.(event);
    };
    const ports = { ...this.#session.ports.forRun(randomUUID(), event), ledger: paid };
    const item: Item = { number: 1, fields, end: { offset: 0, line: 0 } };
    const parts = { input: oneItem(item), output, ports, gates: this.#shared.gates, serialKeys: this.#serialKeys };
    const run = startRun(this.#plan, parts, { keepGoing: true });
    if (followed) this.#countUntil(run.ended);
    return { run, output, names: this.#plan.names, credits: () => paid.spent };
  }

  /** Writes spent credits to the ledger, then gives back the other reserved credits, which other runs might need. */
  giveBack(): void {
    this.#session.ledger.giveBack();
  }

  async close(): Promise<void> {
    await this.#session.close();
    for (const joined of joinedFilesOf(this.#plan)) joined.close();
    this.#followed?.end();
  }

  #countUntil(ended: Promise<unknown>): void {
    this.#callsUnderWay++;
    const end = () => void this.#callsUnderWay--;
    ended.then(end, end);
  }
}

async function* oneItem(item: Item): AsyncGenerator<readonly Item[]> {
  yield [item];
}

/** Forwards to the flow's ledger, and counts the credits of one call. */
class CountingLedger implements Ledger {
  spent = 0;
  readonly #ledger: RunLedger;

  constructor(ledger: RunLedger) {
    this.#ledger = ledger;
  }

  hold(node: string): CodedMessage | undefined {
    return this.#ledger.hold(node);
  }

  settle(node: string, cost?: number): void {
    const before = this.#ledger.spent();
    this.#ledger.settle(node, cost);
    this.spent += this.#ledger.spent() - before;
  }

  release(node: string): void {
    this.#ledger.release(node);
  }

  usedUp(): CodedMessage | undefined {
    return this.#ledger.usedUp();
  }

  affords(calls: readonly (readonly [node: string, count: number])[]): boolean {
    return this.#ledger.affords(calls);
  }
}

/** Keeps the result of a single record instead of writing a file. */
class MemoryOutput implements Output {
  readonly waiting = 0;
  outcome: Outcome | undefined;
  #partial = new HeldRows();

  partialRows(): PartialRows {
    this.#partial = new HeldRows();
    return this.#partial;
  }

  put(_item: Item, outcome: Outcome): Outcome {
    this.outcome = outcome;
    return outcome;
  }

  park(): boolean {
    return false;
  }

  async flush(): Promise<void> {}

  get rows(): readonly Fields[] {
    if (!this.outcome || 'failure' in this.outcome) return [];
    return 'rows' in this.outcome ? this.outcome.rows : this.#partial.held;
  }
}
