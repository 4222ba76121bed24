import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { AutomateError, FlowError } from '../../core/failure.ts';
import type { Closing, StopReason } from '../../core/workers/closing.ts';
import { Gates } from '../../engine/gates.ts';
import { createClock } from '../../io/clock/clock.ts';
import type { RunKeys } from '../../io/queue/queue-keys.ts';
import { QueueLink } from '../../io/queue/queue-link.ts';
import type { QueueAnswer } from '../../io/queue/queue-message.ts';
import { deadMs, unitsPerWorker } from '../../io/queue/queue-units.ts';
import { takeUnits, type UnitEnd, type UnitPlace, type UnitTaker } from '../../io/queue/unit-jobs.ts';
import { type RunProblem, removeWorker, Silences, showWorker, type WorkerSign } from '../../io/queue/worker-signs.ts';
import { RunReports } from '../../io/workers/run-reports.ts';
import { isUnit, type ResultForm, type UnitItem, unitItems } from '../../io/workers/wire-form.ts';
import { version } from '../version.ts';
import type { Manifest } from './manifest.ts';
import type { OpenQueue } from './open-queue.ts';
import { type PreparedRun, prepareRun, WorkerRun } from './worker-run.ts';

/** A worker shows itself this often. */
const beatMs = 1000;

/** A run that this worker could not do is looked at again after this time. */
const againMs = 10_000;

/** A worker that nobody answers leaves the run for this time. */
const unableMs = 60_000;

/** The starts of a unit without a result in between, after which it is not begun again. */
const maxStarts = 3;

/** The settings of a worker. */
export interface QueueWorkerOptions {
  readonly leaseMs: number;
  /** The time that records under way may take after `stop`. */
  readonly graceMs: number;
  /** The worker ends after this time without a unit; undefined for never. */
  readonly idleMs?: number | undefined;
  say(text: string): void;
  /** Takes problems. */
  warn(text: string): void;
}

/** The reason to end the records of a run that are under way here. */
type Leaving = 'closing' | 'stopping' | 'stale' | 'unable';

/** A unit that this worker holds. */
interface HeldUnit {
  readonly place: UnitPlace;
  /** By place in the unit, the number of each record without a result. */
  readonly left: Map<number, number>;
  end(how: UnitEnd): void;
}

/** Units of a queue pass the nodes in this process, for every run of the queue that it can do. */
export class QueueWorker {
  readonly id = `${hostname()}-${process.pid}-${randomBytes(2).toString('hex')}`;
  /** Resolves when the worker has ended: true if everything was handed back. */
  readonly ended: Promise<boolean>;
  readonly #queue: OpenQueue;
  readonly #options: QueueWorkerOptions;
  readonly #clock = createClock();
  readonly #gates: Gates;
  readonly #silences: Silences;
  readonly #runs = new Map<string, JoinedRun>();
  #taker: UnitTaker | undefined;
  #beat: NodeJS.Timeout | undefined;
  #isBeating = false;
  #isStopping = false;
  /** The time at which Redis was last known to know this worker, by its own clock. */
  #shownMs: number;
  #busyMs: number;
  #records = 0;
  #end: (isClean: boolean) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;

  constructor(queue: OpenQueue, options: QueueWorkerOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#gates = new Gates(this.#clock, (gate) => queue.gates.permitsOf(gate));
    this.#silences = new Silences(queue.now);
    this.#shownMs = queue.now();
    this.#busyMs = queue.now();
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
  }

