import { createHash, randomUUID } from 'node:crypto';
import * as z from 'zod';
import { AutomateError } from '../../core/failure.ts';
import type { Closing } from '../../engine/phase.ts';
import { ifForeign, type QueueRedis } from './connection.ts';
import { keptSeconds, type QueueKeys, type RunKeys } from './queue-keys.ts';
import { closingShape, readAs } from './queue-message.ts';
import { beatScript, claimScript, expireScript, forgetScript } from './run-scripts.ts';
import type { Seal } from './seal.ts';

/** Interval in ms at which a run's coordinator updates its status in Redis and checks the workers. */
export const beatMs = 1000;

/** A coordinator counts as dead if it has not updated its status for this many ms. */
export const deadMs = 15_000;

/** The sealed state of a run, which its coordinator stores at every heartbeat. */
interface SealedRunState {
  readonly gen: string;
  /** Only ever rises, so an older state that was put back is recognized. */
  readonly beat: number;
  /** Undefined while the run is open. */
  readonly closing?: Closing;
  readonly hasEnded?: boolean;
}

const stateShape = z.object({
  gen: z.string(),
  beat: z.int().nonnegative(),
  closing: z.object(closingShape).optional(),
  hasEnded: z.boolean().optional(),
});

/** A run as Redis describes it. Only `state` is sealed: any program that can write to Redis can change the rest. */
export interface FoundRun {
  /** Undefined if the state cannot be read: it was changed, or sealed with another key. */
  readonly state: SealedRunState | undefined;
  /** The generation of the run's units, according to the unsealed part. */
  readonly gen: string;
  /** The time since the coordinator's last heartbeat, in ms of Redis' clock. */
  readonly ageMs: number;
  readonly version: string;
  readonly fingerprint: string;
  readonly flow: string;
}

/** If there is no such run, also removes it from the queue's set of runs. */
export async function findRun(redis: QueueRedis, keys: QueueKeys, seal: Seal, run: string): Promise<FoundRun | undefined> {
  const { client } = redis;
  const { run: key } = keys.run(run);
  const names = ['state', 'seen', 'gen', 'version', 'fingerprint', 'flow'];
  const [facts, time] = await Promise.all([client.hmgetBuffer(key, ...names).catch(ifForeign<(Buffer | null)[]>([])), client.time()]);
  const [state, seen, gen, version, fingerprint, flow] = facts;
  if (!state && !seen) {
    // The script looks once more, because the coordinator may be about to store the run again.
    await client.eval(forgetScript, 2, key, keys.runs, run);
    return undefined;
  }
  const ageMs = (Number(time[0]) * 1e6 + Number(time[1]) - Number(seen ?? 0)) / 1000;
  return {
    state: state ? (readAs(stateShape, seal.unsealValue(state, `${run} state`)) as SealedRunState | undefined) : undefined,
    ageMs: Number.isFinite(ageMs) ? Math.max(0, ageMs) : Number.POSITIVE_INFINITY,
    ...{ gen: String(gen ?? ''), version: String(version ?? ''), fingerprint: String(fingerprint ?? ''), flow: String(flow ?? '') },
  };
}

/** Lets Redis delete a run without a coordinator. Keys that were restored from a dump have no expiry, so they would stay forever. */
export async function expireRun({ client }: QueueRedis, { run, manifest, results, records }: RunKeys): Promise<void> {
  const expire = (names: readonly string[]) => client.eval(expireScript, names.length, ...names, keptSeconds);
  await expire([run, manifest, results]);
  for await (const names of client.scanStream({ match: records('*'), count: 1000 })) await expire(names as string[]);
}

export async function runIds({ client }: QueueRedis, { runs }: QueueKeys): Promise<string[]> {
  return client.smembers(runs).catch(ifForeign<string[]>([]));
}

/** The context to which the manifest of a run is sealed. */
export function manifestContext(run: string, gen: string): string {
  return `${run} manifest ${gen}`;
}

/** Everything that a coordinator stores about its run, except units and messages. */
export interface RunEntryOptions {
  readonly run: string;
  readonly manifest: object;
  /** Stored unencrypted: flow, version, host, pid and start time. */
  readonly facts: Readonly<Record<string, string>>;
  /** For the `status` command. Stored in Redis as JSON. */
  counts(): object;
}

/**
 * The result of a heartbeat. The run is still in Redis (`ours`), with a manifest that had to be stored again (`mended`), or Redis has lost
 * the run, has gone back to an older state of it, or lists another coordinator.
 */
export type BeatResult = 'ours' | 'mended' | 'lost' | 'older' | 'taken';

