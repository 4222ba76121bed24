import type { Redis, RedisOptions } from 'ioredis';
import { AutomateError, invalidOption } from '../../core/failure.ts';
import { withDefaultAuthorities } from '../http/authorities.ts';
import { failureOf } from '../http/error.ts';
import { formatQueueUrl, isOnThisMachine, type QueueAddress } from './queue-url.ts';
import { refuseUnsafe } from './redis-info.ts';

/** The settings of a connection to Redis. */
export interface RedisSettings {
  readonly password?: string | undefined;
  /** Certificate authorities to trust besides the default ones, PEM. */
  readonly cacert?: string | undefined;
  /** True if a queue key seals what lies in Redis. */
  readonly isSealed: boolean;
  /** The longest wait for Redis at the start. */
  readonly deadlineMs?: number;
}

/** Takes the news that Redis cannot be reached, or can be reached again. */
export type AwayListener = (isAway: boolean) => void;

const defaultDeadlineMs = 30_000;

/** A Redis that does not answer for this long counts as away. */
const silenceMs = 6000;
const beatMs = 2000;

/** A command that Redis cannot carry out now is sent again after this time. */
const againMs = 500;

/** The longest wait for the end of the connections. */
const closeMs = 1000;

/** Errors that pass: Redis is full, starts, cannot write its file, or was lost in the middle of a transaction. */
const passing = /^(?:OOM|LOADING|BUSY|MISCONF|READONLY|MASTERDOWN|NOREPLICAS|TRYAGAIN) |connection close/;

const refusals = /^(?:NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH|NOPERM)/;

/**
 * Connects to Redis. Throws an AutomateError (`credential`) if it cannot be reached in time, refuses the password, or is not safe for a queue.
 * `warn` takes what may lose work.
 */
export async function openRedis(address: QueueAddress, settings: RedisSettings, warn: (text: string) => void): Promise<QueueRedis> {
  if (!settings.isSealed && !isOnThisMachine(address)) throw new AutomateError('credential', noKeyText(address));
  const options = clientOptions(address, settings);
  // Loaded only here: most runs have no queue.
  const { Redis } = await import('ioredis');
  const client = new Redis(options);
  try {
    await untilReady(client, address, settings);
    await refuseUnsafe(client, formatQueueUrl(address), warn);
    return new QueueRedis(client);
  } catch (error) {
    endNow(client);
    throw error;
  }
}

/** The connections of this process to one Redis. They come back by themselves, and commands wait for them. */
export class QueueRedis {
  readonly client: Redis;
  readonly #others = new Set<Redis>();
  readonly #listeners = new Set<AwayListener>();
  readonly #beat: NodeJS.Timeout;
  #isAway = false;
  #isClosed = false;
  /** The time of the first command that Redis has not answered; undefined if it has answered all. */
  #unansweredMs: number | undefined;

