import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Cache, HttpResponse } from '../core/ports.ts';
import type { Redactor } from './redact.ts';

/** Where answers are kept. */
export interface CacheOptions {
  readonly folder: string;
  readonly redactor: Redactor;
  wallNow(): number;
}

interface Kept {
  readonly keptAtMs: number;
  readonly status: number;
  readonly headers: HttpResponse['headers'];
  /** Base64. */
  readonly body: string;
}

/** Makes the cache: a file per answer, named by its request's hash. A file that cannot be read counts as none. */
export function createCache(options: CacheOptions): Cache {
  const inFlight = new Map<string, Promise<HttpResponse>>();
  let swept: Promise<void> | undefined;
  return {
    async through(key, maxAgeMs, produce) {
      swept ??= sweep(options).catch(() => undefined);
      const name = createHash('sha256').update(key).digest('hex');
      const under = inFlight.get(name);
      if (under) return under;
      const answer = kept(name, maxAgeMs, produce);
      inFlight.set(name, answer);
      return answer.finally(() => inFlight.delete(name));
    },
  };

  async function kept(name: string, maxAgeMs: number, produce: () => Promise<HttpResponse>): Promise<HttpResponse> {
    const file = join(options.folder, name.slice(0, 2), `${name}.json`);
    const found = await read(file);
    if (found && options.wallNow() - found.keptAtMs < maxAgeMs) return responseOf(found);
    const response = await produce();
    await write(file, keptOf(response, options), maxAgeMs);
    return response;
  }
}

async function read(file: string): Promise<Kept | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Kept;
  } catch {
    return undefined;
  }
}

/** Whole or not at all, and only for its owner's eyes. Its time stamp is its end, so that a sweep need not read it. */
async function write(file: string, answer: Kept, maxAgeMs: number): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  const end = new Date(answer.keptAtMs + maxAgeMs);
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  await writeFile(temporary, JSON.stringify(answer), { mode: 0o600 });
  await utimes(temporary, end, end);
  await rename(temporary, file);
}

/** Takes away what has come to its end. */
async function sweep({ folder, wallNow }: CacheOptions): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    const path = join(folder, name);
    const found = await stat(path);
    if (found.isFile() && found.mtimeMs < wallNow()) await rm(path, { force: true });
  }
}

/** An answer may echo the credential: the cache is a file like any other. */
function keptOf(response: HttpResponse, { redactor, wallNow }: CacheOptions): Kept {
  const text = Buffer.from(response.body).toString('latin1');
  const body = redactor.isIn(text) ? redactor.text(text) : text;
  const headers = JSON.parse(redactor.text(JSON.stringify(response.headers))) as HttpResponse['headers'];
  return { keptAtMs: wallNow(), status: response.status, headers, body: Buffer.from(body, 'latin1').toString('base64') };
}

function responseOf(kept: Kept): HttpResponse {
  const header = (name: string) => {
    const value = kept.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  return {
    status: kept.status,
    headers: kept.headers,
    header,
    body: Buffer.from(kept.body, 'base64'),
    endedByClose: false,
    retryAfterMs: undefined,
  };
}