/** Each heartbeat restores the whole entry in Redis. */
export class RunEntry {
  readonly #options: RunEntryOptions;
  gen = newGen();
  closing: Closing | undefined;
  hasEnded = false;
  /** True if Redis may contain units of an earlier generation, which have to be removed. */
  hasOldUnits = false;
  readonly #redis: QueueRedis;
  readonly #queueKeys: QueueKeys;
  readonly #seal: Seal;
  readonly #now: () => number;
  readonly #keys: RunKeys;
  readonly #token = randomUUID();
  #manifest: Buffer = Buffer.alloc(0);
  #beat = 0;
  /** The last heartbeat that Redis has confirmed. */
  #confirmed = 0;

  constructor(
    parts: { readonly redis: QueueRedis; readonly keys: QueueKeys; readonly seal: Seal; now(): number },
    options: RunEntryOptions,
  ) {
    this.#options = options;
    this.#redis = parts.redis;
    this.#queueKeys = parts.keys;
    this.#seal = parts.seal;
    this.#now = parts.now;
    this.#keys = parts.keys.run(options.run);
  }

  /** The number of the last heartbeat that was sent. */
  get beat(): number {
    return this.#beat;
  }

  /** Begins a new generation of units. Throws an AutomateError (`output-exists`) if another living process is the coordinator. */
  async claim(): Promise<void> {
    const { run, manifest } = this.#options;
    this.gen = newGen();
    this.#manifest = this.#seal.seal(JSON.stringify(manifest), manifestContext(run, this.gen));
    const started = this.#now();
    let [dead, deadSeen] = ['', ''];
    for (;;) {
      const [answer = '', about = ''] = await this.#redis.insist(() => this.#sendClaim(dead));
      if (answer === 'ours') {
        this.hasOldUnits ||= about !== '';
        break;
      }
      if (about !== deadSeen && deadSeen !== '') throw new AutomateError('output-exists', 'another process is the coordinator of this run');
      deadSeen = about;
      if ((await this.#isDeadHere()) || this.#now() - started > deadMs) dead = answer;
      else await new Promise((resolve) => setTimeout(resolve, 2 * beatMs));
    }
    await this.#redis.insist(() => this.#storeManifest());
  }

  /** Shows that the coordinator is alive, and restores what Redis lacks. */
  async beatOnce(): Promise<BeatResult> {
    const { run } = this.#options;
    const beat = ++this.#beat;
    const sha = createHash('sha1').update(this.#manifest).digest('hex');
    const keys = [this.#keys.run, this.#keys.results, this.#queueKeys.runs, this.#keys.manifest];
    const args = [this.#token, keptSeconds, run, this.#confirmed, sha, ...this.#values()];
    const found = (await this.#redis.client.eval(beatScript, keys.length, ...keys, ...args)) as BeatResult | 'no-manifest';
    if (found === 'ours' || found === 'no-manifest') this.#confirmed = Math.max(this.#confirmed, beat);
    if (found !== 'no-manifest') return found;
    await this.#storeManifest();
    return 'mended';
  }

  async remove(): Promise<void> {
    const { client } = this.#redis;
    const { run, manifest, results } = this.#keys;
    await client.del(run, manifest, results);
    await client.srem(this.#queueKeys.runs, this.#options.run);
  }

  async #sendClaim(dead: string): Promise<string[]> {
    const beat = ++this.#beat;
    const args = [this.#token, dead, keptSeconds, this.#options.run, ...this.#values()];
    const found = (await this.#redis.client.eval(claimScript, 2, this.#keys.run, this.#queueKeys.runs, ...args)) as string[];
    if (found[0] === 'ours') this.#confirmed = beat;
    return found;
  }

  async #storeManifest(): Promise<void> {
    await this.#redis.client.set(this.#keys.manifest, this.#manifest, 'EX', keptSeconds);
  }

  #values(): (string | Buffer)[] {
    const { run, facts, counts } = this.#options;
    const state: SealedRunState = { gen: this.gen, beat: this.#beat, closing: this.closing, hasEnded: this.hasEnded };
    const values = {
      ...facts,
      ...{ gen: this.gen, beat: String(this.#beat), fingerprint: this.#seal.fingerprint, counts: JSON.stringify(counts()) },
      ...{ closing: this.closing?.phase ?? '', state: this.#seal.seal(JSON.stringify(state), `${run} state`) },
    };
    return Object.entries(values).flat();
  }

  /** Returns true if the coordinator that Redis lists for the run was a process on this machine that no longer exists. */
  async #isDeadHere(): Promise<boolean> {
    const [host, pid] = await this.#redis.insist(() => this.#redis.client.hmget(this.#keys.run, 'host', 'pid'));
    return host === this.#options.facts.host && Number(pid) > 0 && Number(pid) !== process.pid && !isAlive(Number(pid));
  }
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
