import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, open, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HitSource } from '../../../src/core/event.ts';
import { Failure, Unfinished } from '../../../src/core/failure.ts';
import type { HttpResponse } from '../../../src/core/ports.ts';
import { createRedactor } from '../../../src/credentials/redact.ts';
import { openDatabase } from '../../../src/files/database.ts';
import { AnswersFile } from '../../../src/http/cache/answers-file.ts';
import { createCache } from '../../../src/http/cache/cache.ts';
import { answerChecksum, packAnswer, unpackAnswer } from '../../../src/http/cache/cached-answer.ts';

function answer(body: string | Uint8Array, headers: HttpResponse['headers'] = {}): HttpResponse {
  return {
    status: 200,
    headers,
    header: (name) => headers[name]?.toString(),
    body: typeof body === 'string' ? Buffer.from(body) : body,
    endedByClose: false,
    retryAfterMs: undefined,
  };
}

/** The cache, opened as a run opens it. */
interface OpenCache {
  ask(key: string, maxAgeMs: number, produce: () => Promise<HttpResponse>): Promise<HttpResponse>;
  /** The sources of the responses that came from the cache. */
  readonly hits: readonly HitSource[];
  close(): void;
}

interface Place {
  readonly home: string;
  readonly path: string;
  readonly warnings: readonly string[];
  open(maxBytes?: number): OpenCache;
  /** Requests one response in a separate run. */
  once(key: string, maxAgeMs: number, produce: () => Promise<HttpResponse>): Promise<HttpResponse>;
  pass(ms: number): void;
}