  constructor(client: Redis) {
    this.client = client;
    client.on('close', () => this.#note(true));
    client.on('connect', () => {
      this.#unansweredMs = performance.now();
    });
    client.on('ready', () => this.#note(false));
    this.#beat = setInterval(() => this.#listen(), beatMs).unref();
  }

  /** True while Redis cannot be reached. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Calls the listener each time that Redis goes away or comes back. */
  onAway(listener: AwayListener): void {
    this.#listeners.add(listener);
  }

  /** Another connection, for commands that wait or subscribe. It ends at once with this one. */
  duplicate(options: Parameters<Redis['duplicate']>[0] = {}): Redis {
    const other = this.client.duplicate(options);
    other.on('error', () => undefined);
    other.on('end', () => this.#others.delete(other));
    this.#others.add(other);
    return other;
  }

  /**
   * Carries out a command. While Redis is away, full or starting, it waits and tries again, so a command may be carried out twice. Never
   * resolves once the connections are closed. Throws every other error.
   */
  async insist<Result>(command: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await command();
      } catch (error) {
        if (this.#isClosed) return new Promise(() => undefined);
        // An error of the connection itself, such as a password that has changed, rejects all commands that wait.
        if (this.client.status === 'ready' && !passing.test((error as Error).message)) throw error;
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
  }

  /** Closes all connections, the first one after its commands under way if they end within a second. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#beat);
    this.#listeners.clear();
    for (const other of this.#others) endNow(other);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    if (this.client.status === 'ready') await Promise.race([this.client.quit().catch(() => undefined), late]);
    clearTimeout(timer);
    endNow(this.client);
  }

  #note(isAway: boolean): void {
    this.#unansweredMs = undefined;
    if (this.#isAway === isAway || this.#isClosed) return;
    this.#isAway = isAway;
    for (const listener of this.#listeners) listener(isAway);
  }

  /** Notices a Redis that is silent: a broken network does not close its connections. */
  #listen(): void {
    const { status } = this.client;
    if (status !== 'ready' && status !== 'connect') return;
    const sentMs = this.#unansweredMs;
    // An answer that has arrived is read first.
    if (sentMs !== undefined) return void setImmediate(() => this.#unansweredMs === sentMs && this.#giveUp(sentMs));
    this.#unansweredMs = performance.now();
    const answered = () => {
      this.#unansweredMs = undefined;
    };
    this.client.ping().then(answered, answered);
  }

  /** Makes new connections in place of silent ones. */
  #giveUp(sentMs: number): void {
    if (performance.now() - sentMs < silenceMs) return;
    this.#note(true);
    for (const client of [this.client, ...this.#others]) client.disconnect(true);
  }
}

/** Closes a connection, also one to a Redis that says nothing. */
function endNow(client: Redis): void {
  client.disconnect();
  // Absent before the first connection.
  (client.stream as Redis['stream'] | undefined)?.destroy();
}

function clientOptions(address: QueueAddress, { password, cacert }: RedisSettings) {
  const { host, port, db, user: username, isTls } = address;
  return {
    ...{ host, port, db, username, password },
    tls: isTls ? tlsOptions(cacert) : undefined,
    connectionName: 'automate',
    maxRetriesPerRequest: null,
    retryStrategy: (times: number) => Math.min(times * 100, 2000),
    connectTimeout: 5000,
    disconnectTimeout: 100,
    maxLoadingRetryTime: 1000,
    keepAlive: 10_000,
  } as const satisfies RedisOptions;
}

function tlsOptions(cacert: string | undefined): NonNullable<RedisOptions['tls']> {
  if (cacert === undefined) return { rejectUnauthorized: true };
  try {
    return { rejectUnauthorized: true, ca: withDefaultAuthorities(cacert, process.env) };
  } catch (error) {
    throw invalidOption('cacert', `the authorities for Redis cannot be used: ${(error as Error).message}`);
  }
}

/** Resolves once Redis answers. Throws an AutomateError at once for an error that stays, else after the deadline. */
function untilReady(client: Redis, address: QueueAddress, { password, deadlineMs = defaultDeadlineMs }: RedisSettings): Promise<void> {
  const url = formatQueueUrl(address);
  return new Promise((resolve, reject) => {
    let reason = 'it does not answer';
    const stop = (error: AutomateError) => {
      clearTimeout(timer);
      reject(error);
    };
    const fail = (message: string) => stop(new AutomateError('credential', message));
    const timer = setTimeout(() => fail(`Redis cannot be reached within ${deadlineMs / 1000} s: ${reason}`), deadlineMs);
    client.on('error', (error) => {
      if (/DB index/.test(error.message)) return stop(invalidOption('queue', `expected a database that ${url} has: ${error.message}`));
      if (refusals.test(error.message)) return fail(noAccessText(error, url, password !== undefined));
      if (/^Unknown RESP type/.test(error.message)) return fail(`${url} does not answer as a Redis does; is it rediss:// there?`);
      const failure = failureOf(error, { origin: url, wasSent: false });
      reason = failure.message.replace('is it http:// there?', 'is it redis:// there?');
      if (failure.code === 'tls') fail(reason);
    });
    client.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function noAccessText({ message }: Error, url: string, hasPassword: boolean): string {
  if (message.startsWith('NOPERM')) return `${url} refuses what a queue needs: ${message}`;
  if (hasPassword) return `${url} refuses the password of AUTOMATE_QUEUE_PASSWORD`;
  return `${url} wants a password\nset AUTOMATE_QUEUE_PASSWORD, or AUTOMATE_QUEUE_PASSWORD_FILE to the name of a file that holds it`;
}

function noKeyText(address: QueueAddress): string {
  const set =
    'set AUTOMATE_QUEUE_KEY, or AUTOMATE_QUEUE_KEY_FILE to the name of a file that holds it: 16 characters or more, the same for all';
  return `${formatQueueUrl(address)} is on another machine, and there is no queue key to seal the records\n${set}`;
}
