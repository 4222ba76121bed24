import type { Closing } from '../../engine/phase.ts';
import type { Unit, UnitListener, Units } from '../../engine/unit-passage.ts';
import type { SpilledText } from '../../output/spill.ts';
import type { RunDesk } from '../run-desk.ts';
import { Arrivals, discard } from './arrivals.ts';
import type { Channel, ChannelListener, Children } from './children.ts';
import { errorOfForm, unitText } from './wire-form.ts';

/** Maximum number of units (groups of records) that a child process works on at a time. */
const unitsPerChild = 4;

/** If this many child processes in a row die while they work on the same unit, the run ends, because the unit probably crashes them. */
const maxLosses = 3;

/** The run ends after this many deaths in a row without a result, for each child process of the run. */
const maxVainLosses = 3;

/** Maximum number of records that the message about a unit that crashes workers lists. */
const maxNamed = 500;

interface PoolOptions {
  readonly children: Children;
  readonly manifest: object;
  /** All records of a table have the same fields. */
  readonly hasHeader: boolean;
  readonly desk: RunDesk;
  /** The content moves to a temporary file when it becomes long. */
  newText(): SpilledText;
}

interface PoolUnit {
  readonly unit: Unit;
  /** The unit's unfinished records, as positions within the unit. */
  readonly left: Set<number>;
  /** Number of child processes that have died while working on the unit since the unit's last result. */
  losses: number;
}

