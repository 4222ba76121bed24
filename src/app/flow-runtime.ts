import { randomUUID } from 'node:crypto';
import type { CodedMessage } from '../core/error-code.ts';
import type { Event } from '../core/event.ts';
import { errorOf } from '../core/failure.ts';
import type { Item } from '../core/item.ts';
import type { Plan } from '../core/plan.ts';
import type { Ledger } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import type { Gates } from '../engine/gates.ts';
import { type Run, startRun } from '../engine/run.ts';
import type { Routes } from '../io/http/routes.ts';
import type { PayingKey } from '../io/ledger/rest.ts';
import type { RunLedger } from '../io/ledger/run-ledger.ts';
import type { Redactor } from '../io/secrets/redact.ts';
import { createMessages } from './messages.ts';
import { MemoryOutput } from './output/memory-output.ts';
import { openSession, type Session, useOf } from './session.ts';

/** The parts of the process that all runs and calls share. */
export interface SharedParts {
  readonly gates: Gates;
  readonly routes: Routes;
  readonly allowHttp: boolean;
  readonly cacert: string | undefined;
  readonly env: string | undefined;
  /** The present quota of a key, which may change while it pays; absent where it cannot. */
  quotaOf?(key: PayingKey): number | undefined;
  /** The folder for the files that requests send and answers are saved to; undefined for a server without one. */
  readonly files: string | undefined;
  /** True if it has no folder for files. */
  readonly withoutFiles: boolean;
  /** Takes a line for the log. */
  say(text: string): void;
}

/** A key that pays at its present quota. */
export function payingNow(key: PayingKey | undefined, { quotaOf }: Pick<SharedParts, 'quotaOf'>): PayingKey | undefined {
  if (!key || !quotaOf) return key;
  return {
    ...key,
    get quota() {
      return quotaOf(key);
    },
  };
}

/** A call under way. */
export interface CallUnderWay {
  readonly run: Run;
  readonly output: MemoryOutput;
  /** The credits that it has spent so far. */
  credits(): number;
}

/** A flow that is ready for calls. Its plan and its session stay between them. */
export class FlowRuntime {
  readonly #plan: Plan;
  readonly #shared: SharedParts;
  readonly #session: Session;

  private constructor(plan: Plan, shared: SharedParts, session: Session) {
    this.#plan = plan;
    this.#shared = shared;
    this.#session = session;
  }

  /** Loads the secrets and opens the ledger. Throws a FlowError (`credential`). `key`: pays; undefined for the page. */
  static async open(plan: Plan, file: string, shared: SharedParts, key: PayingKey | undefined): Promise<FlowRuntime> {
    const { env, routes, say } = shared;
    return new FlowRuntime(
      plan,
      shared,
      await openSession(useOf(plan, file, env), shared, createMessages(say), { routes, key: payingNow(key, shared) }),
    );
  }

  /** Masks the secrets of the flow. */
  get redactor(): Redactor {
    return this.#session.redactor;
  }

  /** Starts the call of one record. `report`: takes its events. Throws an AutomateError (`credits`) if no credits are left. */
  call(fields: Fields, report: (event: Event) => void = () => undefined): CallUnderWay {
    const usedUp = this.#session.ledger.usedUp();
    if (usedUp) throw errorOf('credits', usedUp);
    const output = new MemoryOutput();
    const paid = new CountingLedger(this.#session.ledger);
    const ports = { ...this.#session.ports.forRun(randomUUID(), report), ledger: paid };
    const item: Item = { number: 1, fields, end: { offset: 0, line: 0 } };
    const parts = { input: oneItem(item), output, ports, gates: this.#shared.gates };
    const run = startRun(this.#plan, parts, { unordered: false, maxErrors: undefined, keepsGoing: true });
    return { run, output, credits: () => paid.spent };
  }

  /** Writes the credits that the calls have spent to the ledger, and gives back the other credits that it holds: other runs may need them. */
  giveBack(): void {
    this.#session.ledger.giveBack();
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

async function* oneItem(item: Item): AsyncGenerator<readonly Item[]> {
  yield [item];
}

/** The ledger of a flow as one call sees it: it counts what the call spends. */
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
