import type { Redis } from 'ioredis';
import type { Closing } from '../../engine/phase.ts';
import type { Unit, UnitListener, Units } from '../../engine/unit-passage.ts';
import type { SpilledText } from '../../output/spill.ts';
import { Arrivals, type ArrivedResult, discard } from '../processes/arrivals.ts';
import { lossText } from '../processes/pool.ts';
import { errorOfForm, unitText, type WorkerReport } from '../processes/wire-form.ts';
import type { RunDesk } from '../run-desk.ts';
import type { QueueRedis } from './connection.ts';
import { keptSeconds, type QueueKeys, type RunKeys } from './queue-keys.ts';
import { type Consent, type QueueMessage, type RunNews, readMessage } from './queue-message.ts';
import { type BeatResult, beatMs, RunEntry, type RunEntryOptions } from './run-entry.ts';
import type { Seal } from './seal.ts';
import type { UnitQueue } from './unit-jobs.ts';
import { type SeenWorker, Silences, seenWorkers } from './worker-signs.ts';

/** Maximum number of units (groups of records) that one worker processes at a time. */
export const unitsPerWorker = 4;

const takenAtOnce = 64;

/** Between two rounds of putting all open units into the queue. Otherwise, unreadable data could keep the workers busy forever. */
const againMs = 5000;

/** A unit without a result for this many ms is looked for in the queue. */
const quietMs = 5000;

/** Checks in a row in which a unit has to be missing. Once, it may have just moved, or its last results are still unread. */
const maxMisses = 2;

/**
 * A unit that BullMQ has given to a worker, but that no living worker has, is put into the queue again after this time in ms. Usually, BullMQ
 * does this itself when the lock of the unit's job expires. Another program may have changed the lock, so that it never expires.
 */
const stuckMs = 60_000;

/** Interval in ms at which the run reports that no record has finished. */
const standingMs = 30_000;

/** At the end of a run, a worker that has not updated its status for this many ms is not waited for. */
const silentMs = 3000;

/** Maximum wait in ms until the workers have handed back the credits and units of a run that has ended. */
const endMs = 5000;

/** Kept for each worker, because a worker repeats its question if it has not received the answer. */
const keptAnswers = 64;

/** Number of times that a unit may be begun without any result. After that, it ends the run, because it probably crashes the workers. */
const maxStarts = 3;

interface QueueParts {
  readonly redis: QueueRedis;
  readonly keys: QueueKeys;
  readonly seal: Seal;
  readonly jobs: UnitQueue;
  /** Monotonic time in ms. */
  now(): number;
}

interface QueueRunOptions extends RunEntryOptions {
  readonly hasHeader: boolean;
  /** Uses results for an earlier coordinator of the run. Every record must then have a unique number. */
  readonly takesOldResults: boolean;
  readonly desk: Pick<RunDesk, 'answer' | 'take' | 'takeEarlier' | 'lost'>;
  newText(): SpilledText;
  warn(text: string): void;
  /** Called with the predicate of a sentence about Redis, such as `has lost its data`. */
  troubled(problem: string): void;
  looked(workers: readonly SeenWorker[]): void;
}

interface QueueUnit {
  readonly unit: Unit;
  readonly left: Set<number>;
  /** The time in monotonic ms of the unit's last result, or at which it was put into the queue; undefined until then. */
  quietSinceMs: number | undefined;
  /** Number of checks in a row that have not found the unit in the queue. */
  misses: number;
  /** The nonce of the worker that may process the unit; undefined if no living worker has it. */
  holder: string | undefined;
  /** Number of times that the unit was begun since it last had a result. */
  starts: number;
}

/** The part of an open unit that depends on the queue, in a unit that no worker has. */
const unheld = { quietSinceMs: undefined, misses: 0, holder: undefined, starts: 0 };

interface KnownWorker {
  readonly id: string;
  readonly number: number;
  hasEnded: boolean;
  readonly answers: Map<number, unknown>;
}

/** The reason for putting all open units into the queue again. */
type Loss = Exclude<BeatResult, 'ours' | 'mended'> | 'units';

