import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { AutomateError } from '../../core/failure.ts';
import type { Closing } from '../../core/workers/closing.ts';
import type { Unit, UnitListener, Units } from '../../core/workers/workers.ts';
import type { SpilledText } from '../output/spill.ts';
import { Arrivals, type ArrivedResult, discard } from '../workers/arrivals.ts';
import { lossText, type WorkerDesk } from '../workers/pool.ts';
import { errorOfForm, unitText } from '../workers/wire-form.ts';
import type { QueueRedis } from './connection.ts';
import { keptSeconds, type QueueKeys, type RunKeys, startsField } from './queue-keys.ts';
import type { QueueMessage, RunNews } from './queue-message.ts';
import { claimScript, seenScript } from './run-scripts.ts';
import type { Seal } from './seal.ts';
import type { UnitQueue } from './unit-jobs.ts';
import { type SeenWorker, Silences, seenWorkers } from './worker-signs.ts';

/** Maximum number of units (groups of records) that one worker processes at a time. */
export const unitsPerWorker = 4;

/** Interval in ms at which a run's coordinator updates its status in Redis and checks the workers. */
const beatMs = 1000;

/** A coordinator counts as dead if it has not updated its status for this many ms. */
export const deadMs = 15_000;

/** Maximum number of messages from workers that are read from Redis at once. */
const takenAtOnce = 64;

/**
 * All open units are put into the queue again at most once in this many ms. Without this limit, unreadable data in Redis could keep the
 * workers busy forever.
 */
const againMs = 5000;

/** At the end of a run, a worker that has not updated its status for this many ms is not waited for. */
const silentMs = 3000;

/** Maximum wait in ms until the workers have handed back the credits and units of a run that has ended. */
const endMs = 5000;

/**
 * Number of answers that are kept for each worker. They are needed because a worker repeats its question if it has not received the answer.
 */
const keptAnswers = 64;

/** The parts of a queue that all runs in it share. */
export interface QueueParts {
  readonly redis: QueueRedis;
  readonly keys: QueueKeys;
  readonly seal: Seal;
  readonly jobs: UnitQueue;
  /** Returns the current time in monotonic ms. */
  now(): number;
}

/** Settings of one run in a queue. */
export interface QueueRunOptions {
  readonly run: string;
  readonly manifest: object;
  /** Facts about the run that Redis stores unencrypted: flow, version, host, pid and start time. */
  readonly facts: Readonly<Record<string, string>>;
  readonly isTable: boolean;
  /**
   * True if this run may use results that workers have computed for an earlier coordinator of the run. Every record must then have a unique
   * number.
   */
  readonly takesOldResults: boolean;
  readonly desk: WorkerDesk;
  /** Creates an empty SpilledText, whose content moves to a temporary file when it becomes long. */
  newText(): SpilledText;
  /** Returns the counts that the `status` command shows. They are stored in Redis as JSON. */
  counts(): object;
  /** Called when Redis has lost the run, before the unfinished records are put into the queue again. */
  emptied(): void;
  /** Called at every check with all living workers of the queue. */
  looked(workers: readonly SeenWorker[]): void;
}

/** A unit with records that are not finished. */
interface OpenUnit {
  readonly unit: Unit;
  /** The unit's unfinished records, as positions within the unit. */
  readonly left: Set<number>;
}

/** A worker that has sent messages about this run. */
interface KnownWorker {
  readonly number: number;
  readonly gen: string;
  lastSeq: number;
  hasEnded: boolean;
  readonly answers: Map<number, unknown>;
}

/**
 * The units and workers of one run in a queue, as seen by the run's coordinator. If Redis loses data, the coordinator puts all open units
 * into the queue again.
 */
