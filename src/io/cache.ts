import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../core/failure.ts';
import type { Cache, HttpResponse } from '../core/ports.ts';
import type { Value } from '../core/value.ts';
import { headerReader } from './http/header.ts';
import { reasonOf } from './reason.ts';
import type { Redactor } from './redact.ts';

/** Where answers are kept. */
export interface CacheOptions {
  /** Absent when there is no place for one: then nothing is kept. */
  readonly folder: string | undefined;
  readonly redactor: Redactor;
  wallNow(): number;
  /** Called once, when an answer cannot be kept. From then on none is. */
  warn(message: string): void;
}

interface Kept {
  readonly keptAtMs: number;
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  /** Base64. */
  readonly body: string;
}

/**
 * Makes the cache: a file per answer, named by its request's hash. A file that cannot be read counts as none.
 * An answer is used whether or not it can be kept: it was paid for.
 */
export function createCache(options: CacheOptions): Cache {
  const inFlight = new Map<string, Promise<HttpResponse>>();
  let hasSwept = false;
  let canKeep = true;
  return {
    async through(key, maxAgeMs, produce) {
      if (!hasSwept && options.folder !== undefined) void sweep(options.folder, options.wallNow);
      hasSwept = true;
      const name = createHash('sha256').update(key).digest('hex');
      const under = inFlight.get(name);
      if (under) return under.catch(rethrown);
      const answer = kept(name, maxAgeMs, produce);
      inFlight.set(name, answer);
      try {
        return await answer;
      } finally {
        inFlight.delete(name);
      }
    },
  };

  async function kept(name: string, maxAgeMs: number, produce: () => Promise<HttpResponse>): Promise<HttpResponse> {
    if (options.folder === undefined) return produce();
    const file = join(options.folder, name.slice(0, 2), `${name}.json`);
    const found = await read(file);
    if (found && options.wallNow() - found.keptAtMs < maxAgeMs) return responseOf(found);
    const response = await produce();
    if (canKeep) await write(file, keptOf(response, options), maxAgeMs).catch(giveUp);
    return response;
  }

  function giveUp(error: unknown): void {
    if (canKeep) options.warn(unkept(`the cache folder ${options.folder} cannot be written: ${reasonOf(error as Error)}`));
    canKeep = false;
  }
}

/** What is told when answers are not kept. */
export function unkept(reason: string): string {
  return `answers are not kept: ${reason} (AUTOMATE_HOME moves it)`;
}

/** Each record's failure is its own: it is told of its node and its tries. */
function rethrown(error: unknown): never {
  throw error instanceof Failure ? error.retold(error.message) : error;
}

async function read(file: string): Promise<Kept | undefined> {
  try {
    const kept = JSON.parse(await readFile(file, 'utf8')) as Partial<Kept> | null;
    return typeof kept?.body === 'string' && kept.headers ? (kept as Kept) : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all, and only for its owner's eyes. Its time stamp is its end, so that a sweep need not read it. */
async function write(file: string, answer: Kept, maxAgeMs: number): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  const end = new Date(answer.keptAtMs + maxAgeMs);
  try {
    await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
    await writeFile(temporary, JSON.stringify(answer), { mode: 0o600 });
    await chmod(temporary, 0o600);
    await utimes(temporary, end, end);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** What another run may still be writing is left alone for so long. */
const writingMs = 3_600_000;

/** Takes away what has come to its end, and what runs that died have left. */
async function sweep(folder: string, wallNow: () => number): Promise<void> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  for (const name of names) {
    const path = join(folder, name);
    // Another run sweeps, too.
    const found = await stat(path).catch(() => undefined);
    const graceMs = name.endsWith('.json') ? 0 : writingMs;
    if (found?.isFile() && found.mtimeMs + graceMs < wallNow()) await rm(path, { force: true }).catch(() => undefined);
  }
}

/** An answer may echo the credential: the cache is a file like any other. Bytes become characters and back, so other bodies stay as they are. */
function keptOf(response: HttpResponse, { redactor, wallNow }: CacheOptions): Kept {
  const text = Buffer.from(response.body).toString('latin1');
  const body = redactor.isIn(text) ? redactor.text(text) : text;
  const headers = redactor.value({ ...response.headers } as Value) as HttpResponse['headers'];
  return { keptAtMs: wallNow(), status: response.status, headers, body: Buffer.from(body, 'latin1').toString('base64') };
}

function responseOf({ status, headers, body }: Kept): HttpResponse {
  return {
    status,
    headers,
    header: headerReader(headers),
    body: Buffer.from(body, 'base64'),
    endedByClose: false,
    retryAfterMs: undefined,
  };
}