const lossTexts: Readonly<Record<Loss, string>> = {
  lost: 'has lost its data',
  older: 'has lost its newest data',
  taken: 'contains this run as it was under an earlier process',
  units: 'lacks records of this run, or has changed ones',
};

/** A result of an earlier coordinator's worker, and the worker's nonce. */
interface EarlyResult {
  readonly nonce: string;
  readonly result: ArrivedResult;
}

/** If Redis loses data, the coordinator puts all open units into the queue again. */
export class QueueUnits implements Units {
  readonly #parts: QueueParts;
  readonly #options: QueueRunOptions;
  most = 0;
  lost = 0;
  readonly #keys: RunKeys;
  readonly #entry: RunEntry;
  readonly #silences: Silences;
  readonly #units = new Map<number, QueueUnit>();
  /** The unit of each unfinished record and the record's position in that unit, keyed by the record's number. */
  readonly #unitOf = new Map<number, readonly [unit: number, index: number]>();
  /** Results that workers have computed for an earlier coordinator of this run, keyed by the record's number. */
  readonly #early = new Map<number, EarlyResult>();
  /** Reports of earlier workers, keyed by nonce. They count once a result of the same worker is used. */
  readonly #earlyReports = new Map<string, WorkerReport[]>();
  readonly #arrivals: Arrivals;
  /** The workers that have joined this generation, keyed by nonce. */
  readonly #workers = new Map<string, KnownWorker>();
  /** The number of the last message with each nonce. Never shortened, so that no message is ever processed twice. */
  readonly #lastSeqs = new Map<string, number>();
  readonly #said = new Set<string>();
  #living: readonly SeenWorker[] = [];
  /** For how many ms each worker has been silent, keyed by its id. */
  #silent: ReadonlyMap<string, number> = new Map();
  readonly #gens = new Set<string>();
  #lastWorker = 0;
  #listener: UnitListener | undefined;
  #beat: NodeJS.Timeout | undefined;
  #subscriber: Redis | undefined;
  #taking: Promise<void> | undefined;
  #isChecking = false;
  #isClosed = false;
  #isEnding = false;
  #isPuttingAgain = false;
  #putAgainMs = Number.NEGATIVE_INFINITY;
  /** The time in monotonic ms at which the last record finished, or the run last reported that none finishes. */
  #finishedMs: number;
  /** The removals of units that were left unfinished. The units may still wait in the queue, if no worker has taken them. */
  readonly #removals: Promise<void>[] = [];

  constructor(parts: QueueParts, options: QueueRunOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#arrivals = new Arrivals(() => options.newText());
    this.#keys = parts.keys.run(options.run);
    this.#entry = new RunEntry(parts, options);
    this.#silences = new Silences(parts.now);
    this.#finishedMs = parts.now();
  }