export class QueueUnits implements Units {
  most = 0;
  lost = 0;
  readonly #parts: QueueParts;
  readonly #options: QueueRunOptions;
  readonly #keys: RunKeys;
  readonly #token = randomUUID();
  readonly #silences: Silences;
  readonly #units = new Map<number, OpenUnit>();
  /** The unit of each unfinished record and the record's position in that unit, keyed by the record's number. */
  readonly #unitOf = new Map<number, readonly [unit: number, index: number]>();
  /** Results that workers have computed for an earlier coordinator of this run, keyed by the record's number. */
  readonly #early = new Map<number, ArrivedResult>();
  readonly #arrivals: Arrivals;
  readonly #workers = new Map<string, KnownWorker>();
  #living: readonly SeenWorker[] = [];
  /** For how many ms each worker has been silent, keyed by its id. */
  #silent: ReadonlyMap<string, number> = new Map();
  #gen = newGen();
  /** All generations that this coordinator has used. Each time all units are put into the queue again, a new generation begins. */
  readonly #gens = new Set([this.#gen]);
  #lastWorker = 0;
  #listener: UnitListener | undefined;
  #closing: Closing | undefined;
  #beat: NodeJS.Timeout | undefined;
  #subscriber: Redis | undefined;
  #isTaking = false;
  #isClosed = false;
  #isEnding = false;
  /** True if Redis may contain units of an earlier generation, which have to be removed. */
  #hasOldUnits = false;
  #putAgainMs = Number.NEGATIVE_INFINITY;
  /** The removals of units that were left unfinished. The units may still wait in the queue, if no worker has taken them. */
  readonly #removals: Promise<void>[] = [];

  constructor(parts: QueueParts, options: QueueRunOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#arrivals = new Arrivals(() => options.newText());
    this.#keys = parts.keys.run(options.run);
    this.#silences = new Silences(parts.now);
  }

