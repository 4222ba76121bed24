import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { AutomateError, type Failure } from '../../core/failure.ts';
import type { RowsText } from '../../core/item.ts';
import type { Closing } from '../../core/workers/closing.ts';
import type { Unit, UnitListener, Units } from '../../core/workers/workers.ts';
import { lossText, type WorkerDesk } from '../workers/pool.ts';
import { errorOfForm, resultOf, unitText } from '../workers/wire-form.ts';
import type { QueueRedis } from './connection.ts';
import { keptSeconds, type QueueKeys, type RunKeys } from './queue-keys.ts';
import type { QueueMessage, RunNews } from './queue-message.ts';
import { claimScript, seenScript } from './run-scripts.ts';
import type { Seal } from './seal.ts';
import type { UnitQueue } from './unit-jobs.ts';
import { type SeenWorker, Silences, seenWorkers } from './worker-signs.ts';

/** Units that one worker holds at a time. */
export const unitsPerWorker = 4;

/** A coordinator shows itself, and looks at its workers, this often. */
const beatMs = 1000;

/** A coordinator that is silent for this long is dead. */
export const deadMs = 15_000;

/** Messages that are taken at a time. */
const takenAtOnce = 64;

/** Everything is put again at most this often, so that foreign text in Redis cannot keep the workers busy. */
const againMs = 5000;

/** The longest wait for workers to give back what they hold of a run that has ended. */
const endMs = 5000;

/** Answers that are kept for a worker that asks again. */
const keptAnswers = 64;

/** The parts of a queue that its runs share. */
export interface QueueParts {
  readonly redis: QueueRedis;
  readonly keys: QueueKeys;
  readonly seal: Seal;
  readonly jobs: UnitQueue;
  /** Monotonic ms. */
  now(): number;
}

/** The settings of a run in a queue. */
export interface QueueRunOptions {
  readonly run: string;
  readonly manifest: object;
  /** Facts that everybody who can read Redis may know: flow, version, host, pid, started. */
  readonly facts: Readonly<Record<string, string>>;
  readonly isTable: boolean;
  /** True if results of an earlier coordinator count: each record has a number of its own. */
  readonly takesOldResults: boolean;
  readonly desk: WorkerDesk;
  /** The counts for `status`, as JSON. */
  counts(): object;
  /** Takes the workers that live, at each look. */
  looked(workers: readonly SeenWorker[]): void;
}

/** A unit that is not finished. */
interface OpenUnit {
  readonly unit: Unit;
  /** The places of the records without a result. */
  readonly left: Set<number>;
}

/** A worker that has taken part in the run, under the number by which the desk knows it. */
interface KnownWorker {
  readonly number: number;
  readonly gen: string;
  lastSeq: number;
  hasEnded: boolean;
  readonly answers: Map<number, unknown>;
}

/** The workers of a queue, as the coordinator of one run sees them. Everything that lies in Redis may be lost: open units are then put again. */
export class QueueUnits implements Units {
  most = 0;
  lost = 0;
  readonly #parts: QueueParts;
  readonly #options: QueueRunOptions;
  readonly #keys: RunKeys;
  readonly #token = randomUUID();
  readonly #silences: Silences;
  readonly #units = new Map<number, OpenUnit>();
  /** The unit of each open record, by its number. */
  readonly #unitOf = new Map<number, readonly [unit: number, index: number]>();
  /** Results of an earlier coordinator's units, by record. */
  readonly #early = new Map<number, RowsText | Failure>();
  readonly #workers = new Map<string, KnownWorker>();
  #living: readonly SeenWorker[] = [];
  #gen = newGen();
  #lastUnit = 0;
  #lastWorker = 0;
  #listener: UnitListener | undefined;
  #closing: Closing | undefined;
  #beat: NodeJS.Timeout | undefined;
  #subscriber: Redis | undefined;
  #isTaking = false;
  #isClosed = false;
  #isEnding = false;
  /** True if Redis may hold units of an earlier generation. */
  #hasOldUnits = false;
  #putAgainMs = Number.NEGATIVE_INFINITY;

  constructor(parts: QueueParts, options: QueueRunOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#keys = parts.keys.run(options.run);
    this.#silences = new Silences(parts.now);
  }

