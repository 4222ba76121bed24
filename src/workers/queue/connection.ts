import type { Redis, RedisOptions } from 'ioredis';
import { AutomateError, invalidOption } from '../../core/failure.ts';
import { withDefaultAuthorities } from '../../http/authorities.ts';
import { failureOf } from '../../http/error.ts';
import { formatQueueUrl, type QueueAddress, refuseUnsafe } from './queue-url.ts';

export interface RedisSettings {
  readonly password?: string;
  /** Certificate authorities (PEM) that are trusted in addition to the default ones. */
  readonly cacert?: string;
  readonly deadlineMs?: number;
}

/** Redis is unreachable, or it refuses commands, for example because its memory is full. */
type RedisTrouble = { readonly kind: 'away' } | { readonly kind: 'refusing'; readonly message: string };

/** Called with undefined when the use of Redis is possible again. */
type TroubleListener = (trouble: RedisTrouble | undefined) => void;

const defaultDeadlineMs = 30_000;

/** After this many ms without a connection, a line says that automate is still trying. */
const firstWordMs = 2000;

/** Redis counts as unreachable if it has not replied for this many ms. */
const silenceMs = 6000;
const beatMs = 2000;

/** Delay in ms before a command is retried that Redis was temporarily unable to execute. */
const againMs = 500;

const closeMs = 1000;

/** Temporary errors, such as being full, starting up or read-only. Includes the loss of the connection during a transaction. */
const passing = /^(?:OOM|LOADING|BUSY|MISCONF|READONLY|MASTERDOWN|NOREPLICAS|TRYAGAIN) |connection close/;

const refusals = /^(?:NOAUTH|WRONGPASS|ERR invalid password|ERR AUTH|NOPERM)/;

/**
 * Connects to Redis. Throws an AutomateError (`credential`) if Redis cannot be reached in time, rejects the password, or is not safe for a
 * queue. `warn` is called for settings of Redis that may cause a loss of work.
 */
export async function openRedis(address: QueueAddress, settings: RedisSettings, warn: (text: string) => void): Promise<QueueRedis> {
  const options = clientOptions(address, settings);
  // The package is loaded only here, because most runs use no queue.
  const { Redis } = await import('ioredis');
  const client = new Redis(options);
  try {
    await untilReady(client, address, settings, warn);
    const url = formatQueueUrl(address);
    await refuseUnsafe(client, url, warn);
    return new QueueRedis(client, url);
  } catch (error) {
    endNow(client);
    throw error;
  }
}

/** The connections reconnect automatically, and commands wait until then. */
export class QueueRedis {
  readonly #url: string;
  readonly #others = new Set<Redis>();
  readonly #listeners = new Set<TroubleListener>();
  readonly #beat: NodeJS.Timeout;
  #trouble: RedisTrouble | undefined;
  #isClosed = false;
  /** When a ping or connection attempt was sent that Redis has not replied to yet (monotonic). Undefined if no reply is expected. */
  #unansweredMs: number | undefined;