  get capacity(): number {
    return Math.max(1, this.#able().length) * unitsPerWorker;
  }

  get alive(): number {
    return this.#able().length;
  }

  get openUnits(): number {
    return this.#units.size;
  }

  /** Throws an AutomateError (`output-exists`) if another living process is already the run's coordinator. */
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
    const open: QueueUnit = { unit, left: new Set(unit.items.keys()), ...unheld };
    if (this.#units.size === 0) this.#finishedMs = this.#parts.now();
    this.#units.set(unit.id, open);
    const early: (readonly [number, EarlyResult])[] = [];
    for (const [index, { number }] of unit.items.entries()) {
      this.#unitOf.set(number, [unit.id, index]);
      const result = this.#early.get(number);
      if (result) early.push([index, result]);
      this.#early.delete(number);
    }
    for (const [index, { nonce, result }] of early) {
      this.#countEarlier(nonce);
      this.#finish(open, index, result);
    }
    if (open.left.size > 0) void this.#send(open).catch(this.#fail);
  }

  tell(closing: Closing): void {
    this.#entry.closing = closing;
    this.#tellAll({ kind: 'closing', ...closing });
    void this.#show().catch(this.#fail);
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
    for (const { result } of this.#early.values()) discard(result);
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
    await this.#entry.claim();
    this.#gens.add(this.#entry.gen);
  }

  async #send(open: QueueUnit): Promise<void> {
    const { redis, jobs, now } = this.#parts;
    const { run, hasHeader } = this.#options;
    const { unit, left } = open;
    const name = this.#nameOf(unit);
    const items = unit.items.filter((_, index) => left.has(index));
    const text = this.#parts.seal.seal(unitText({ id: unit.id, items }, [...left], hasHeader), `${run} in ${name}`);
    await redis.insist(() => redis.client.set(this.#keys.records(name), text, 'EX', keptSeconds));
    if (!this.#units.has(unit.id)) return;
    await jobs.put({ run, unit: name });
    if (name === this.#nameOf(unit)) open.quietSinceMs = now();
  }

  /** Begins a new generation, because Redis has lost or changed something that the run needs. */
  async #putAgain(why: Loss): Promise<void> {
    const now = this.#parts.now();
    if (this.#isClosed || this.#isEnding || this.#isPuttingAgain || now - this.#putAgainMs < againMs) return;
    this.#putAgainMs = now;
    this.#isPuttingAgain = true;
    try {
      this.#options.troubled(`${lossTexts[why]}; the open records of this run are queued again`);
      this.#entry.hasOldUnits = true;
      for (const { number } of this.#workers.values()) this.#options.desk.lost(number);
      this.#workers.clear();
      for (const open of this.#units.values()) Object.assign(open, unheld);
      await this.#claim();
      await Promise.all([...this.#units.values()].map((open) => this.#send(open)));
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isPuttingAgain = false;
    }
  }

  async #look(): Promise<void> {
    const { redis } = this.#parts;
    // While Redis is unreachable, this is reported anyway.
    if (redis.isAway) this.#finishedMs = this.#parts.now();
    if (this.#isClosed || redis.isAway) return;
    try {
      const found = await redis.heartbeat(() => this.#entry.beatOnce());
      if (this.#isClosed) return;
      if (found === 'mended') this.#options.troubled('has lost or changed the description of this run; it is stored again');
      else if (found !== 'ours') return void this.#putAgain(found);
      this.#see(await this.#seen());
      await this.#takeAll();
      await this.#checkQueue();
    } catch (error) {
      // Redis is unreachable or full, or refuses something for good. The next check tries again.
      if (!redis.isAway && redis.client.status === 'ready') this.#say(`refuses a command: ${(error as Error).message}`);
    }
  }

  #seen(): Promise<SeenWorker[]> {
    return seenWorkers(this.#parts, (id) => this.#say(`contains a status of the worker "${id}" that cannot be read; it is ignored`));
  }

  #say(text: string): void {
    if (this.#said.has(text)) return;
    this.#said.add(text);
    this.#options.troubled(text);
  }

  /** Checks the queue, unless a check is in progress: a unit that is missing must be missing in two checks, one after the other. */
  async #checkQueue(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      await this.#parts.jobs.putDue();
      await this.#checkUnits();
    } finally {
      this.#isChecking = false;
    }
  }

  /** Puts the open units into the queue again if the queue lacks one of them. Reports if no record finishes. */
  async #checkUnits(): Promise<void> {
    const { jobs, now } = this.#parts;
    const { run } = this.#options;
    const nowMs = now();
    // Without a worker, the run reports what it waits for anyway.
    if (this.#able().length === 0) this.#finishedMs = nowMs;
    const isStanding = this.#units.size > 0 && nowMs - this.#finishedMs >= standingMs;
    const isQuiet = ({ quietSinceMs = nowMs }: QueueUnit) => nowMs - quietSinceMs >= quietMs;
    const units = [...this.#units.values()].filter((open) => isStanding || isQuiet(open));
    if (units.length === 0) return;
    const names = units.map(({ unit }) => this.#nameOf(unit));
    const states = await jobs.statesOf(names.map((unit) => ({ run, unit, records: this.#keys.records(unit) })));
    for (const [at, open] of units.entries()) open.misses = states[at] === 'missing' && isQuiet(open) ? open.misses + 1 : 0;
    if (units.some(({ unit, misses }) => misses >= maxMisses && this.#units.has(unit.id))) return void this.#putAgain('units');
    const isStuck = ({ holder, quietSinceMs = nowMs }: QueueUnit) => holder === undefined && nowMs - quietSinceMs >= stuckMs;
    await this.#putStuck(units.filter((open, at) => states[at] === 'active' && isStuck(open)));
    if (!isStanding) return;
    this.#finishedMs = nowMs;
    const count = (wanted: string) => states.filter((state) => state === wanted).length;
    const where = `${count('active')} of its units are with workers, and ${count('waiting')} wait for one`;
    this.#options.warn(`no record of this run has finished for ${standingMs / 1000} s: ${where}`);
  }

  /** Under their names. A worker that has one after all still needs this coordinator's consent, so no unit is processed twice. */
  async #putStuck(units: readonly QueueUnit[]): Promise<void> {
    for (const open of units) {
      this.#say('contains records as if a worker had them, but no worker has them; they are queued again');
      open.quietSinceMs = this.#parts.now();
      await this.#parts.jobs.putAgain({ run: this.#options.run, unit: this.#nameOf(open.unit) });
    }
  }

  #see(seen: readonly SeenWorker[]): void {
    const silent = new Map(seen.map((worker) => [worker.id, this.#silences.note(worker.id, worker.atUs, worker.ageMs)]));
    this.#silent = silent;
    this.#living = seen.filter(({ id, leaseMs }) => (silent.get(id) ?? 0) < leaseMs);
    this.#most();
    const living = new Set(this.#living.map(({ id }) => id));
    for (const [nonce, { id, number, hasEnded }] of this.#workers) {
      if (living.has(id)) continue;
      // A worker that exits normally removes its status from Redis. If the status is still there, the worker was lost.
      if (silent.has(id) && !hasEnded) this.lost++;
      this.#lose(nonce, number);
      this.#workers.delete(nonce);
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

  /** Processes all messages from workers. Resolves once they are processed, even if this is already in progress. */
  #takeAll(): Promise<void> {
    this.#taking ??= this.#takeMessages().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  /** Removes messages after processing. A message that is read twice is recognized by its sequence number and ignored. */
  async #takeMessages(): Promise<void> {
    const { client } = this.#parts.redis;
    try {
      while (!this.#isClosed) {
        const messages = await client.lrangeBuffer(this.#keys.results, 0, takenAtOnce - 1);
        if (messages.length === 0 || this.#isClosed) return;
        for (const message of messages) this.#takeOrFail(message);
        await client.ltrim(this.#keys.results, messages.length, -1);
      }
    } catch {
      // Redis is unreachable, or another program has replaced the list. The next check reads the messages, or puts the records again.
    }
  }

  /** Processes a message. An error in it is a bug and ends the run, unlike the errors of Redis. */
  #takeOrFail(bytes: Buffer): void {
    try {
      this.#take(bytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  #take(bytes: Buffer): void {
    const message = readMessage(this.#parts.seal.unsealValue(bytes, `${this.#options.run} results`));
    // If it was a worker's message, its records are missed later and put into the queue again.
    if (!message) return void this.#say('contains messages to this run that cannot be read; they are ignored');
    const { nonce, seq } = message;
    if (seq <= (this.#lastSeqs.get(nonce) ?? 0)) return;
    this.#lastSeqs.set(nonce, seq);
    if (message.gen !== this.#entry.gen) {
      if (message.kind === 'results') this.#takeOld(message);
      return;
    }
    if (message.kind === 'join' && this.#isEnding) return;
    const worker = this.#workerOf(message);
    if (message.kind === 'join') this.#welcome(nonce);
    else if (message.kind === 'results') this.#takeResults(worker, message);
    else if (message.kind === 'question') this.#answer(nonce, worker, message);
    else if (message.kind === 'ended') worker.hasEnded = true;
    else if (message.kind === 'broken') this.#lose(nonce, worker.number);
    else this.#takeUnitNews(message);
  }

  #welcome(nonce: string): void {
    const { beat, closing } = this.#entry;
    this.#tell(nonce, { kind: 'welcome', beat });
    if (closing) this.#tell(nonce, { kind: 'closing', ...closing });
  }

  /** Processes results for units of an earlier generation. For each record, the first result is used, whatever its generation. */
  #takeOld({ nonce, gen, reports, results, numbers }: Extract<QueueMessage, { kind: 'results' }>): void {
    if (this.#options.takesOldResults && !this.#gens.has(gen))
      this.#earlyReports.set(nonce, [...(this.#earlyReports.get(nonce) ?? []), ...reports]);
    for (const [at, form] of results.entries()) {
      const result = this.#arrivals.take(nonce, form);
      if (!result) continue;
      const number = numbers[at] as number;
      const place = this.#unitOf.get(number);
      const open = place && this.#units.get(place[0]);
      if (open && place) {
        this.#countEarlier(nonce);
        this.#finish(open, place[1], result);
      } else if (this.#options.takesOldResults && !this.#listener && !this.#early.has(number)) this.#early.set(number, { nonce, result });
      else discard(result);
    }
  }

  /** Counts what a worker of an earlier coordinator has reported, because one of its results is used now. */
  #countEarlier(nonce: string): void {
    for (const report of this.#earlyReports.get(nonce) ?? [])
      if (report.kind !== 'closing' && report.kind !== 'error') this.#options.desk.takeEarlier(report);
    this.#earlyReports.delete(nonce);
  }

  #takeResults({ number }: KnownWorker, { nonce, reports, results }: Extract<QueueMessage, { kind: 'results' }>): void {
    for (const report of reports) {
      if (report.kind === 'closing') this.#listener?.closing(report);
      else if (report.kind === 'error') this.#fail(errorOfForm(report.error));
      else this.#options.desk.take(number, report);
    }
    for (const form of results) {
      const result = this.#arrivals.take(nonce, form);
      const open = this.#units.get(form[0]);
      if (open && result) this.#finish(open, form[1], result);
      else discard(result);
    }
  }

  #takeUnitNews({ kind, unit, nonce }: Extract<QueueMessage, { unit: number }>): void {
    const open = this.#units.get(unit);
    if (!open) return;
    if (kind === 'left') this.#leave(open);
    else if (kind === 'missing') void this.#putAgain('units');
    else if (open.holder === nonce) {
      this.#release(open);
      open.starts = 0;
    }
  }

  /** Gives a unit to a worker, unless the unit is finished or another worker has it. */
  #begin(nonce: string, unit: number): Consent {
    const open = this.#units.get(unit);
    if (!open) return [];
    if (open.holder !== undefined && open.holder !== nonce) return 'held';
    if (open.holder === undefined) open.starts++;
    open.holder = nonce;
    if (open.starts <= maxStarts) return [...open.left];
    this.#listener?.closing({ phase: 'stopped', reason: { ending: 'workers-lost', message: lossText(open) } });
    return [];
  }

  #release(open: QueueUnit): void {
    open.holder = undefined;
    if (open.quietSinceMs !== undefined) open.quietSinceMs = this.#parts.now();
  }

  /** Notes that a worker has no more units of this run, and that it might have spent the credits that it still has. */
  #lose(nonce: string, number: number): void {
    for (const open of this.#units.values()) if (open.holder === nonce) this.#release(open);
    this.#options.desk.lost(number);
  }

  #answer(nonce: string, worker: KnownWorker, { id: question, question: asked }: Extract<QueueMessage, { kind: 'question' }>): void {
    if (asked.kind === 'begin') {
      this.#tell(nonce, { kind: 'answer', id: question, value: this.#begin(nonce, asked.unit) });
      return;
    }
    const { answers } = worker;
    if (answers.has(question)) {
      const value = answers.get(question);
      if (value !== undefined) this.#tell(nonce, { kind: 'answer', id: question, value });
      return;
    }
    answers.set(question, undefined);
    if (answers.size > keptAnswers) answers.delete(answers.keys().next().value as number);
    void this.#options.desk.answer(worker.number, asked).then((value) => {
      answers.set(question, value);
      this.#tell(nonce, { kind: 'answer', id: question, value });
    }, this.#fail);
  }

  #workerOf({ worker: id, nonce }: QueueMessage): KnownWorker {
    const found = this.#workers.get(nonce);
    if (found) return found;
    for (const [old, earlier] of this.#workers) {
      if (earlier.id !== id) continue;
      // A worker that joins once more hands back nothing of what it had before.
      earlier.hasEnded = true;
      this.#lose(old, earlier.number);
    }
    const known = { id, number: ++this.#lastWorker, hasEnded: false, answers: new Map<number, unknown>() };
    this.#workers.set(nonce, known);
    return known;
  }

  #finish(open: QueueUnit, index: number, result: ArrivedResult | undefined): void {
    if (!open.left.delete(index)) {
      discard(result);
      return;
    }
    const now = this.#parts.now();
    this.#finishedMs = now;
    if (open.quietSinceMs !== undefined) open.quietSinceMs = now;
    open.starts = 1;
    this.#unitOf.delete(open.unit.items[index]?.number as number);
    if (open.left.size === 0) this.#drop(open);
    this.#listener?.finished(open.unit.id, index, result);
  }

  #leave(open: QueueUnit): void {
    const place = { run: this.#options.run, unit: this.#nameOf(open.unit) };
    if (open.left.size > 0) this.#removals.push(this.#parts.jobs.remove(place));
    for (const index of [...open.left]) this.#finish(open, index, undefined);
  }

  #nameOf({ id }: Unit): string {
    return `${this.#entry.gen}-${id}`;
  }

  #leaveAll(): void {
    for (const open of [...this.#units.values()]) this.#leave(open);
  }

  #drop({ unit }: QueueUnit): void {
    this.#units.delete(unit.id);
    this.#parts.redis.client.del(this.#keys.records(this.#nameOf(unit))).catch(() => undefined);
  }

  #tellAll(message: RunNews): void {
    for (const nonce of this.#workers.keys()) this.#tell(nonce, message);
  }

  #tell(nonce: string, message: RunNews): void {
    const worker = this.#workers.get(nonce);
    if (!worker) return;
    const { redis, keys, seal } = this.#parts;
    const { run } = this.#options;
    const text = JSON.stringify({ ...message, run, gen: this.#entry.gen, nonce });
    redis.client.publish(keys.worker(worker.id), seal.seal(text, `to ${worker.id}`)).catch(() => undefined);
  }

  #show(): Promise<BeatResult> {
    return this.#parts.redis.insist(() => this.#entry.beatOnce());
  }

  /** Waits until the workers have handed back units and credits, but not longer than `endMs`, and not for silent workers. */
  async #endWorkers(): Promise<void> {
    const { redis, now } = this.#parts;
    if (redis.isAway) return;
    const untilMs = now() + endMs;
    const late = new Promise((resolve) => setTimeout(resolve, endMs));
    // The workers are read once more, because a worker that has joined since the last check may have credits to hand back.
    const seen = async () => this.#see(await this.#seen());
    this.#entry.hasEnded = true;
    await Promise.race([Promise.all([this.#show(), seen()]).catch(() => undefined), late]);
    this.#tellAll({ kind: 'end' });
    const isSilent = (id: string) => (this.#silent.get(id) ?? 0) > silentMs;
    const isOpen = () => [...this.#workers.values()].some(({ id, hasEnded }) => !hasEnded && !isSilent(id));
    while (isOpen() && now() < untilMs && !redis.isAway) {
      await this.#takeAll();
      if (isOpen()) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #removeKeys(): Promise<void> {
    if (this.#parts.redis.isAway) return;
    const removed = async () => {
      await this.#entry.remove();
      if (this.#entry.hasOldUnits) await this.#removeOldUnits();
      await Promise.all(this.#removals);
    };
    await Promise.race([removed().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, endMs))]);
  }

  /** Removes the units of earlier generations from Redis. Their names are no longer known, so they are found by a pattern. */
  async #removeOldUnits(): Promise<void> {
    const { jobs, redis } = this.#parts;
    const { client } = redis;
    // The braces in the keys' prefix are literal characters, because they have no special meaning in Redis' patterns.
    for (const match of [this.#keys.records('*'), jobs.keysOf(this.#options.run)])
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