  /** Begins to take units. */
  async start(): Promise<void> {
    const { redis, keys, seal, gates } = this.#queue;
    await gates.onPause((gate, waitMs) => this.#gates.pauseHere(gate, waitMs));
    const subscriber = redis.duplicate();
    subscriber.on('messageBuffer', (_channel, message: Buffer) => {
      const text = seal.unseal(message, `to ${this.id}`);
      if (text !== undefined) this.#told(JSON.parse(text) as QueueAnswer);
    });
    await redis.insist(() => subscriber.subscribe(keys.worker(this.id)));
    await this.#look();
    this.#beat = setInterval(() => void this.#look(), beatMs);
    const { leaseMs } = this.#options;
    this.#taker = await takeUnits(redis, keys.prefix, { units: unitsPerWorker, leaseMs }, (place) => this.#take(place));
  }

  /** Begins no more records, reports those under way, and hands the units back. Resolves `ended` with false if the time is not enough. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#taker?.pause();
    const { graceMs } = this.#options;
    const all = Promise.all([...this.#runs.values()].map((run) => run.leave('stopping', graceMs)));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), graceMs);
    });
    const isClean = await Promise.race([all.then(() => true), late]);
    clearTimeout(timer);
    await this.#close();
    this.#end(isClean);
  }

  async #close(): Promise<void> {
    clearInterval(this.#beat);
    const { redis, keys } = this.#queue;
    await this.#taker?.close();
    if (!redis.isAway) await removeWorker(redis, keys, this.id).catch(() => undefined);
  }

  /** True while its units cannot belong to others. */
  readonly #isShown = () => this.#queue.now() - this.#shownMs < this.#options.leaseMs;

  async #look(): Promise<void> {
    const { redis, now } = this.#queue;
    if (this.#isStopping) return;
    if (!this.#isShown()) for (const run of this.#runs.values()) void run.leave('stale');
    if (redis.isAway || this.#isBeating) return;
    this.#isBeating = true;
    try {
      const sentMs = now();
      await showWorker(redis, this.#queue.keys, this.#sign());
      this.#shownMs = sentMs;
      await this.#lookAtRuns();
      this.#endIfIdle();
    } catch {
      // Redis is away or full: the next look comes soon.
    } finally {
      this.#isBeating = false;
    }
  }

  #sign(): WorkerSign {
    const problems = [...this.#runs.values()].flatMap(({ problem }) => problem ?? []);
    const { leaseMs } = this.#options;
    const units = this.#taker?.held ?? 0;
    return { id: this.id, host: hostname(), pid: process.pid, version, leaseMs, units, records: this.#records, problems };
  }

  async #lookAtRuns(): Promise<void> {
    const { redis, keys } = this.#queue;
    const runs = new Set(await redis.client.smembers(keys.runs));
    for (const [id, run] of this.#runs) if (!runs.has(id)) this.#forget(id, run);
    for (const id of runs) await this.#lookAt(id);
  }

  async #lookAt(id: string): Promise<void> {
    const { redis, keys, seal } = this.#queue;
    const names = ['gen', 'seen', 'closing', 'ended', 'version', 'fingerprint', 'flow'];
    const [facts, time] = await Promise.all([redis.client.hmgetBuffer(keys.run(id).run, ...names), redis.client.time()]);
    const [gen, seen, closing, ended, runVersion, fingerprint, flow] = facts;
    const known = this.#runs.get(id);
    if (!gen || !seen) {
      // Its keys are kept no longer.
      await redis.client.srem(keys.runs, id);
      if (known) this.#forget(id, known);
      return;
    }
    const ageMs = (Number(time[0]) * 1e6 + Number(time[1]) - Number(seen)) / 1000;
    const silentMs = this.#silences.note(id, Number(seen), ageMs);
    const run = known?.gen === String(gen) ? known : this.#join(id, String(gen), String(flow ?? ''));
    if (known && known !== run) known.abandon();
    run.isOrphaned = silentMs >= deadMs;
    if (run.isOrphaned) void run.leave('stale');
    if (ended) return void run.finish();
    const text = closing && seal.unseal(closing, `${id} closing`);
    if (text) run.close(JSON.parse(text) as Closing);
    await run.prepare({ version: String(runVersion), fingerprint: String(fingerprint) });
  }

  #join(id: string, gen: string, flow: string): JoinedRun {
    const run = new JoinedRun(this.#queue, this.id, {
      ...{
        id,
        gen,
        flow,
        clock: this.#clock,
        gates: this.#gates,
        isShown: this.#isShown,
        say: this.#options.say,
        warn: this.#options.warn,
      },
      finished: (records) => {
        this.#records += records;
        this.#busyMs = this.#queue.now();
      },
      failed: (error) => void this.#break(error),
    });
    this.#runs.set(id, run);
    return run;
  }

  #forget(id: string, run: JoinedRun): void {
    this.#runs.delete(id);
    run.abandon();
    this.#silences.forget(id);
    if (run.isReady) this.#options.say(`left run ${shortId(id)}: it has ended`);
  }

  async #take(place: UnitPlace): Promise<UnitEnd> {
    this.#busyMs = this.#queue.now();
    if (this.#isStopping) return 'back';
    try {
      await this.#lookAt(place.run);
    } catch {
      return 'later';
    }
    const run = this.#runs.get(place.run);
    if (!run || !place.unit.startsWith(`${run.gen}-`)) return 'done';
    return run.take(place);
  }

  #told(message: QueueAnswer): void {
    const run = this.#runs.get(message.run);
    if (run?.gen === message.gen) run.told(message);
  }