  constructor(
    readonly client: Redis,
    url: string,
  ) {
    this.#url = url;
    client.on('close', () => this.#note({ kind: 'away' }));
    client.on('connect', () => {
      this.#unansweredMs = performance.now();
    });
    client.on('ready', () => this.#note(undefined));
    this.#beat = setInterval(() => this.#listen(), beatMs).unref();
  }

  get isAway(): boolean {
    return this.#trouble?.kind === 'away';
  }

  /** Registers a listener, which is called whenever the use of Redis becomes impossible or possible again. */
  onTrouble(listener: TroubleListener): void {
    this.#listeners.add(listener);
  }

  /** For commands that block or subscribe. Closed together with the main connection, without waiting for its commands. */
  duplicate(): Redis {
    const other = this.client.duplicate();
    other.on('error', () => undefined);
    other.on('end', () => this.#others.delete(other));
    this.#others.add(other);
    return other;
  }

  /**
   * Executes a command. While Redis is unreachable, full or starting, waits and retries, so Redis may execute the command twice. Throws an
   * AutomateError (`credential`) if the rights of the Redis user are too few, and all other errors as they are. Once the connections are
   * closed, a command that fails never settles. Notes if Redis temporarily refuses the command.
   */
  async insist<Result>(command: () => Promise<Result>): Promise<Result> {
    for (let wasRefused = false; ; ) {
      try {
        const result = await command();
        if (wasRefused) this.#noteAccepted();
        return result;
      } catch (error) {
        const isRefusal = this.#noteRefusal(error as Error);
        wasRefused ||= isRefusal;
        if (this.#isClosed) return new Promise(() => undefined);
        // If the status is not `ready`, the error comes from the connection and not from the command. For example, a changed password makes
        // all waiting commands fail.
        if (this.client.status === 'ready' && !isRefusal) throw withRightsText(error as Error, this.#url);
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    }
  }

  /** Throws an AutomateError (`credential`) if the reason is that the rights of the Redis user are too few. */
  throwIfDenied(error: Error): void {
    const told = withRightsText(error, this.#url);
    if (told !== error) throw told;
  }

  /** For a write command that the process repeats often. If Redis temporarily refuses it, all other commands wait, too. */
  async heartbeat<Result>(command: () => Promise<Result>): Promise<Result> {
    try {
      const result = await command();
      this.#noteAccepted();
      return result;
    } catch (error) {
      this.#noteRefusal(error as Error);
      throw error;
    }
  }

  /** Closes all connections. The main connection gets one second to finish its commands. */
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

  /** Returns true for an error that is temporary. Notes it if Redis has refused the command. */
  #noteRefusal({ message }: Error): boolean {
    if (this.client.status !== 'ready' || !passing.test(message)) return false;
    if (/^[A-Z]+ /.test(message)) this.#note({ kind: 'refusing', message });
    return true;
  }

  #noteAccepted(): void {
    if (this.#trouble?.kind === 'refusing') this.#note(undefined);
  }

  #note(trouble: RedisTrouble | undefined): void {
    this.#unansweredMs = undefined;
    if (this.#trouble?.kind === trouble?.kind || this.#isClosed) return;
    this.#trouble = trouble;
    for (const listener of this.#listeners) listener(trouble);
  }

  /** Sends pings to check that Redis still replies. Connections do not show this: they stay open if the network breaks down. */
  #listen(): void {
    const { status } = this.client;
    if (status !== 'ready' && status !== 'connect') return;
    const sentMs = this.#unansweredMs;
    // Waits for the event loop before the check, because a reply may have arrived that has not been read yet.
    if (sentMs !== undefined) return void setImmediate(() => this.#unansweredMs === sentMs && this.#giveUp(sentMs));
    this.#unansweredMs = performance.now();
    const answered = () => {
      this.#unansweredMs = undefined;
    };
    this.client.ping().then(answered, answered);
  }

  /** If Redis has not replied for `silenceMs`, disconnects all connections, which then reconnect. */
  #giveUp(sentMs: number): void {
    if (performance.now() - sentMs < silenceMs) return;
    this.#note({ kind: 'away' });
    for (const client of [this.client, ...this.#others]) client.disconnect(true);
  }
}

/** Returns `nothing` if another program has stored a value of a different type in the key, and rethrows all other errors. */
export function ifForeign<Result>(nothing: Result): (error: Error) => Result {
  return (error) => {
    if (!error.message.startsWith('WRONGTYPE')) throw error;
    return nothing;
  };
}

/** Works even if Redis does not respond. */
function endNow(client: Redis): void {
  client.disconnect();
  // `stream` is undefined until the first connection has been made.
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

/**
 * Resolves once Redis is ready. Rejects with an AutomateError if it does not become ready. An error that cannot go away by waiting rejects
 * immediately, and any other error at the deadline.
 */
function untilReady(
  client: Redis,
  address: QueueAddress,
  { password, deadlineMs = defaultDeadlineMs }: RedisSettings,
  warn: (text: string) => void,
): Promise<void> {
  const url = formatQueueUrl(address);
  return new Promise((resolve, reject) => {
    let reason = 'it does not answer';
    const stop = (error: AutomateError) => {
      clearTimeout(timer);
      clearTimeout(firstWord);
      reject(error);
    };
    const fail = (message: string) => stop(new AutomateError('credential', message));
    const timer = setTimeout(() => fail(`Redis cannot be reached within ${deadlineMs / 1000} s: ${reason}`), deadlineMs);
    const firstWord = setTimeout(() => warn(`cannot reach ${url}: trying for ${deadlineMs / 1000} s`), firstWordMs);
    client.on('error', (error) => {
      if (/DB index/.test(error.message)) return stop(invalidOption('queue', `there is no such database at ${url}: ${error.message}`));
      if (refusals.test(error.message)) return fail(noAccessText(error, url, password !== undefined));
      if (/^Unknown RESP type/.test(error.message)) return fail(`${url} does not answer like Redis; does it need rediss://?`);
      const failure = failureOf(error, { origin: url, wasSent: false });
      reason = failure.message.replace('does the server use http://?', 'does the server use redis://?');
      const { code, details } = failure;
      if (code === 'tls')
        stop(new AutomateError('credential', reason, { code, details } as ConstructorParameters<typeof AutomateError>[2]));
    });
    client.once('ready', () => {
      clearTimeout(timer);
      clearTimeout(firstWord);
      resolve();
    });
  });
}

/** A user's rights can lack keys, channels or commands. Redis reports that only when a command uses them, or a script runs the command. */
function withRightsText(error: Error, url: string): Error {
  return /^NOPERM|^ERR The user executing the script can't/.test(error.message)
    ? new AutomateError('credential', lackingRightsText(error, url))
    : error;
}

function lackingRightsText({ message }: Error, url: string): string {
  return `${url} refuses commands that the queue needs: ${message}\nthe Redis user needs all commands, and all keys and channels that begin with {automate:`;
}

function noAccessText(error: Error, url: string, hasPassword: boolean): string {
  if (error.message.startsWith('NOPERM')) return lackingRightsText(error, url);
  if (hasPassword) return `${url} refuses the password in AUTOMATE_QUEUE_PASSWORD`;
  return `${url} requires a password\nset AUTOMATE_QUEUE_PASSWORD, or AUTOMATE_QUEUE_PASSWORD_FILE to the name of a file that contains it`;
}
