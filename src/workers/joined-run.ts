import type { ErrorDetails } from '../core/error-code.ts';
import { AutomateError, FlowError } from '../core/failure.ts';
import type { Clock } from '../core/ports.ts';
import { version } from '../core/version.ts';
import type { Gates } from '../engine/gates.ts';
import type { Closing, StopReason } from '../engine/phase.ts';
import type { FollowedFlow, Metrics } from '../run/metrics.ts';
import { checkedManifest, maxManifestBytes, queueNeed } from './manifest.ts';
import type { OpenQueue } from './open-queue.ts';
import { isUnit, type ResultForm, type UnitItem, unitItems } from './processes/wire-form.ts';
import { ifForeign } from './queue/connection.ts';
import type { RunKeys } from './queue/queue-keys.ts';
import { QueueLink } from './queue/queue-link.ts';
import type { QueueAnswer } from './queue/queue-message.ts';
import { type FoundRun, manifestContext } from './queue/run-entry.ts';
import type { UnitEnd, UnitPlace } from './queue/unit-jobs.ts';
import type { RunProblem } from './queue/worker-signs.ts';
import { shortId } from './queue-status.ts';
import { checkSpillFile, type PreparedRun, prepareRun, WorkerRun } from './worker-run.ts';

/** If a worker cannot process a run, it checks once more after this time in ms. */
const againMs = 10_000;

/** If data of a run cannot be read, a worker checks once more after this time in ms. The coordinator repairs the data every second. */
const repairMs = 2000;

/** Maximum time in ms that a unit waits in a worker until the coordinator answers. */
const answerMs = 2000;

/** If the coordinator has not answered for this many ms, the worker reports this. */
const unansweredMs = 10_000;

/** If a worker receives no response from any server, or an unexpected error ends its work, it stays out of the run for this time in ms. */
const unableMs = 60_000;

/** The reason for which this worker leaves a run while records are open. */
type Leaving = 'stopping' | 'stale' | 'unable';

interface HeldUnit {
  readonly place: UnitPlace;
  /** The records of the unit that have no result yet, as a map from index in the unit to record number. */
  readonly left: Map<number, number>;
  end(how: UnitEnd): void;
}

interface JoinedRunOptions {
  readonly id: string;
  readonly gen: string;
  readonly flow: string;
  readonly clock: Clock;
  readonly gates: Gates;
  readonly isShown: () => boolean;
  /** Undefined if the worker serves no metrics. */
  readonly metrics?: Pick<Metrics, 'follow'>;
  say(text: string): void;
  warn(text: string): void;
  finished(records: number): void;
  /** Called if no run can go on in this worker, because its temporary files cannot be written. */
  failed(error: AutomateError): void;
}