  #endIfIdle(): void {
    const { idleMs } = this.#options;
    if (idleMs === undefined || (this.#taker?.held ?? 0) > 0) return;
    if (this.#queue.now() - this.#busyMs >= idleMs) void this.stop();
  }

  /** Ends the worker because of a bug, or because its disk is full: its units are handed back. */
  async #break(error: unknown): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#taker?.pause();
    await Promise.all([...this.#runs.values()].map((run) => run.leave('stopping', 0)));
    await this.#close();
    this.#fail(error);
  }
}

/** The parts of a worker that its runs share. */
interface JoinedRunOptions {
  readonly id: string;
  readonly gen: string;
  readonly flow: string;
  readonly clock: ReturnType<typeof createClock>;
  readonly gates: Gates;
  readonly isShown: () => boolean;
  say(text: string): void;
  warn(text: string): void;
  finished(records: number): void;
  failed(error: unknown): void;
}

/** A run of which this worker can take units. */
class JoinedRun {
  readonly gen: string;
  isReady = false;
  isOrphaned = false;
  #problem: RunProblem | undefined;
  readonly #queue: OpenQueue;
  readonly #keys: RunKeys;
  readonly #options: JoinedRunOptions;
  readonly #link: QueueLink;
  readonly #reports: RunReports;
  readonly #units = new Map<number, HeldUnit>();
  /** Units that were handed back while their records were under way: results may still come. */
  readonly #handedBack = new Map<number, HeldUnit>();
  #prepared: PreparedRun | undefined;
  #preparing: Promise<void> | undefined;
  #lookAgainMs = 0;
  #worker: WorkerRun | undefined;
  #closing: Closing | undefined;
  #leaving: Leaving | undefined;
  #cacert: string | undefined;
  #hasEnded = false;

  constructor(queue: OpenQueue, worker: string, options: JoinedRunOptions) {
    this.#queue = queue;
    this.#options = options;
    this.gen = options.gen;
    const keys = queue.keys.run(options.id);
    this.#keys = keys;
    const { redis, seal } = queue;
    this.#link = new QueueLink({
      ...{ redis, keys, seal, run: options.id, gen: options.gen, worker },
      numberOf: (unit, index) => (this.#units.get(unit) ?? this.#handedBack.get(unit))?.left.get(index),
      sent: (results) => this.#sent(results),
    });
    this.#reports = new RunReports(this.#link);
  }

  get problem(): RunProblem | undefined {
    return this.#problem;
  }

  /** Prepares the run, unless that is done. A problem is looked at again after a while. */
  async prepare(facts: { readonly version: string; readonly fingerprint: string }): Promise<void> {
    if (this.isReady || this.#queue.now() < this.#lookAgainMs) return;
    this.#preparing ??= this.#prepare(facts).finally(() => {
      this.#preparing = undefined;
    });
    await this.#preparing;
  }

  async #prepare(facts: { readonly version: string; readonly fingerprint: string }): Promise<void> {
    const { redis, seal } = this.#queue;
    const { id, flow, say } = this.#options;
    this.#lookAgainMs = this.#queue.now() + againMs;
    if (facts.version !== version) return this.#cannot({ problem: `it needs automate ${facts.version}, and this is ${version}` });
    if (!seal.fits(facts.fingerprint)) return this.#cannot({ problem: 'its queue key is another one' });
    const sealed = await redis.client.getBuffer(this.#keys.manifest);
    const text = sealed && seal.unseal(sealed, `${id} manifest`);
    if (!text) return this.#cannot({ problem: 'its manifest cannot be read' });
    try {
      const warn = (message: string) => this.#reports.add({ kind: 'warning', message });
      this.#prepared = await prepareRun(this.#withAuthorities(JSON.parse(text) as Manifest), warn);
    } catch (error) {
      if (!(error instanceof AutomateError)) throw error;
      return this.#cannot({ problem: error.message, credentials: missingIn(error) });
    }
    this.#problem = undefined;
    this.isReady = true;
    say(`joined run ${shortId(id)} of ${flow}`);
  }

  /** The authorities of the run are a file on this machine as long as the run is known here. */
  #withAuthorities(manifest: Manifest): Manifest {
    if (manifest.cacert === undefined) return manifest;
    this.#cacert ??= join(tmpdir(), `.automate.${this.#options.id}.${process.pid}.pem`);
    writeFileSync(this.#cacert, manifest.cacert, { mode: 0o600 });
    return { ...manifest, cacert: this.#cacert };
  }

  #cannot(problem: Omit<RunProblem, 'run'>): void {
    const { id, flow, warn } = this.#options;
    if (problem.problem !== this.#problem?.problem) warn(`cannot do run ${shortId(id)} of ${flow}: ${problem.problem}`);
    this.#problem = { run: id, ...problem };
  }

  /** Takes a unit. Resolves with the end of its hold. */
  async take(place: UnitPlace): Promise<UnitEnd> {
    if (!this.isReady || this.isOrphaned || this.#problem || this.#leaving) return this.#hasEnded ? 'done' : 'later';
    const { redis, seal } = this.#queue;
    const { id } = this.#options;
    const number = Number(place.unit.slice(this.gen.length + 1));
    const [sealed, done, starts] = await redis.insist(() =>
      Promise.all([
        redis.client.getBuffer(this.#keys.records(place.unit)),
        redis.client.smembers(this.#keys.done(place.unit)),
        redis.client.hincrby(this.#keys.starts, place.unit, 1),
      ]),
    );
    // The unit has ended meanwhile.
    if (!sealed) return this.#say('missing', number);
    const text = seal.unseal(sealed, `${id} in ${place.unit}`);
    if (text === undefined || !isUnit(text)) return this.#say('missing', number);
    if (starts > maxStarts) return this.#say('deadly', number);
    const marked = new Set(done.map(Number));
    const items = unitItems(text).filter(({ index }) => !marked.has(index));
    if (items.length === 0) return 'done';
    return new Promise((end) => {
      this.#units.set(number, { place, left: new Map(items.map((item) => [item.index, item.number])), end });
      this.#pass(items);
    });
  }

  async #say(kind: 'missing' | 'deadly' | 'left', unit: number): Promise<UnitEnd> {
    await this.#link.say({ kind, unit });
    return 'done';
  }

  #pass(items: readonly UnitItem[]): void {
    const prepared = this.#prepared as PreparedRun;
    this.#worker ??= this.#open(prepared);
    this.#worker.add(items);
  }

  #open(prepared: PreparedRun): WorkerRun {
    const { clock, gates, isShown, failed } = this.#options;
    const worker = new WorkerRun(prepared, {
      ...{ link: this.#reports, clock, gates, mayBegin: isShown },
      unanswered: (reason) => this.#leaveAsUnable(reason),
    });
    if (this.#closing) worker.close(this.#closing);
    worker.ended.then(() => this.#passed(worker), failed);
    return worker;
  }

  /** Leaves the run for a minute: no server answers this worker. */
  #leaveAsUnable({ message }: StopReason): void {
    this.#lookAgainMs = this.#queue.now() + unableMs;
    this.isReady = false;
    this.#cannot({ problem: message, isUnable: true });
    void this.leave('unable');
  }

  told(message: QueueAnswer): void {
    if (message.kind === 'answer') this.#link.answered(message.id, message.value);
    if (message.kind === 'closing') this.close(message);
    if (message.kind === 'end') void this.finish();
  }

  /** Closes the run here, because its coordinator closes it. */
  close(closing: Closing): void {
    if (this.#closing?.phase === closing.phase) return;
    this.#closing = closing;
    this.#worker?.close(closing);
  }

  /** Begins no more records. Resolves when those under way are reported, and the units handed back. */
  async leave(why: Leaving, patienceMs?: number): Promise<void> {
    const worker = this.#worker;
    if (!worker || this.#leaving) return worker?.ended.catch(() => undefined);
    this.#leaving = why;
    worker.leave({ ending: 'interrupted', message: 'this worker stops', ...(patienceMs !== undefined && { patienceMs }) });
    // Others may have the units by now.
    if (why === 'stale' || why === 'closing') this.#handBack();
    await worker.ended.catch(() => undefined);
  }

  /** Leaves a run that has gone on elsewhere, or is gone. Records under way may still be reported. */
  abandon(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#link.close();
    void this.leave('stale');
    this.#handBack();
    this.#removeAuthorities();
  }

  /** Gives back everything of a run that has ended. */
  async finish(): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#worker?.end();
    await this.#worker?.ended.catch(() => undefined);
    for (const unit of this.#units.values()) unit.end('done');
    await this.#link.say({ kind: 'ended' });
    this.#link.close();
    this.#removeAuthorities();
  }

  #removeAuthorities(): void {
    if (this.#cacert !== undefined) rmSync(this.#cacert, { force: true });
  }

  /** The records of a worker run have ended: units that it has not finished are left unfinished, or go back. */
  #passed(worker: WorkerRun): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#handedBack.clear();
    const why = this.#leaving;
    this.#leaving = undefined;
    if (why || !this.#closing) {
      this.#handBack();
      return;
    }
    for (const [number, unit] of [...this.#units]) {
      this.#units.delete(number);
      void this.#say('left', number).then(unit.end);
    }
  }

  #handBack(): void {
    const { client } = this.#queue.redis;
    for (const [number, unit] of [...this.#units]) {
      this.#units.delete(number);
      this.#handedBack.set(number, unit);
      client.hdel(this.#keys.starts, unit.place.unit).catch(() => undefined);
      unit.end('back');
    }
  }

  #sent(results: readonly ResultForm[]): void {
    for (const [number, index] of results) {
      const unit = this.#units.get(number);
      if (!unit) continue;
      unit.left.delete(index);
      if (unit.left.size > 0) continue;
      this.#units.delete(number);
      unit.end('done');
    }
    if (results.length > 0) this.#options.finished(results.length);
  }
}

function shortId(run: string): string {
  return run.slice(0, 8);
}

/** The names of the credentials that are missing; undefined for another error. */
function missingIn(error: AutomateError): string[] | undefined {
  if (!(error instanceof FlowError) || error.kind !== 'credential') return undefined;
  return error.problems.flatMap(({ details }) => {
    const { credential } = (details ?? {}) as { readonly credential?: string };
    return credential === undefined ? [] : [credential];
  });
}