  get capacity(): number {
    return Math.max(1, this.#able().length) * unitsPerWorker;
  }

  /** The number of workers that can do the run. */
  get ableWorkers(): number {
    return this.#able().length;
  }

  /** Makes this process the coordinator of the run. Throws an AutomateError (`output-exists`) if another one lives. */
  async begin(): Promise<void> {
    await this.#claim();
    const { redis } = this.#parts;
    const subscriber = redis.duplicate();
    this.#subscriber = subscriber;
    subscriber.on('message', () => void this.#takeAll());
    await redis.insist(() => subscriber.subscribe(this.#keys.more));
    if (this.#options.takesOldResults) await this.#takeAll();
    this.#hasOldUnits = (await redis.insist(() => redis.client.exists(this.#keys.starts))) > 0;
    await redis.insist(() => redis.client.del(this.#keys.starts));
    this.#beat = setInterval(() => void this.#look(), beatMs);
    await this.#look();
  }

  listen(listener: UnitListener): void {
    this.#listener = listener;
  }

  put(unit: Unit): void {
    const open = { unit, left: new Set(unit.items.keys()) };
    this.#units.set(unit.id, open);
    this.#lastUnit = Math.max(this.#lastUnit, unit.id);
    const early: (readonly [number, RowsText | Failure])[] = [];
    for (const [index, { number }] of unit.items.entries()) {
      this.#unitOf.set(number, [unit.id, index]);
      const result = this.#early.get(number);
      if (result) early.push([index, result]);
    }
    for (const [index, result] of early) this.#finish(open, index, result);
    if (open.left.size > 0) void this.#send(open);
  }

  tell(closing: Closing): void {
    this.#closing = closing;
    this.#tellAll({ kind: 'closing', ...closing });
    void this.#note({ closing: this.#sealed(closing, 'closing') });
    if (closing.phase === 'stopped') this.#leaveAll();
  }

  end(): void {
    // Units come until the run has ended.
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isEnding = true;
    await this.#endWorkers();
    this.#isClosed = true;
    clearInterval(this.#beat);
    for (const { number } of this.#workers.values()) this.#options.desk.lost(number);
    await this.#removeKeys();
    this.#subscriber?.disconnect();
  }

  /** Ends the run early: no worker can do it. */
  closeEarly(closing: Closing): void {
    this.#listener?.closing(closing);
  }

  /** Leaves the run as it is in Redis. */
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
      if (found[0] === 'ours') break;
      const [token = '', seen = ''] = found;
      if (seen !== deadSeen && deadSeen !== '') throw new AutomateError('output-exists', 'another process is the coordinator of this run');
      deadSeen = seen;
      if ((await this.#isDeadHere()) || now() - started > deadMs) dead = token;
      else await new Promise((resolve) => setTimeout(resolve, 2 * beatMs));
    }
    const text = this.#sealed(manifest, 'manifest');
    await redis.insist(() => redis.client.set(this.#keys.manifest, text, 'EX', keptSeconds));
  }

  /** True if the coordinator in Redis was a process of this machine that has died. */
  async #isDeadHere(): Promise<boolean> {
    const { redis } = this.#parts;
    const [host, pid] = await redis.insist(() => redis.client.hmget(this.#keys.run, 'host', 'pid'));
    return host === this.#options.facts.host && Number(pid) > 0 && Number(pid) !== process.pid && !isAlive(Number(pid));
  }

  async #send({ unit, left }: OpenUnit): Promise<void> {
    const { redis, jobs } = this.#parts;
    const { run, isTable } = this.#options;
    const name = `${this.#gen}-${unit.id}`;
    const items = unit.items.filter((_, index) => left.has(index));
    const text = this.#parts.seal.seal(unitText({ id: unit.id, items }, [...left], isTable), `${run} in ${name}`);
    await redis.insist(() => redis.client.set(this.#keys.records(name), text, 'EX', keptSeconds));
    if (this.#units.has(unit.id)) await jobs.put({ run, unit: name });
  }

  /** Puts all open units again: Redis has lost them, or their results. */
  async #putAgain(): Promise<void> {
    const now = this.#parts.now();
    if (this.#isClosed || now - this.#putAgainMs < againMs) return;
    this.#putAgainMs = now;
    this.#hasOldUnits = true;
    this.#gen = newGen();
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
      const isOurs = await redis.client.eval(seenScript, 1, this.#keys.run, this.#token, 'counts', counts);
      if (this.#isClosed) return;
      if (isOurs === 0) {
        const token = await redis.client.hget(this.#keys.run, 'token');
        if (token === null) return void (await this.#putAgain());
        if (token !== this.#token)
          return this.#fail(new AutomateError('output-exists', 'another process has become the coordinator of this run'));
      }
      this.#see(await seenWorkers(redis, keys));
      await this.#takeAll();
    } catch {
      // Redis is away or full: the next look comes soon.
    }
  }

  #see(seen: readonly SeenWorker[]): void {
    const silent = new Map(seen.map((worker) => [worker.id, this.#silences.note(worker.id, worker.atUs, worker.ageMs)]));
    this.#living = seen.filter(({ id, leaseMs }) => (silent.get(id) ?? 0) < leaseMs);
    this.#most();
    const living = new Set(this.#living.map(({ id }) => id));
    for (const [id, { number, hasEnded }] of this.#workers) {
      if (living.has(id)) continue;
      // A worker that has ended in good order has removed itself.
      if (silent.has(id) && !hasEnded) this.lost++;
      this.#options.desk.lost(number);
      this.#workers.delete(id);
    }
    this.#options.looked(this.#living);
  }

  #most(): void {
    this.most = Math.max(this.most, this.#able().length);
  }

  #able(): readonly SeenWorker[] {
    const { run } = this.#options;
    return this.#living.filter(({ problems }) => !problems.some((problem) => problem.run === run));
  }

  /** Takes the messages that wait. They are removed once they are taken: one that comes twice is known by its number. */
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
      // Redis is away: the next look takes them.
    } finally {
      this.#isTaking = false;
    }
  }

  #take(bytes: Buffer): void {
    const text = this.#parts.seal.unseal(bytes, `${this.#options.run} results`);
    if (text === undefined) return void this.#putAgain();
    const message = JSON.parse(text) as QueueMessage;
    const isCurrent = message.gen === this.#gen;
    if (!isCurrent) {
      if (message.kind === 'results') this.#takeOld(message);
      return;
    }
    const worker = this.#workerOf(message);
    if (message.seq <= worker.lastSeq) return;
    worker.lastSeq = message.seq;
    if (message.kind === 'results') this.#takeResults(worker, message);
    else if (message.kind === 'question') this.#answer(message.worker, worker, message);
    else if (message.kind === 'ended') worker.hasEnded = true;
    else this.#takeUnitNews(message);
  }

  /** Takes results of units of an earlier generation: the first result of a record counts, whoever has asked for it. */
  #takeOld({ results, numbers }: Extract<QueueMessage, { kind: 'results' }>): void {
    for (const [at, form] of results.entries()) {
      const number = numbers[at] as number;
      const place = this.#unitOf.get(number);
      const open = place && this.#units.get(place[0]);
      if (open && place) this.#finish(open, place[1], resultOf(form));
      else if (this.#options.takesOldResults && !this.#listener) this.#early.set(number, resultOf(form));
    }
  }

  #takeResults({ number }: KnownWorker, { reports, results }: Extract<QueueMessage, { kind: 'results' }>): void {
    for (const report of reports) {
      if (report.kind === 'closing') this.#listener?.closing(report);
      else if (report.kind === 'error') this.#fail(errorOfForm(report.error));
      else this.#options.desk.take(number, report);
    }
    for (const form of results) {
      const open = this.#units.get(form[0]);
      if (open) this.#finish(open, form[1], resultOf(form));
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

  #finish(open: OpenUnit, index: number, result: RowsText | Failure | undefined): void {
    if (!open.left.delete(index)) return;
    this.#unitOf.delete(open.unit.items[index]?.number as number);
    if (open.left.size === 0) this.#drop(open);
    this.#listener?.finished(open.unit.id, index, result);
  }

  #leave(open: OpenUnit): void {
    for (const index of [...open.left]) this.#finish(open, index, undefined);
  }

  #leaveAll(): void {
    for (const open of [...this.#units.values()]) this.#leave(open);
  }

  #drop({ unit }: OpenUnit): void {
    this.#units.delete(unit.id);
    const name = `${this.#gen}-${unit.id}`;
    const { client } = this.#parts.redis;
    client.del(this.#keys.records(name), this.#keys.done(name)).catch(() => undefined);
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
    await redis.insist(() => redis.client.eval(seenScript, 1, this.#keys.run, this.#token, ...args));
  }

  #sealed(value: object, about: string): Buffer {
    return this.#parts.seal.seal(JSON.stringify(value), `${this.#options.run} ${about}`);
  }

  /** Tells the workers that the run has ended, and waits for what they give back. */
  async #endWorkers(): Promise<void> {
    const { redis, now } = this.#parts;
    if (redis.isAway) return;
    const untilMs = now() + endMs;
    await Promise.race([this.#note({ ended: '1' }), new Promise((resolve) => setTimeout(resolve, endMs))]);
    this.#tellAll({ kind: 'end' });
    const isOpen = () => this.#living.some(({ id }) => this.#workers.get(id)?.hasEnded === false);
    while (isOpen() && now() < untilMs && !redis.isAway) {
      await this.#takeAll();
      if (isOpen()) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #removeKeys(): Promise<void> {
    const { redis, keys } = this.#parts;
    if (redis.isAway) return;
    const { run, manifest, results, starts } = this.#keys;
    const { client } = redis;
    const removed = async () => {
      await client.del(run, manifest, results, starts);
      await client.srem(keys.runs, this.#options.run);
      if (this.#hasOldUnits) await this.#removeOldUnits();
    };
    await Promise.race([removed().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, endMs))]);
  }

  /** Removes the units of earlier generations, whose names nobody knows any more. */
  async #removeOldUnits(): Promise<void> {
    const { client } = this.#parts.redis;
    const { records, done } = this.#keys;
    // The braces of the prefix are no pattern.
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