function place(...secrets: string[]): Place {
  const folder = mkdtempSync(join(tmpdir(), 'automate-cache-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'state');
  const path = join(home, 'cache.db');
  const redactor = createRedactor();
  for (const secret of secrets) redactor.add(secret);
  let nowMs = Date.now();
  const warnings: string[] = [];
  const at: Place = {
    home,
    path,
    warnings,
    open(maxBytes = 1e9) {
      const hits: HitSource[] = [];
      const cache = createCache({ path, maxBytes, redactor, wallNow: () => nowMs, warn: (message) => warnings.push(message) });
      return { ask: (...call) => cache.through(...call, (source) => hits.push(source)), hits, close: cache.close };
    },
    async once(...call) {
      const cache = at.open();
      try {
        return await cache.ask(...call);
      } finally {
        cache.close();
      }
    },
    pass(ms) {
      nowMs += ms;
    },
  };
  return at;
}

/** Creates a producer that returns these responses in turn and counts its calls. */
function producer(...answers: HttpResponse[]) {
  let asked = 0;
  const produce = async () => answers[asked++ % answers.length] as HttpResponse;
  return { produce, asked: () => asked };
}

const text = ({ body }: HttpResponse) => Buffer.from(body).toString();
const unasked = () => Promise.reject(new Error('asked again'));

/** Returns the keys whose responses are in the cache. */
async function cachedOf(at: Place, keys: readonly string[]): Promise<string[]> {
  const cache = at.open();
  const asked: string[] = [];
  for (const key of keys) await cache.ask(key, 1e9, () => Promise.reject(asked.push(key))).catch(() => undefined);
  cache.close();
  return keys.filter((key) => !asked.includes(key));
}

/** Returns the number of responses in the cache file. */
function answersIn({ path }: Place): number {
  const file = new AnswersFile(path, 1000);
  try {
    return file.size().answers;
  } finally {
    file.close();
  }
}

describe('a cached response', () => {
  test('is used in every run until it expires', async () => {
    const at = place();
    const { produce, asked } = producer(answer('one'), answer('two'));
    expect(text(await at.once('k', 1000, produce))).toBe('one');
    at.pass(999);
    expect(text(await at.once('k', 1000, produce))).toBe('one');
    expect(asked()).toBe(1);
    at.pass(1);
    expect(text(await at.once('k', 1000, produce))).toBe('two');
    expect(text(await at.once('other', 1000, produce))).toBe('one');
    expect(asked()).toBe(3);
  });

  test('is found, and reported as a hit, even if it is still in the write buffer', async () => {
    const cache = place().open();
    await cache.ask('k', 1000, async () => answer('one'));
    expect(cache.hits).toEqual([]);
    expect(text(await cache.ask('k', 1000, unasked))).toBe('one');
    expect(cache.hits).toEqual(['cached']);
    cache.close();
  });

  test('is written to disk soon, even if the cache stays open', async () => {
    const at = place();
    const cache = at.open();
    await cache.ask('k', 1e9, async () => answer('one'));
    await expect.poll(() => cachedOf(at, ['k'])).toEqual(['k']);
    cache.close();
  });

  test('is ignored if its timestamp is in the future', async () => {
    const at = place();
    await at.once('k', 1000, async () => answer('one'));
    at.pass(-5000);
    expect(text(await at.once('k', 1000, async () => answer('two')))).toBe('two');
  });

  test('is returned unchanged', async () => {
    const at = place();
    const body = new Uint8Array(Array.from({ length: 1024 }, (_, i) => i & 255));
    const headers = { etag: '"x"', 'set-cookie': ['a=1', 'b=2'], 'x-name': Buffer.from('Zoë').toString('latin1') };
    const { produce } = producer({ ...answer(body, headers), status: 203 });
    await at.once('k', 1000, produce);
    const found = await at.once('k', 1000, unasked);
    expect(Buffer.compare(Buffer.from(found.body), body)).toBe(0);
    expect(found).toMatchObject({ status: 203, headers, endedByClose: false, retryAfterMs: undefined });
    expect([found.header('etag'), found.header('set-cookie'), found.header('x-name'), found.header('constructor')]).toEqual([
      '"x"',
      'a=1, b=2',
      'Zoë',
      undefined,
    ]);
  });

  test.each([0, 5_000_000])('can have a body of %i bytes', async (length) => {
    const at = place();
    await at.once('k', 1000, async () => answer(new Uint8Array(length).fill(7)));
    expect((await at.once('k', 1000, unasked)).body.length).toBe(length);
  });

  test('is requested once for all records that need the response at the same time', async () => {
    const cache = place().open();
    let release: ((response: HttpResponse) => void) | undefined;
    let asked = 0;
    const produce = () => {
      asked++;
      return new Promise<HttpResponse>((resolve) => (release = resolve));
    };
    const all = Promise.all(Array.from({ length: 10 }, () => cache.ask('k', 1000, produce)));
    while (!release) await new Promise((resolve) => setTimeout(resolve, 1));
    release(answer('one'));
    expect((await all).map(text)).toEqual(Array(10).fill('one'));
    expect(asked).toBe(1);
    expect(cache.hits).toEqual(Array(9).fill('in-flight'));
    cache.close();
  });

  test('is not created from a failure, which each waiting record gets as its own Failure object', async () => {
    const cache = place().open();
    let asked = 0;
    const produce = async () => {
      asked++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      throw new Failure('http', 'the server answered 500', { status: 500 });
    };
    const errors = await Promise.all(Array.from({ length: 3 }, () => cache.ask('k', 1000, produce).catch((error: unknown) => error)));
    expect(asked).toBe(1);
    expect(new Set(errors).size).toBe(3);
    for (const error of errors) expect(error).toMatchObject({ kind: 'http', status: 500, message: 'the server answered 500' });
    expect(cache.hits).toEqual([]);
    expect(text(await cache.ask('k', 1000, async () => answer('now')))).toBe('now');
    cache.close();
  });

  test('is requested by one of the waiting records if the first request is aborted', async () => {
    const cache = place().open();
    let asked = 0;
    const givenUp = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      throw new Unfinished();
    };
    const produce = async () => {
      asked++;
      return answer('one');
    };
    const first = cache.ask('k', 1000, givenUp);
    const others = Promise.all(Array.from({ length: 5 }, () => cache.ask('k', 1000, produce)));
    await expect(first).rejects.toBeInstanceOf(Unfinished);
    expect((await others).map(text)).toEqual(Array(5).fill('one'));
    expect(asked).toBe(1);
    cache.close();
  });

  test('contains no secret on disk, in any encoding', async () => {
    const secret = 'canary/"pässwörd+1';
    const at = place(secret);
    const body = JSON.stringify({ echo: secret, url: encodeURIComponent(secret), basic: Buffer.from(`u:${secret}`).toString('base64') });
    const header = Buffer.from(`Bearer ${secret}`).toString('latin1');
    await at.once('k', 1000, async () => answer(body, { 'x-echo': header, 'x-list': [secret] }));
    const found = await at.once('k', 1000, unasked);
    // This connection stays open, because SQLite deletes the write-ahead log when the last connection closes.
    const connection = openDatabase(at.path, { schema: '', version: 1, timeoutMs: 1000 });
    const files = await Promise.all((await readdir(at.home)).map((name) => readFile(join(at.home, name))));
    connection.close();
    const everything = files.map((bytes) => bytes.toString() + bytes.toString('latin1')).join();
    expect(everything).toContain('x-echo');
    for (const form of ['canary', 'pässw', 'p%C3%A4ss', Buffer.from(`u:${secret}`).toString('base64').slice(4, 20)])
      expect(everything).not.toContain(form);
    expect(JSON.parse(text(found))).toEqual({ echo: '***', url: '***', basic: expect.stringContaining('***') });
    expect(found.headers).toEqual({ 'x-echo': 'Bearer ***', 'x-list': ['***'] });
  });
});

describe('cached responses that a run has used', () => {
  test('are kept in memory as the same object, and read from disk once', async () => {
    const at = place();
    await at.once('a', 1000, producer(answer('one')).produce);
    const cache = at.open();
    const first = await cache.ask('a', 1000, unasked);
    rmSync(at.path);
    expect((await cache.ask('a', 1000, unasked)).body).toBe(first.body);
    cache.close();
  });

  test('are removed from memory to make room for other responses', async () => {
    const at = place();
    const keys = Array.from({ length: 70 }, (_, index) => `key ${index}`);
    for (const key of keys) await at.once(key, 1000, producer(answer(key)).produce);
    const cache = at.open();
    const bodies = new Map<string, Uint8Array>();
    for (const key of keys) bodies.set(key, (await cache.ask(key, 1000, unasked)).body);
    const isSame = async (key = '') => (await cache.ask(key, 1000, unasked)).body === bodies.get(key);
    expect([await isSame(keys[69]), await isSame(keys[0])]).toEqual([true, false]);
    cache.close();
  });

  test('are replaced by the newer response of a different run once they have expired', async () => {
    const at = place();
    await at.once('a', 1000, producer(answer('old')).produce);
    const cache = at.open();
    expect(text(await cache.ask('a', 1000, unasked))).toBe('old');
    at.pass(2000);
    await at.once('a', 1000, producer(answer('new')).produce);
    // Reads within one turn of the event loop share a snapshot of the file, so the next turn is needed to see the new response.
    await setImmediate();
    expect(text(await cache.ask('a', 1000, unasked))).toBe('new');
    cache.close();
  });
});

describe('the cache file', () => {
  test.each([0o000, 0o277, 0o777])('is readable only by its owner, even with umask %o', async (umask) => {
    const at = place();
    const before = process.umask(umask);
    const cache = at.open();
    try {
      await cache.ask('k', 1000, async () => answer('one'));
      await expect.poll(() => readdir(at.home)).toEqual(['cache.db', 'cache.db-shm', 'cache.db-wal']);
    } finally {
      process.umask(before);
    }
    const modes = ['', '/cache.db', '/cache.db-shm', '/cache.db-wal'].map(async (name) => (await stat(at.home + name)).mode & 0o777);
    expect(await Promise.all(modes)).toEqual([0o700, 0o600, 0o600, 0o600]);
    cache.close();
  });

  test.each(['cache.db', 'state'])('is refused if its path contains a symbolic link: %s', async (name) => {
    const at = place();
    const elsewhere = join(at.home, '..', 'elsewhere');
    await mkdir(elsewhere);
    if (name === 'state') await symlink(elsewhere, at.home);
    else {
      await mkdir(at.home);
      await symlink(join(elsewhere, name), at.path);
    }
    expect(text(await at.once('k', 1000, async () => answer('one')))).toBe('one');
    expect(at.warnings).toEqual([expect.stringMatching(`answers are not cached: .*${name} is a symbolic link`)]);
    expect(await readdir(elsewhere)).toEqual([]);
  });

  test('causes one warning if it cannot be created, and the run continues with uncached responses', async () => {
    const at = place();
    await writeFile(at.home, 'no folder');
    const cache = at.open();
    const { produce, asked } = producer(answer('one'), answer('two'), answer('three'));
    const both = await Promise.all([cache.ask('k', 1000, produce), cache.ask('other', 1000, produce)]);
    expect(both.map(text).sort()).toEqual(['one', 'two']);
    cache.close();
    expect(text(await cache.ask('k', 1000, produce))).toBe('three');
    expect(asked()).toBe(3);
    const reason = /^answers are not cached: the cache .* cannot be used: E[^']+ \(to use a different folder, set AUTOMATE_HOME\)$/;
    expect(at.warnings).toEqual([expect.stringMatching(reason)]);
    expect(at.warnings[0]).toContain(at.path);
  });

  test('can be read while a different process keeps it locked', async () => {
    const at = place();
    await at.once('old', 1e9, async () => answer('old'));
    const other = openDatabase(at.path, { schema: '', version: 1, timeoutMs: 1000 });
    other.exec('BEGIN IMMEDIATE');
    const cache = at.open();
    expect(text(await cache.ask('k', 1000, async () => answer('one')))).toBe('one');
    expect(text(await cache.ask('old', 1e9, unasked))).toBe('old');
    expect(text(await cache.ask('k', 1000, unasked))).toBe('one');
    expect(at.warnings).toEqual([]);
    cache.close();
    expect(at.warnings).toEqual([expect.stringMatching(/^answers are not cached: .* another process keeps it locked/)]);
    other.close();
  });

  test('receives the buffered responses once a different process has unlocked the file', async () => {
    const at = place();
    await at.once('old', 1e9, async () => answer('old'));
    const other = openDatabase(at.path, { schema: '', version: 1, timeoutMs: 1000 });
    other.exec('BEGIN IMMEDIATE');
    const cache = at.open();
    for (let i = 0; i < 300; i++) await cache.ask(`k${i}`, 1e9, async () => answer('one'));
    other.exec('COMMIT');
    other.close();
    cache.close();
    expect(answersIn(at)).toBe(301);
    expect(at.warnings).toEqual([]);
  });

  test('is left unchanged if a newer version of automate created it', async () => {
    const at = place();
    openDatabase(at.path, { schema: 'create table answers (other)', version: 99, timeoutMs: 1000 }).close();
    expect(text(await at.once('k', 1000, async () => answer('one')))).toBe('one');
    expect(at.warnings).toEqual([expect.stringContaining('it was made by a newer version of automate')]);
  });

  test('stores the responses of several runs that write at the same time', async () => {
    const at = place();
    const caches = Array.from({ length: 8 }, () => at.open());
    const keys = Array.from({ length: 400 }, (_, i) => `k${i}`);
    await Promise.all(
      caches.map(async (cache, number) => {
        for (const key of keys) await cache.ask(number % 2 ? key : `${key} ${number}`, 1e9, async () => answer(key.repeat(50)));
      }),
    );
    for (const cache of caches) cache.close();
    expect(await cachedOf(at, keys)).toEqual(keys);
    expect(answersIn(at)).toBe(400 * 5);
    expect(at.warnings).toEqual([]);
  });
});

describe('a damaged cache file', () => {
  const damages: [string, (path: string) => Promise<void>][] = [
    ['not a database', (path) => writeFile(path, 'junk'.repeat(5000))],
    ['truncated', (path) => truncate(path, 5000)],
    ['a page of zeros', (path) => overwrite(path, 4096, Buffer.alloc(4096))],
    ['zeros all over', (path) => overwrite(path, 4096, Buffer.alloc(1 << 20))],
    ['changed bytes in a response', async (path) => writeFile(path, (await readFile(path, 'latin1')).replaceAll('one', 'eno'), 'latin1')],
    ['a database with different tables', another],
  ];

  test.each(damages)('is deleted with one warning and replaced by a new file: %s', async (_, spoil) => {
    const at = place();
    const keys = Array.from({ length: 50 }, (__, i) => `k${i}`);
    const cache = at.open();
    for (const key of keys) await cache.ask(key, 1e9, async () => answer(`answer one ${key}`.repeat(50)));
    cache.close();
    checkpoint(at.path);
    await spoil(at.path);
    const next = at.open();
    for (const key of keys) expect(text(await next.ask(key, 1e9, async () => answer(`answer two ${key}`)))).toMatch(/^answer (one|two)/);
    next.close();
    expect(at.warnings).toEqual([
      expect.stringMatching(/^the cache \S+cache\.db was damaged \(.+\), so it was deleted; a new one is used$/),
    ]);
    for (const key of keys) await at.once(key, 1e9, async () => answer(`answer three ${key}`));
    expect(await cachedOf(at, keys)).toEqual(keys);
    expect(at.warnings).toHaveLength(1);
  });

  test('is replaced even if several runs use it at the same time', async () => {
    const at = place();
    await mkdir(at.home);
    await writeFile(at.path, 'junk'.repeat(5000));
    const caches = Array.from({ length: 4 }, () => at.open());
    await Promise.all(caches.map((cache, i) => cache.ask(`k${i}`, 1e9, async () => answer('one'))));
    for (const cache of caches) cache.close();
    expect(await cachedOf(at, ['k0', 'k1', 'k2', 'k3'])).toEqual(['k0', 'k1', 'k2', 'k3']);
  });

  test('does not end the run if it cannot be deleted', async () => {
    const at = place();
    await mkdir(`${at.path}-shm`, { recursive: true });
    await writeFile(at.path, 'junk'.repeat(5000));
    expect(text(await at.once('k', 1e9, async () => answer('one')))).toBe('one');
    expect(at.warnings).toEqual([expect.stringMatching(/^answers are not cached: .* cannot be used: .+cache\.db-shm/)]);
  });

  test('can be deleted while a run has the file open', async () => {
    const at = place();
    const cache = at.open();
    await cache.ask('a', 1e9, async () => answer('one'));
    rmSync(at.home, { recursive: true });
    expect(text(await cache.ask('b', 1e9, async () => answer('one')))).toBe('one');
    cache.close();
  });

  /** Moves the content of the write-ahead log into the database file. */
  function checkpoint(path: string): void {
    const database = openDatabase(path, { schema: '', version: 1, timeoutMs: 1000 });
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
  }

  async function another(path: string): Promise<void> {
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    openDatabase(path, { schema: 'create table other (x)', version: 1, timeoutMs: 1000 }).close();
  }

  async function overwrite(path: string, at: number, bytes: Buffer): Promise<void> {
    const file = await open(path, 'r+');
    const { size } = await file.stat();
    await file.write(bytes, 0, Math.min(bytes.length, size - at), at);
    await file.close();
  }
});

describe('the limits of the cache', () => {
  const kilobyte = () => answer('x'.repeat(1000));

  test('delete the oldest responses when the cache exceeds its maximum size', async () => {
    const at = place();
    const keys = Array.from({ length: 30 }, (_, i) => `k${i}`);
    const cache = at.open(10_500);
    for (const key of keys) await cache.ask(key, 1e9, async () => kilobyte());
    cache.close();
    // Headers take some bytes, too, so only 10 responses of 1000 bytes fit into 10,500 bytes.
    expect(await cachedOf(at, keys)).toEqual(keys.slice(20));
  });

  test('count the age of a response from its latest request to the server', async () => {
    const at = place();
    for (const key of ['a', 'b', 'c']) await at.once(key, 1e6, async () => kilobyte());
    at.pass(2e6);
    await at.once('a', 1e6, async () => kilobyte());
    const cache = at.open(2100);
    await cache.ask('d', 1e6, async () => kilobyte());
    cache.close();
    expect(await cachedOf(at, ['a', 'b', 'c', 'd'])).toEqual(['a', 'd']);
  });

  test('shrink the cache to a lower maximum, even in a run that stores nothing', async () => {
    const at = place();
    const keys = Array.from({ length: 3000 }, (_, i) => `k${i}`);
    const cache = at.open();
    for (const key of keys) await cache.ask(key, 1e9, async () => kilobyte());
    cache.close();
    const next = at.open(5200);
    await next.ask('k2999', 1e9, unasked);
    next.close();
    expect(await cachedOf(at, keys)).toEqual(keys.slice(-5));
  });

  test('keep a response out of the cache if it exceeds the maximum size', async () => {
    const at = place();
    await at.once('small', 1e9, async () => answer('small'));
    const cache = at.open(1000);
    expect((await cache.ask('large', 1e9, async () => kilobyte())).body.length).toBe(1000);
    cache.close();
    expect(await cachedOf(at, ['small', 'large'])).toEqual(['small']);
  });

  test('delete expired responses', async () => {
    const at = place();
    await at.once('short', 1000, async () => answer('short'));
    await at.once('long', 100_000, async () => answer('long'));
    at.pass(50_000);
    expect(answersIn(at)).toBe(2);
    expect(text(await at.once('long', 100_000, unasked))).toBe('long');
    expect(answersIn(at)).toBe(1);
  });
});

test('a cached response counts as damaged if it is stored under the key of a different response', () => {
  const [own, other] = ['a', 'b'].map((text) => Buffer.from(text)) as [Buffer, Buffer];
  const answer = { cachedAtMs: 1, status: 200, headers: { etag: 'x' }, body: Buffer.from('body') };
  const packed = packAnswer(answer);
  const row = [answerChecksum(own, packed), packed] as const;
  expect(unpackAnswer(own, row)).toEqual(answer);
  expect(() => unpackAnswer(other, row)).toThrow('its content is not what was written');
});