/** A queued run from which this worker can take units. */
export class JoinedRun {
  readonly #queue: OpenQueue;
  readonly #options: JoinedRunOptions;
  readonly gen: string;
  isReady = false;
  #problem: RunProblem | undefined;
  readonly #keys: RunKeys;
  readonly #link: QueueLink;
  readonly #units = new Map<number, HeldUnit>();
  /** Units that were handed back to the queue while some of their records were open. These records can still produce results. */
  readonly #handedBack = new Map<number, HeldUnit>();
  #prepared: PreparedRun | undefined;
  #preparing: Promise<void> | undefined;
  #lookAgainMs = 0;
  #found: FoundRun | undefined;
  /** The coordinator's latest heartbeat that this worker knows of. */
  #beat = 0;
  /** True once the coordinator has answered this worker. Until then, all that Redis contains may have been recorded in an earlier run. */
  #isWelcome = false;
  #joiningMs: number | undefined;
  #welcome: () => void = () => undefined;
  readonly #welcomed = new Promise<void>((resolve) => {
    this.#welcome = resolve;
  });
  #worker: WorkerRun | undefined;
  #closing: Closing | undefined;
  #leaving: Leaving | undefined;
  /** True once this worker has printed that a finished unit was in the queue. */
  #hasSaidFinished = false;
  #hasEnded = false;
  /** Undefined if there are no metrics, or the worker has not taken a record of the run yet. */
  #followed: FollowedFlow | undefined;
  /** Credits that this worker had spent on the run when it last left the run. */
  #spent = 0;

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
      failed: (error) => this.#breakOff(error),
    });
  }

  /** True if the coordinator has said that the run has ended, or other workers continue the run. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get problem(): RunProblem | undefined {
    return this.#problem;
  }

  get beat(): number {
    return this.#beat;
  }

  /** True if a state in Redis is not older than the coordinator's answer to this worker, nor than a state that this worker has seen. */
  hears(beat: number | undefined): boolean {
    if (beat === undefined || beat < this.#beat) return false;
    this.#beat = beat;
    return this.#isWelcome;
  }

  /** If the worker could not process the run, tries once more only after a while. */
  async prepare(found: FoundRun): Promise<void> {
    this.#found = found;
    if (this.isReady || this.#hasEnded || this.#queue.now() < this.#lookAgainMs) return;
    this.#preparing ??= this.#prepare(found).finally(() => {
      this.#preparing = undefined;
    });
    await this.#preparing;
  }

  async #prepare(facts: FoundRun): Promise<void> {
    const { redis, seal } = this.#queue;
    const { id, flow, say } = this.#options;
    if (facts.version !== version)
      return this.#cannot({ code: 'version', problem: `it needs automate ${facts.version}, but this worker has ${version}` });
    if (!seal.fits(facts.fingerprint))
      return this.#cannot({
        code: 'key',
        problem: "its queue key is not the same as this worker's; set AUTOMATE_QUEUE_KEY to the same key everywhere",
      });
    if (!facts.state) return this.#cannot({ code: 'unreadable', problem: 'its state in Redis cannot be read' }, { waitMs: repairMs });
    if (!this.#isWelcome) return this.#join();
    const sealed = await redis.client.getBuffer(this.#keys.manifest).catch(ifForeign(null));
    const manifest = sealed && seal.unsealValue(sealed, manifestContext(id, this.gen), maxManifestBytes);
    if (!manifest) {
      const problem = `its manifest cannot be read, or has more than ${maxManifestBytes / 2 ** 20} MB`;
      return this.#cannot({ code: 'unreadable', problem }, { waitMs: repairMs });
    }
    this.#lookAgainMs = this.#queue.now() + againMs;
    try {
      const warn = (message: string) => this.#link.add({ kind: 'warning', message });
      this.#prepared = await prepareRun(checkedManifest(manifest, id), { warn, needOf: queueNeed });
    } catch (error) {
      if (!(error instanceof AutomateError)) return this.#breakOff(error);
      const credentials = missingIn(error);
      return this.#cannot({ code: credentials ? 'credential' : 'flow', problem: error.message, credentials });
    }
    this.#problem = undefined;
    this.isReady = true;
    say(`joined run ${shortId(id)} of ${flow}`);
  }

  /** Notes why this worker does not process the run until `waitMs` have passed. `detail` is printed here, but not published in Redis. */
  #cannot(problem: Omit<RunProblem, 'run'>, { waitMs = againMs, detail = '' } = {}): void {
    const { id, flow, warn } = this.#options;
    this.#lookAgainMs = this.#queue.now() + waitMs;
    if (problem.problem !== this.#problem?.problem) warn(`cannot process run ${shortId(id)} of ${flow}: ${problem.problem}${detail}`);
    this.#problem = { run: id, ...problem };
  }

  /** Leaves only this run, for a minute. The error is not published, because it can contain values of records. */
  #breakOff(error: unknown): void {
    // This worker must not take the records again that it hands back.
    this.isReady = false;
    const { message, stack = message } = error instanceof Error ? error : new Error(String(error));
    const known = error instanceof AutomateError ? error : undefined;
    const detail = `\n${known ? message : `this is a bug, please report it: ${stack}`}`;
    const isOfDisk = known?.kind === 'output';
    const problem = isOfDisk ? 'temporary files cannot be written' : 'an unexpected error';
    // If its disk was full, the run waits for another worker.
    const ending = isOfDisk ? undefined : 'no-workers';
    this.#cannot(
      { code: isOfDisk ? 'disk' : 'error', problem: `${problem} (shown in the worker's output)`, ending },
      { waitMs: unableMs, detail: this.#prepared?.messages.redactor.text(detail) ?? detail },
    );
    void this.leave('unable');
    this.#spent += this.#worker?.credits() ?? 0;
    this.#worker = undefined;
    this.#leaving = undefined;
    void this.#link.flush();
    this.#handBack('broken');
    void this.#link.say({ kind: 'broken' });
    // The rows of this run can have filled the disk. They are gone now.
    if (isOfDisk) checkSpillFile().catch(this.#options.failed);
  }

  /** Asks the coordinator for its welcome, which nobody can have recorded before. */
  #join(): void {
    const now = this.#queue.now();
    this.#joiningMs ??= now;
    if (now - this.#joiningMs >= unansweredMs) this.#cannot({ code: 'silent', problem: 'its coordinator does not answer' }, { waitMs: 0 });
    else this.#problem = undefined;
    this.#link.join(now);
  }

  #welcomedBy(beat: number): void {
    if (this.#isWelcome) return;
    this.#isWelcome = true;
    this.#beat = Math.max(this.#beat, beat);
    this.#lookAgainMs = 0;
    if (this.#found)
      void this.prepare(this.#found)
        .catch(() => undefined)
        .finally(this.#welcome);
  }

  /** Takes a unit from the queue and runs its records. Resolves when this worker no longer has the unit. */
  async take(place: UnitPlace): Promise<UnitEnd> {
    try {
      return await this.#take(place);
    } catch (error) {
      this.#breakOff(error);
      return 'back';
    }
  }

  async #take(place: UnitPlace): Promise<UnitEnd> {
    // While the coordinator (the process that queues the run's records) is closing a run, each unit is finished before the next one begins.
    while (this.#closing && this.#worker) await this.#worker.ended.catch(() => undefined);
    if (this.#hasEnded) return 'done';
    if (!this.#isWelcome && !this.#problem) await Promise.race([this.#welcomed, new Promise((resolve) => setTimeout(resolve, answerMs))]);
    const isOld = this.#isWelcome && !place.unit.startsWith(`${this.gen}-`);
    if (this.#hasEnded || isOld) return 'done';
    return this.#canBegin() ? this.#begin(place) : 'later';
  }

  async #begin(place: UnitPlace): Promise<UnitEnd> {
    const { redis, seal } = this.#queue;
    const number = Number(place.unit.slice(this.gen.length + 1));
    // Anybody who can write to Redis can put a unit back into the queue, so the worker asks the coordinator, which knows the open records and
    // who has them. A worker cannot tell by itself: a mark in the unit or in Redis would be put back, too.
    const [sealed, consent] = await Promise.all([
      redis.insist(() => redis.client.getBuffer(this.#keys.records(place.unit))).catch(ifForeign(null)),
      this.#link.mayBegin(number),
    ]);
    if (this.#hasEnded) return 'done';
    // Somebody has put the same unit into the queue twice.
    if (consent === 'held' || this.#units.has(number)) return 'later';
    if (!consent || !this.#canBegin()) {
      void this.#link.say({ kind: 'back', unit: number });
      return 'later';
    }
    if (consent.length === 0) {
      if (sealed) this.#sayFinished();
      return 'done';
    }
    const open = new Set(consent);
    const items = sealed && readUnit(seal.unseal(sealed, `${this.#options.id} in ${place.unit}`))?.filter(({ index }) => open.has(index));
    // Another program has removed or replaced the unit's data.
    if (!items || items.length === 0) return this.#say('missing', number);
    return new Promise((end) => {
      this.#units.set(number, { place, left: new Map(items.map((item) => [item.index, item.number])), end });
      this.#pass(items);
    });
  }

  #canBegin(): boolean {
    return this.isReady && !this.#problem && !this.#leaving;
  }

  #sayFinished(): void {
    const { id, flow, warn } = this.#options;
    if (!this.#hasSaidFinished)
      warn(`records of run ${shortId(id)} of ${flow} are in Redis again although they are finished; they are ignored`);
    this.#hasSaidFinished = true;
  }

  async #say(kind: 'missing' | 'left', unit: number): Promise<UnitEnd> {
    await this.#link.say({ kind, unit });
    return 'done';
  }

  #pass(items: readonly UnitItem[]): void {
    const prepared = this.#prepared as PreparedRun;
    this.#worker ??= this.#open(prepared);
    this.#worker.add(items);
    // While the coordinator is closing a run, a unit ends at once. Records that are still allowed to run do so, and the rest are reported
    // as unfinished.
    if (this.#closing) this.#worker.end();
  }

  #open(prepared: PreparedRun): WorkerRun {
    const { clock, gates, isShown } = this.#options;
    this.#followed ??= this.#follow(prepared);
    const worker = new WorkerRun(prepared, {
      ...{ link: this.#link, clock, gates, mayBegin: isShown },
      event: (event) => this.#followed?.add(event),
      unanswered: (reason) => this.#leaveAsUnable(reason, 'unreachable'),
      failedAlike: (reason) => this.#leaveAsUnable(reason, 'same-failure'),
    });
    worker.ended.then(() => this.#passed(worker)).catch((error: unknown) => this.#breakOff(error));
    if (this.#closing) worker.close(this.#closing);
    return worker;
  }

  #follow({ plan, messages }: PreparedRun): FollowedFlow | undefined {
    return this.#options.metrics?.follow(messages.redactor.text(plan.name), plan, {
      credits: () => this.#spent + (this.#worker?.credits() ?? 0),
      open: () => [...this.#units.values()].reduce((sum, { left }) => sum + left.size, 0),
    });
  }

  /** Stops counting the run's work when the open records have ended, so that the last figures are included. */
  #endCounts(): void {
    const ended = this.#worker?.ended.catch(() => undefined) ?? Promise.resolve();
    void ended.then(() => this.#followed?.end());
  }

  /** Leaves the run for a minute, because no server responds to this worker, or because its first records all failed in the same way. */
  #leaveAsUnable({ message, patienceMs }: StopReason, ending: 'unreachable' | 'same-failure'): void {
    if (!this.isReady) return;
    this.isReady = false;
    this.#cannot({ code: ending, problem: message, ending }, { waitMs: unableMs });
    void this.leave('unable', patienceMs);
  }

  told(message: QueueAnswer): void {
    if (!this.#link.accepts(message)) return;
    if (message.kind === 'welcome') this.#welcomedBy(message.beat);
    if (message.kind === 'answer') this.#link.answered(message.id, message.value);
    if (message.kind === 'closing') this.close(message);
    if (message.kind === 'end') void this.finish();
  }

  close(closing: Closing): void {
    if (this.#closing?.phase === closing.phase && this.#closing.reason?.before === closing.reason?.before) return;
    this.#closing = closing;
    try {
      this.#worker?.close(closing);
      this.#worker?.end();
    } catch (error) {
      this.#breakOff(error);
    }
  }

  /** Starts no further records. Resolves when the open records have been reported, and the rest have been handed back to the queue. */
  async leave(why: Leaving, patienceMs?: number): Promise<void> {
    this.#link.dropBegins();
    const worker = this.#worker;
    if (!worker || this.#leaving) return worker?.ended.catch(() => undefined);
    this.#leaving = why;
    try {
      worker.leave({ ending: 'interrupted', message: 'this worker stops', patienceMs });
    } catch (error) {
      this.#breakOff(error);
    }
    // The records are handed back at once, because other workers may already have taken them.
    if (why === 'stale') this.#handBack();
    await worker.ended.catch(() => undefined);
  }

  /** Leaves a run that other workers continue or that no longer exists. Results of open records can still be sent. */
  abandon(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#link.close();
    void this.leave('stale');
    this.#handBack();
    this.#endCounts();
  }

  /** Leaves a run whose coordinator is silent. If the coordinator comes back, the worker prepares for the run once more. */
  orphan(): void {
    this.isReady = false;
    void this.leave('stale');
  }

  /** Ends this worker's part of a run that the coordinator has finished, and releases everything that this part used. */
  async finish(): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#worker?.end();
    this.#endCounts();
    await this.#worker?.ended.catch(() => undefined);
    for (const unit of this.#units.values()) unit.end('done');
    await this.#link.say({ kind: 'ended' });
    this.#link.close();
  }

  /** The open records have ended. Hands unfinished units back or, if the run is closing, reports their records as unfinished. */
  #passed(worker: WorkerRun): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#spent += worker.credits();
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

  /**
   * Hands all units back to the queue. Their coordinator is told before another worker can get them. If an error ended the work, it is told
   * afterwards: the attempt still counts as a start of each unit, because a unit may have caused the error.
   */
  #handBack(why?: 'broken'): void {
    for (const [number, unit] of [...this.#units]) {
      this.#units.delete(number);
      this.#handedBack.set(number, unit);
      if (why === 'broken' || this.#hasEnded) unit.end('back');
      else void this.#link.say({ kind: 'back', unit: number }).then(() => unit.end('back'));
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

function readUnit(text: string | undefined): UnitItem[] | undefined {
  try {
    return text !== undefined && isUnit(text) ? unitItems(text) : undefined;
  } catch {
    return undefined;
  }
}

/** Names of missing credentials. Empty if the error reports only unusable ones, such as expired; undefined for a different cause. */
function missingIn(error: Error): string[] | undefined {
  if (!(error instanceof FlowError) || error.kind !== 'credential') return undefined;
  return error.problems.flatMap(({ details }) => {
    const { credential, remedy } = (details ?? {}) as Partial<ErrorDetails['credential']>;
    return credential === undefined || remedy !== 'store' ? [] : [credential];
  });
}