export class Pool implements Units {
  readonly #options: PoolOptions;
  /** Maximum number of child processes that worked on the run at the same time. */
  readonly most: number;
  /** Number of child processes that died before their work on the run was done. */
  lost = 0;
  readonly #children = new Set<WorkingChild>();
  readonly #waiting: PoolUnit[] = [];
  readonly #units = new Map<number, PoolUnit>();
  readonly #arrivals: Arrivals;
  #listener: UnitListener | undefined;
  #closing: Closing | undefined;
  /** Returns true if a record is still to be started, even though the run is closing. */
  #wants: (record: number) => boolean = () => true;
  #hasEnded = false;
  #hasFailed = false;
  #lastChild = 0;
  /** Number of child processes that have died since the last result arrived. */
  #vainLosses = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#arrivals = new Arrivals(() => options.newText());
    this.most = options.children.count;
    for (let at = 0; at < this.most; at++) this.#start(at);
  }

  get capacity(): number {
    return this.most * unitsPerChild;
  }

  get alive(): number {
    return this.#children.size;
  }

  get openUnits(): number {
    return this.#units.size;
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

  tell(closing: Closing, wants: (record: number) => boolean): void {
    this.#closing = closing;
    this.#wants = wants;
    for (const { channel } of this.#children) channel.send({ kind: 'closing', ...closing });
    this.#leaveUnwanted();
    this.#send();
  }

  end(): void {
    this.#hasEnded = true;
    this.#send();
  }

  async close(): Promise<void> {
    this.end();
    // A loop is needed, because child processes that die are replaced by new ones.
    while (this.#children.size > 0) await Promise.all([...this.#children].map(({ channel }) => channel.ended));
    this.#arrivals.clear();
  }

  kill(): void {
    this.#hasFailed = true;
    this.tell({ phase: 'stopped', reason: undefined }, () => false);
    for (const child of this.#children) child.end();
  }

  #start(at: number, manifest = this.#options.manifest): void {
    const { children, desk } = this.#options;
    const channel = children.open(at, (message) => this.#take(child, message));
    const child = new WorkingChild(++this.#lastChild, channel);
    this.#children.add(child);
    channel.send({ kind: 'run', manifest });
    if (this.#closing) channel.send({ kind: 'closing', ...this.#closing });
    void channel.ended.then(() => {
      this.#children.delete(child);
      desk.lost(child.number);
      this.#gone(child, at);
    });
  }

  #take(child: WorkingChild, message: Parameters<ChannelListener>[0]): void {
    const { desk } = this.#options;
    if (message.kind === 'question') {
      const { id, question } = message;
      void desk.answer(child.number, question).then((value) => child.channel.send({ kind: 'answer', id, value }), this.#fail);
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
      const result = this.#arrivals.take(String(child.number), form);
      if (!result) continue;
      // Only the first result of a record counts. There may be two if the unit was sent to two processes.
      if (!open?.left.delete(index)) {
        discard(result);
        continue;
      }
      open.losses = 0;
      this.#vainLosses = 0;
      if (open.left.size === 0) this.#drop(open, child);
      this.#listener?.finished(id, index, result);
    }
    this.#send();
  }

  #drop(open: PoolUnit, child: WorkingChild | undefined): void {
    this.#units.delete(open.unit.id);
    child?.units.delete(open);
  }

  /** Each unit goes to the process with the fewest unfinished records. If there will be no further units, the processes finish. */
  #send(): void {
    while (this.#waiting.length > 0) {
      const child = this.#idlest();
      if (!child) return;
      const open = this.#waiting.shift() as PoolUnit;
      child.units.add(open);
      child.sendUnit(open, this.#options.hasHeader);
    }
    if (this.#hasEnded) for (const child of this.#children) child.end();
  }

  #idlest(): WorkingChild | undefined {
    let idlest: WorkingChild | undefined;
    for (const child of this.#children) if (!child.hasEnded && (!idlest || child.records < idlest.records)) idlest = child;
    return idlest && idlest.units.size < unitsPerChild ? idlest : undefined;
  }

  /**
   * Handles the end of a child process's work on the run. There are three cases:
   *
   * If the process has left the run because no server answered it, the run may continue because a server has answered a different process.
   * The other processes then get its units, and the process that replaces it does not leave the run.
   *
   * If the process has finished, or if the run has failed or was stopped, its unfinished records stay unfinished.
   *
   * If the process has died, other processes get its units. If too many processes have died, the run ends.
   */
  #gone(child: WorkingChild, at: number): void {
    const left = [...child.units].sort((one, other) => one.unit.id - other.unit.id);
    const hasLeft = child.channel.hasEndedWell && !child.hasEnded && !this.#closing;
    if (hasLeft) {
      this.#waiting.unshift(...left);
      this.#start(at, { ...this.#options.manifest, keepsGoing: true });
      this.#send();
      return;
    }
    if (child.channel.hasEndedWell || this.#hasFailed || this.#closing?.phase === 'stopped') {
      this.#leave(left);
      return;
    }
    this.lost++;
    for (const open of left) open.losses++;
    const deadly = left.find(({ losses }) => losses >= maxLosses);
    const isVain = ++this.#vainLosses > maxVainLosses * this.most;
    if (deadly || isVain) {
      const message = deadly ? lossText(deadly) : `${this.#vainLosses} workers in a row have died before they finished a record`;
      this.#listener?.closing({ phase: 'stopped', reason: { ending: 'workers-lost', message } });
      this.#leave([...left, ...this.#waiting.splice(0)]);
      return;
    }
    this.#waiting.unshift(...left);
    this.#leaveUnwanted();
    if (!this.#hasEnded || this.#waiting.length > 0) this.#start(at);
    this.#send();
  }

  #leaveUnwanted(): void {
    for (const open of this.#waiting.splice(0)) {
      const { unit, left } = open;
      const unwanted = [...left].filter((index) => !this.#wants(unit.items[index]?.number as number));
      for (const index of unwanted) left.delete(index);
      if (left.size > 0) this.#waiting.push(open);
      else this.#drop(open, undefined);
      for (const index of unwanted) this.#listener?.finished(unit.id, index, undefined);
    }
  }

  #leave(units: readonly PoolUnit[]): void {
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

export function lossText({ unit, left }: Pick<PoolUnit, 'unit' | 'left'>): string {
  const numbers = [...left].slice(0, maxNamed).map((index) => unit.items[index]?.number);
  const records = numbers.length === 1 ? `record ${numbers[0]} was` : `records ${numbers.join(', ')} were`;
  return `${maxLosses} workers in a row have died while ${records} in progress`;
}

class WorkingChild {
  readonly units = new Set<PoolUnit>();
  /** True once the child process knows that there will be no further units. */
  hasEnded = false;

  constructor(
    readonly number: number,
    readonly channel: Channel,
  ) {}

  get records(): number {
    let sum = 0;
    for (const { left } of this.units) sum += left.size;
    return sum;
  }

  sendUnit({ unit, left }: PoolUnit, hasHeader: boolean): void {
    const items = unit.items.filter((_, index) => left.has(index));
    this.channel.sendText(unitText({ id: unit.id, items }, [...left], hasHeader));
  }

  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.channel.send({ kind: 'end' });
  }
}
