import { type ChildProcess, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import type { Closing } from '../../core/workers/closing.ts';
import type { Unit, UnitListener, Units } from '../../core/workers/workers.ts';
import { onFrames, sendFrame } from './frames.ts';
import { errorOfForm, type FromWorker, type Question, type Report, resultOf, type ToWorker, unitText } from './wire-form.ts';

/** Units that one child holds at a time. */
const unitsPerChild = 4;

/** A unit with which so many children are lost, without a result in between, ends the run. */
const maxLosses = 3;

/** Children that may be lost one after another without a result, for each child. */
const maxVainLosses = 3;

/** Records of such a unit that the message names. */
const maxNamed = 500;

/** The part of a coordinator that answers workers. Each worker is known by its number. */
export interface WorkerDesk {
  answer(worker: number, question: Question): Promise<unknown>;
  take(worker: number, report: Exclude<Report, { kind: 'closing' | 'error' }>): void;
  /** Takes everything that a worker held: it is gone. */
  lost(worker: number): void;
}

/** The settings of a pool. */
export interface PoolOptions {
  readonly children: number;
  /** The arguments of Node.js that start a child. */
  readonly command: readonly string[];
  readonly manifest: object;
  /** True if the records are rows of a table. */
  readonly isTable: boolean;
  readonly desk: WorkerDesk;
}

/** A unit that is not finished. */
interface OpenUnit {
  readonly unit: Unit;
  /** The places of the records without a result. */
  readonly left: Set<number>;
  /** Children lost with it since its last result. */
  losses: number;
}

/** Child processes of one run, in which records pass the nodes. */
export class Pool implements Units {
  /** The most children that were at work at once. */
  readonly most: number;
  /** Children that died before their end. */
  lost = 0;
  readonly #options: PoolOptions;
  readonly #children = new Set<Child>();
  readonly #waiting: OpenUnit[] = [];
  readonly #units = new Map<number, OpenUnit>();
  #listener: UnitListener | undefined;
  #closing: Closing | undefined;
  #hasEnded = false;
  #hasFailed = false;
  #lastChild = 0;
  /** Children that were lost since the last result. */
  #vainLosses = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.most = options.children;
    for (let child = 0; child < options.children; child++) this.#start();
  }

  get capacity(): number {
    return this.#options.children * unitsPerChild;
  }

  /** The number of children. */
  get living(): number {
    return this.#children.size;
  }

  listen(listener: UnitListener): void {
    this.#listener = listener;
  }

  put(unit: Unit): void {
    const open = { unit, left: new Set(unit.items.keys()), losses: 0 };
    this.#units.set(unit.id, open);
    this.#waiting.push(open);
    this.#send();
  }

  tell(closing: Closing): void {
    this.#closing = closing;
    for (const child of this.#children) child.send({ kind: 'closing', ...closing });
  }

  end(): void {
    this.#hasEnded = true;
    this.#send();
  }

  /** Pauses a gate in all children but one. */
  pause(gate: string, waitMs: number, except?: number): void {
    for (const child of this.#children) if (child.number !== except) child.send({ kind: 'pause', gate, waitMs });
  }

  async close(): Promise<void> {
    this.end();
    // A lost child is replaced.
    while (this.#children.size > 0) await Promise.all([...this.#children].map(({ exited }) => exited));
  }

  /** Kills the children. */
  kill(): void {
    this.#hasFailed = true;
    for (const child of this.#children) child.process.kill('SIGKILL');
  }

  #start(): void {
    const { command, manifest, desk } = this.#options;
    const child = new Child(++this.#lastChild, command, (message) => this.#take(child, message));
    this.#children.add(child);
    child.send({ kind: 'run', manifest });
    if (this.#closing) child.send({ kind: 'closing', ...this.#closing });
    void child.exited.then(() => {
      this.#children.delete(child);
      desk.lost(child.number);
      this.#gone(child);
    });
  }

  #take(child: Child, message: FromWorker): void {
    const { desk } = this.#options;
    if (message.kind === 'question') {
      const { id, question } = message;
      void desk.answer(child.number, question).then((value) => child.send({ kind: 'answer', id, value }), this.#fail);
      return;
    }
    for (const report of message.reports) {
      if (report.kind === 'closing') this.#listener?.closing(report);
      else if (report.kind === 'error') this.#fail(errorOfForm(report.error));
      else desk.take(child.number, report);
    }
    for (const form of message.results) {
      const [id, index] = form;
      const open = this.#units.get(id);
      // The first result of a record counts.
      if (!open?.left.delete(index)) continue;
      open.losses = 0;
      this.#vainLosses = 0;
      if (open.left.size === 0) this.#drop(open, child);
      this.#listener?.finished(id, index, resultOf(form));
    }
    this.#send();
  }

  #drop(open: OpenUnit, child: Child | undefined): void {
    this.#units.delete(open.unit.id);
    child?.units.delete(open);
  }

  /** Gives waiting units to the children with the fewest records, and ends the children once no units come. */
  #send(): void {
    while (this.#waiting.length > 0) {
      const child = this.#idlest();
      if (!child) return;
      const open = this.#waiting.shift() as OpenUnit;
      child.units.add(open);
      child.sendUnit(open, this.#options.isTable);
    }
    if (this.#hasEnded) for (const child of this.#children) child.end();
  }

  #idlest(): Child | undefined {
    let idlest: Child | undefined;
    for (const child of this.#children) if (!child.hasEnded && (!idlest || child.records < idlest.records)) idlest = child;
    return idlest && idlest.units.size < unitsPerChild ? idlest : undefined;
  }

  /** The units of a child that is gone go to others, unless it has ended as it should: then its records are left unfinished. */
  #gone(child: Child): void {
    const left = [...child.units].sort((one, other) => one.unit.id - other.unit.id);
    if (child.hasEndedWell || this.#hasFailed || this.#closing?.phase === 'stopped') {
      this.#leave(left);
      return;
    }
    this.lost++;
    for (const open of left) open.losses++;
    const deadly = left.find(({ losses }) => losses >= maxLosses);
    const isVain = ++this.#vainLosses > maxVainLosses * this.#options.children;
    if (deadly || isVain) {
      const message = deadly ? lossText(deadly) : `${this.#vainLosses} workers in a row have died before they had finished a record`;
      this.#listener?.closing({ phase: 'stopped', reason: { ending: 'workers-lost', message } });
      this.#leave([...left, ...this.#waiting.splice(0)]);
      return;
    }
    this.#waiting.unshift(...left);
    if (!this.#hasEnded || this.#waiting.length > 0) this.#start();
    this.#send();
  }

  #leave(units: readonly OpenUnit[]): void {
    for (const open of units) {
      this.#drop(open, undefined);
      for (const index of open.left) this.#listener?.finished(open.unit.id, index, undefined);
    }
  }

  readonly #fail = (error: unknown) => {
    if (this.#hasFailed) return;
    this.kill();
    this.#listener?.failed(error);
  };
}

/** The reason to end a run whose records kill workers. */
export function lossText({ unit, left }: Pick<OpenUnit, 'unit' | 'left'>): string {
  const numbers = [...left].slice(0, maxNamed).map((index) => unit.items[index]?.number);
  const records = numbers.length === 1 ? `record ${numbers[0]} was` : `records ${numbers.join(', ')} were`;
  return `${maxLosses} workers in a row have died while ${records} under way`;
}

/** One child process. */
class Child {
  readonly units = new Set<OpenUnit>();
  readonly process: ChildProcess;
  readonly exited: Promise<void>;
  hasEnded = false;
  /** True if it exited by itself after its last unit. */
  hasEndedWell = false;
  readonly #pipe: Duplex;

  constructor(
    readonly number: number,
    command: readonly string[],
    take: (message: FromWorker) => void,
  ) {
    // Messages go over a pipe of their own: what libraries print cannot get between them.
    this.process = spawn(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
    this.#pipe = this.process.stdio[3] as Duplex;
    // A write to a child that has just died.
    this.#pipe.on('error', () => undefined);
    onFrames(this.#pipe, (text) => take(JSON.parse(text) as FromWorker));
    const closed = new Promise<void>((resolve) => this.#pipe.once('close', () => resolve()));
    const exited = new Promise<void>((resolve) => {
      this.process.once('error', () => resolve());
      this.process.once('exit', (code) => {
        this.hasEndedWell = code === 0;
        resolve();
      });
    });
    // Everything that it has sent is read first.
    this.exited = Promise.all([closed, exited]).then(() => undefined);
  }

  /** The records that it has to finish. */
  get records(): number {
    let sum = 0;
    for (const { left } of this.units) sum += left.size;
    return sum;
  }

  send(message: ToWorker): void {
    sendFrame(this.#pipe, JSON.stringify(message));
  }

  /** Sends the records of a unit that have no result. */
  sendUnit({ unit, left }: OpenUnit, isTable: boolean): void {
    const items = unit.items.filter((_, index) => left.has(index));
    sendFrame(this.#pipe, unitText({ id: unit.id, items }, [...left], isTable));
  }

  /** Tells it that no more units come. */
  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.send({ kind: 'end' });
  }
}