  get capacity(): number {
    return Math.max(1, this.#able().length) * unitsPerWorker;
  }

  /** Number of living workers that are able to process this run. */
  get alive(): number {
    return this.#able().length;
  }

  /** Number of units that are not finished. */
  get openUnits(): number {
    return this.#units.size;
  }

  /**
   * Makes this process the coordinator of the run. Throws an AutomateError (`output-exists`) if another living process is already the run's
   * coordinator.
   */
  async begin(): Promise<void> {
    await this.#claim();
    const { redis } = this.#parts;
    const subscriber = redis.duplicate();
    this.#subscriber = subscriber;
    subscriber.on('message', () => void this.#takeAll());
    await redis.insist(() => subscriber.subscribe(this.#keys.more));
    if (this.#options.takesOldResults) await this.#takeAll();
    this.#beat = setInterval(() => void this.#look(), beatMs);
    await this.#look();
  }

  listen(listener: UnitListener): void {
    this.#listener = listener;
  }

  put(unit: Unit): void {
    const open = { unit, left: new Set(unit.items.keys()) };
    this.#units.set(unit.id, open);
    const early: (readonly [number, ArrivedResult])[] = [];
    for (const [index, { number }] of unit.items.entries()) {
      this.#unitOf.set(number, [unit.id, index]);
      const result = this.#early.get(number);
      if (result) early.push([index, result]);
      this.#early.delete(number);
    }
    for (const [index, result] of early) this.#finish(open, index, result);
    if (open.left.size > 0) void this.#send(open);
  }

  tell(closing: Closing): void {
    this.#closing = closing;
    this.#tellAll({ kind: 'closing', ...closing });
    void this.#note({ closing: this.#sealed(closing, 'closing') });
    if (closing.phase === 'stopped') this.#leaveAll();
    else if (!this.#hasWorker()) void this.#leaveWithoutWorker();
  }

  end(): void {
    // The workers are not told that the input has ended, because they process units of all runs.
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isEnding = true;
    await this.#endWorkers();
    this.#isClosed = true;
    clearInterval(this.#beat);
    for (const { number } of this.#workers.values()) this.#options.desk.lost(number);
    this.#arrivals.clear();
    for (const result of this.#early.values()) discard(result);
    await this.#removeKeys();
    this.#subscriber?.disconnect();
  }

  /** Ends the run early, because none of the workers can process it. */
  closeEarly(closing: Closing): void {
    this.#listener?.closing(closing);
  }

  /** Stops coordinating the run, but leaves it in Redis. */
  drop(): void {
    this.#isClosed = true;
    clearInterval(this.#beat);
    this.#subscriber?.disconnect();
  }

  async #claim(): Promise<void> {
    const { redis, keys, seal, now } = this.#parts;
    const { run, facts, manifest } = this.#options;
    const started = now();
    let [dead, deadSeen] = ['', ''];
    for (;;) {
      const about = ['gen', this.#gen, 'fingerprint', seal.fingerprint, ...Object.entries(facts).flat()];
      const args = [this.#token, dead, String(keptSeconds), run, ...about];
      const found = (await redis.insist(() => redis.client.eval(claimScript, 2, this.#keys.run, keys.runs, ...args))) as string[];
      if (found[0] === 'ours') {
        this.#hasOldUnits ||= found[1] !== '';
        break;
      }
      const [token = '', seen = ''] = found;
      if (seen !== deadSeen && deadSeen !== '') throw new AutomateError('output-exists', 'another process is the coordinator of this run');
      deadSeen = seen;
      if ((await this.#isDeadHere()) || now() - started > deadMs) dead = token;
      else await new Promise((resolve) => setTimeout(resolve, 2 * beatMs));
    }
    const text = this.#sealed(manifest, 'manifest');
    await redis.insist(() => redis.client.set(this.#keys.manifest, text, 'EX', keptSeconds));
  }

  /** Returns true if the coordinator that Redis lists for the run was a process on this machine that no longer exists. */
  async #isDeadHere(): Promise<boolean> {
    const { redis } = this.#parts;
    const [host, pid] = await redis.insist(() => redis.client.hmget(this.#keys.run, 'host', 'pid'));
    return host === this.#options.facts.host && Number(pid) > 0 && Number(pid) !== process.pid && !isAlive(Number(pid));
  }

  async #send({ unit, left }: OpenUnit): Promise<void> {
    const { redis, jobs } = this.#parts;
    const { run, isTable } = this.#options;
    const name = this.#nameOf(unit);
    const items = unit.items.filter((_, index) => left.has(index));
    const text = this.#parts.seal.seal(unitText({ id: unit.id, items }, [...left], isTable), `${run} in ${name}`);
    await redis.insist(() => redis.client.set(this.#keys.records(name), text, 'EX', keptSeconds));
    if (this.#units.has(unit.id)) await jobs.put({ run, unit: name });
  }

  /**
   * Puts all open units into the queue again. This is necessary if Redis has lost the run, or if a unit or message cannot be read.
   * `isEmpty` is true if Redis has lost the whole run.
   */
  async #putAgain(isEmpty = false): Promise<void> {
    const now = this.#parts.now();
    if (this.#isClosed || now - this.#putAgainMs < againMs) return;
    this.#putAgainMs = now;
    if (isEmpty) this.#options.emptied();
    this.#hasOldUnits = true;
    this.#gen = newGen();
    this.#gens.add(this.#gen);
    for (const { number } of this.#workers.values()) this.#options.desk.lost(number);
    this.#workers.clear();
    await this.#claim();
    if (this.#closing) await this.#note({ closing: this.#sealed(this.#closing, 'closing') });
    for (const open of this.#units.values()) void this.#send(open);
  }

  async #look(): Promise<void> {
    const { redis, keys } = this.#parts;
    if (this.#isClosed || redis.isAway) return;
    try {
      const counts = JSON.stringify(this.#options.counts());
      const isOurs = await redis.heartbeat(() =>
        redis.client.eval(seenScript, 2, this.#keys.run, this.#keys.results, this.#token, 'counts', counts),
      );
      if (this.#isClosed) return;
      if (isOurs === 0) {
        const token = await redis.client.hget(this.#keys.run, 'token');
        if (token === null) return void (await this.#putAgain(true));
        if (token !== this.#token)
          return this.#fail(new AutomateError('output-exists', 'another process has become the coordinator of this run'));
      }
      this.#see(await seenWorkers(redis, keys));
      await this.#takeAll();
    } catch {
      // Redis is unreachable or full. The next check will try again.
    }
  }

  #see(seen: readonly SeenWorker[]): void {
    const silent = new Map(seen.map((worker) => [worker.id, this.#silences.note(worker.id, worker.atUs, worker.ageMs)]));
    this.#silent = silent;
    this.#living = seen.filter(({ id, leaseMs }) => (silent.get(id) ?? 0) < leaseMs);
    this.#most();
    const living = new Set(this.#living.map(({ id }) => id));
    for (const [id, { number, hasEnded }] of this.#workers) {
      if (living.has(id)) continue;
      // A worker that exits normally removes its status from Redis. If the status is still there, the worker was lost.
      if (silent.has(id) && !hasEnded) this.lost++;
      this.#options.desk.lost(number);
      this.#workers.delete(id);
    }
    if (!this.#isEnding) this.#options.looked(this.#living);
  }

  #hasWorker(): boolean {
    return this.#able().length + this.#workers.size > 0;
  }

  /** Leaves all units if there is no worker: then no record is in progress that could still finish. Looks for new workers first. */
  async #leaveWithoutWorker(): Promise<void> {
    await this.#look();
    if (!this.#hasWorker() && !this.#parts.redis.isAway) this.#leaveAll();
  }

  #most(): void {
    this.most = Math.max(this.most, this.#able().length);
  }

  #able(): readonly SeenWorker[] {
    const { run } = this.#options;
    return this.#living.filter(({ problems }) => !problems.some((problem) => problem.run === run));
  }

  /**
   * Processes the messages from workers and then removes them. If a message is read twice, it is recognized by its sequence number and
   * ignored.
   */
  async #takeAll(): Promise<void> {
    if (this.#isTaking || this.#isClosed) return;
    this.#isTaking = true;
    try {
      const { client } = this.#parts.redis;
      for (;;) {
        const messages = await client.lrangeBuffer(this.#keys.results, 0, takenAtOnce - 1);
        if (messages.length === 0 || this.#isClosed) break;
        for (const message of messages) this.#take(message);
        await client.ltrim(this.#keys.results, messages.length, -1);
      }
    } catch {
      // Redis is unreachable, or another program has replaced the list. The next check reads the messages, or puts the records again.
    } finally {
      this.#isTaking = false;
    }
  }

  #take(bytes: Buffer): void {
    const message = this.#parts.seal.unsealValue(bytes, `${this.#options.run} results`) as QueueMessage | undefined;
    if (!message) return void this.#putAgain();
    if (message.gen !== this.#gen) {
      if (message.kind === 'results') this.#takeOld(message);
      return;
    }
    const worker = this.#workerOf(message);
    if (message.seq <= worker.lastSeq) return;
    worker.lastSeq = message.seq;
    if (message.kind === 'results') this.#takeResults(worker, message);
    else if (message.kind === 'question') this.#answer(message.worker, worker, message);
    else if (message.kind === 'ended') worker.hasEnded = true;
    else if (message.kind === 'broken') this.#options.desk.lost(worker.number);
    else this.#takeUnitNews(message);
  }

  /** Processes results for units of an earlier generation. For each record, the first result is used, whatever its generation. */
  #takeOld({ worker, gen, reports, results, numbers }: Extract<QueueMessage, { kind: 'results' }>): void {
    const isOfEarlier = this.#options.takesOldResults && !this.#gens.has(gen);
    for (const report of isOfEarlier ? reports : [])
      if (report.kind !== 'closing' && report.kind !== 'error') this.#options.desk.takeEarlier(report);
    for (const [at, form] of results.entries()) {
      const result = this.#arrivals.take(`${gen} ${worker}`, form);
      if (!result) continue;
      const number = numbers[at] as number;
      const place = this.#unitOf.get(number);
      const open = place && this.#units.get(place[0]);
      if (open && place) this.#finish(open, place[1], result);
      else if (this.#options.takesOldResults && !this.#listener) this.#early.set(number, result);
      else discard(result);
    }
  }

  #takeResults({ number }: KnownWorker, { worker, gen, reports, results }: Extract<QueueMessage, { kind: 'results' }>): void {
    for (const report of reports) {
      if (report.kind === 'closing') this.#listener?.closing(report);
      else if (report.kind === 'error') this.#fail(errorOfForm(report.error));
      else this.#options.desk.take(number, report);
    }
    for (const form of results) {
      const result = this.#arrivals.take(`${gen} ${worker}`, form);
      const open = this.#units.get(form[0]);
      if (open && result) this.#finish(open, form[1], result);
      else discard(result);
    }
  }

  #takeUnitNews({ kind, unit }: Extract<QueueMessage, { unit: number }>): void {
    const open = this.#units.get(unit);
    if (!open) return;
    if (kind === 'left') this.#leave(open);
    else if (kind === 'missing') void this.#putAgain();
    else {
      const reason = { ending: 'workers-lost', message: lossText(open) } as const;
      this.#listener?.closing({ phase: 'stopped', reason });
    }
  }

  #answer(id: string, worker: KnownWorker, { id: question, question: asked }: Extract<QueueMessage, { kind: 'question' }>): void {
    const { answers } = worker;
    if (answers.has(question)) {
      const value = answers.get(question);
      if (value !== undefined) this.#tell(id, { kind: 'answer', id: question, value });
      return;
    }
    answers.set(question, undefined);
    if (answers.size > keptAnswers) answers.delete(answers.keys().next().value as number);
    void this.#options.desk.answer(worker.number, asked).then((value) => {
      answers.set(question, value);
      this.#tell(id, { kind: 'answer', id: question, value });
    }, this.#fail);
  }

  #workerOf({ worker, gen }: QueueMessage): KnownWorker {
    const found = this.#workers.get(worker);
    if (found?.gen === gen) return found;
    const known = { number: ++this.#lastWorker, gen, lastSeq: 0, hasEnded: false, answers: new Map<number, unknown>() };
    this.#workers.set(worker, known);
    return known;
  }

  #finish(open: OpenUnit, index: number, result: ArrivedResult | undefined): void {
    if (!open.left.delete(index)) {
      discard(result);
      return;
    }
    this.#unitOf.delete(open.unit.items[index]?.number as number);
    if (open.left.size === 0) this.#drop(open);
    this.#listener?.finished(open.unit.id, index, result);
  }

  #leave(open: OpenUnit): void {
    const place = { run: this.#options.run, unit: this.#nameOf(open.unit) };
    if (open.left.size > 0) this.#removals.push(this.#parts.jobs.remove(place));
    for (const index of [...open.left]) this.#finish(open, index, undefined);
  }

  /** Returns the name of a unit in Redis. */
  #nameOf({ id }: Unit): string {
    return `${this.#gen}-${id}`;
  }

  #leaveAll(): void {
    for (const open of [...this.#units.values()]) this.#leave(open);
  }

  #drop({ unit }: OpenUnit): void {
    this.#units.delete(unit.id);
    const name = this.#nameOf(unit);
    const { client } = this.#parts.redis;
    const ends = [client.del(this.#keys.records(name), this.#keys.done(name)), client.hdel(this.#keys.run, startsField(name))];
    Promise.all(ends).catch(() => undefined);
  }

  #tellAll(message: RunNews): void {
    for (const { id } of this.#living) this.#tell(id, message);
  }

  #tell(worker: string, message: RunNews): void {
    const { redis, keys, seal } = this.#parts;
    const { run } = this.#options;
    const text = JSON.stringify({ ...message, run, gen: this.#gen });
    redis.client.publish(keys.worker(worker), seal.seal(text, `to ${worker}`)).catch(() => undefined);
  }

  async #note(values: Readonly<Record<string, string | Buffer>>): Promise<void> {
    const { redis } = this.#parts;
    const args = Object.entries(values).flat();
    await redis.insist(() => redis.client.eval(seenScript, 2, this.#keys.run, this.#keys.results, this.#token, ...args));
  }

  #sealed(value: object, about: string): Buffer {
    return this.#parts.seal.seal(JSON.stringify(value), `${this.#options.run} ${about}`);
  }

  /**
   * Tells the workers that the run has ended. Waits until they have handed back the run's units and credits, but not longer than `endMs`,
   * and not for silent workers.
   */
  async #endWorkers(): Promise<void> {
    const { redis, now } = this.#parts;
    if (redis.isAway) return;
    const untilMs = now() + endMs;
    const late = new Promise((resolve) => setTimeout(resolve, endMs));
    // The workers are read once more, because a worker that has joined since the last check may have credits to hand back.
    const seen = async () => this.#see(await seenWorkers(redis, this.#parts.keys));
    await Promise.race([Promise.all([this.#note({ ended: '1' }), seen().catch(() => undefined)]), late]);
    this.#tellAll({ kind: 'end' });
    const isSilent = (id: string) => (this.#silent.get(id) ?? 0) > silentMs;
    const isOpen = () => this.#living.some(({ id }) => this.#workers.get(id)?.hasEnded === false && !isSilent(id));
    while (isOpen() && now() < untilMs && !redis.isAway) {
      await this.#takeAll();
      if (isOpen()) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #removeKeys(): Promise<void> {
    const { redis, keys } = this.#parts;
    if (redis.isAway) return;
    const { run, manifest, results } = this.#keys;
    const { client } = redis;
    const removed = async () => {
      await client.del(run, manifest, results);
      await client.srem(keys.runs, this.#options.run);
      if (this.#hasOldUnits) await this.#removeOldUnits();
      await Promise.all(this.#removals);
    };
    await Promise.race([removed().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, endMs))]);
  }

  /** Removes the units of earlier generations from Redis. Their names are no longer known, so they are found by a pattern. */
  async #removeOldUnits(): Promise<void> {
    const { client } = this.#parts.redis;
    const { records, done } = this.#keys;
    // The braces in the keys' prefix are literal characters, because they have no special meaning in Redis' patterns.
    for (const match of [records('*'), done('*')])
      for await (const found of client.scanStream({ match, count: 1000 })) {
        const names = found as string[];
        if (names.length > 0) await client.del(...names);
      }
  }

  readonly #fail = (error: unknown) => {
    if (this.#isClosed || this.#isEnding) return;
    this.drop();
    this.#listener?.failed(error);
  };
}

function newGen(): string {
  return randomUUID().slice(0, 8);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
