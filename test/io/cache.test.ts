import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Failure } from '../../src/core/failure.ts';
import type { Cache, HttpResponse } from '../../src/core/ports.ts';
import { createCache } from '../../src/io/cache.ts';
import { createRedactor } from '../../src/io/redact.ts';

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

interface Place {
  readonly folder: string;
  /** What was told. */
  readonly warnings: readonly string[];
  /** A cache as another run would have it. */
  open(): Cache;
  pass(ms: number): void;
  files(): Promise<string[]>;
}

function place(...secrets: string[]): Place {
  const home = mkdtempSync(join(tmpdir(), 'automate-cache-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = join(home, 'state', 'cache');
  const redactor = createRedactor();
  for (const secret of secrets) redactor.add(secret);
  let nowMs = Date.now();
  const warnings: string[] = [];
  return {
    folder,
    warnings,
    open: () => createCache({ folder, redactor, wallNow: () => nowMs, warn: (message) => warnings.push(message) }),
    pass(ms) {
      nowMs += ms;
    },
    async files() {
      const names = await readdir(folder, { recursive: true });
      return names.filter((name) => name.includes('.')).map((name) => join(folder, name));
    },
  };
}

/** Counts how often it is asked. */
function producer(...answers: HttpResponse[]) {
  let asked = 0;
  const produce = async () => answers[asked++ % answers.length] as HttpResponse;
  return { produce, asked: () => asked };
}

const text = ({ body }: HttpResponse) => Buffer.from(body).toString();

describe('an answer', () => {
  test('is kept until its end, for every run', async () => {
    const at = place();
    const { produce, asked } = producer(answer('one'), answer('two'));
    expect(text(await at.open().through('k', 1000, produce))).toBe('one');
    at.pass(999);
    expect(text(await at.open().through('k', 1000, produce))).toBe('one');
    expect(asked()).toBe(1);
    at.pass(1);
    expect(text(await at.open().through('k', 1000, produce))).toBe('two');
    expect(text(await at.open().through('other', 1000, produce))).toBe('one');
    expect(asked()).toBe(3);
  });

  test('comes back as it was', async () => {
    const at = place();
    const body = Buffer.from(Array.from({ length: 1024 }, (_, i) => i & 255));
    const headers = { etag: '"x"', 'set-cookie': ['a=1', 'b=2'], 'x-name': Buffer.from('Zoë').toString('latin1') };
    const { produce } = producer({ ...answer(body, headers), status: 203 });
    await at.open().through('k', 1000, produce);
    const found = await at.open().through('k', 1000, () => Promise.reject(new Error('asked again')));
    expect(Buffer.compare(Buffer.from(found.body), body)).toBe(0);
    expect(found).toMatchObject({ status: 203, headers, endedByClose: false, retryAfterMs: undefined });
    expect([found.header('etag'), found.header('set-cookie'), found.header('x-name'), found.header('constructor')]).toEqual([
      '"x"',
      'a=1, b=2',
      'Zoë',
      undefined,
    ]);
  });

  test('is asked for once while it is on its way', async () => {
    const cache = place().open();
    let release: ((response: HttpResponse) => void) | undefined;
    let asked = 0;
    const produce = () => {
      asked++;
      return new Promise<HttpResponse>((resolve) => (release = resolve));
    };
    const all = Promise.all(Array.from({ length: 10 }, () => cache.through('k', 1000, produce)));
    while (!release) await new Promise((resolve) => setTimeout(resolve, 1));
    release(answer('one'));
    expect((await all).map(text)).toEqual(Array(10).fill('one'));
    expect(asked).toBe(1);
  });

  test('that failed is not kept, and fails each who waited on its own', async () => {
    const cache = place().open();
    let asked = 0;
    const produce = async () => {
      asked++;
      await new Promise((resolve) => setTimeout(resolve, 5));
      throw new Failure('http', 'the server answered 500', { status: 500 });
    };
    const errors = await Promise.all(Array.from({ length: 3 }, () => cache.through('k', 1000, produce).catch((error: unknown) => error)));
    expect(asked).toBe(1);
    expect(new Set(errors).size).toBe(3);
    for (const error of errors) expect(error).toMatchObject({ kind: 'http', status: 500, message: 'the server answered 500' });
    expect(text(await cache.through('k', 1000, async () => answer('now')))).toBe('now');
  });

  test('holds no secret on disk, in whatever form it came back', async () => {
    const secret = 'canary/"pässwörd+1';
    const at = place(secret);
    const body = JSON.stringify({ echo: secret, url: encodeURIComponent(secret), basic: Buffer.from(`u:${secret}`).toString('base64') });
    const header = Buffer.from(`Bearer ${secret}`).toString('latin1');
    await at.open().through('k', 1000, async () => answer(body, { 'x-echo': header, 'x-list': [secret] }));
    const [file = ''] = await at.files();
    const kept = JSON.parse(await readFile(file, 'utf8')) as { body: string; headers: object };
    const everything =
      Buffer.from(kept.body, 'base64').toString() + Buffer.from(kept.body, 'base64').toString('latin1') + JSON.stringify(kept.headers);
    for (const form of ['canary', 'pässw', 'p%C3%A4ss', Buffer.from(`u:${secret}`).toString('base64').slice(4, 20)])
      expect(everything).not.toContain(form);
    expect(JSON.parse(Buffer.from(kept.body, 'base64').toString())).toEqual({
      echo: '***',
      url: '***',
      basic: expect.stringContaining('***'),
    });
    expect(kept.headers).toEqual({ 'x-echo': 'Bearer ***', 'x-list': ['***'] });
  });
});

describe('the files', () => {
  test("are for their owner's eyes", async () => {
    const at = place();
    await at.open().through('k', 1000, async () => answer('one'));
    const [file = ''] = await at.files();
    const modes = await Promise.all(
      [file, join(file, '..'), at.folder, join(at.folder, '..')].map(async (path) => ((await stat(path)).mode & 0o777).toString(8)),
    );
    expect(modes).toEqual(['600', '700', '700', '700']);
  });

  test.each(['', 'junk', 'null', '{}', '[]', '{"keptAtMs":9e99,"status":200}', '{"keptAtMs":9e99,"headers":null,"body":"x"}'])(
    'that cannot be read count as none: %s',
    async (content) => {
      const at = place();
      await at.open().through('k', 1000, async () => answer('one'));
      const [file = ''] = await at.files();
      await writeFile(file, content);
      expect(text(await at.open().through('k', 1000, async () => answer('two')))).toBe('two');
      expect(text(await at.open().through('k', 1000, async () => answer('three')))).toBe('two');
    },
  );

  test('are whole whoever writes them at the same time', async () => {
    const at = place();
    const bodies = Array.from({ length: 20 }, (_, i) => String(i).repeat(50_000));
    await Promise.all(bodies.map((body) => at.open().through('k', 1000, async () => answer(body))));
    expect(await at.files()).toHaveLength(1);
    expect(bodies).toContain(text(await at.open().through('k', 1000, () => Promise.reject(new Error('asked again')))));
  });

  test('that cannot be written are told of once, and every answer is used', async () => {
    const at = place();
    await mkdir(join(at.folder, '..'), { recursive: true });
    await writeFile(at.folder, 'no folder');
    const cache = at.open();
    const { produce, asked } = producer(answer('one'), answer('two'), answer('three'));
    const both = await Promise.all([cache.through('k', 1000, produce), cache.through('other', 1000, produce)]);
    expect(both.map(text).sort()).toEqual(['one', 'two']);
    expect(text(await cache.through('k', 1000, produce))).toBe('three');
    expect(asked()).toBe(3);
    const reason = expect.stringMatching(
      /^answers are not kept: the cache folder .* cannot be written: E[^']+ \(AUTOMATE_HOME moves it\)$/,
    );
    expect(at.warnings).toEqual([reason]);
    expect(at.warnings[0]).toContain(at.folder);
  });

  test('of before are used though no more can be written', async () => {
    const at = place();
    await at.open().through('old', 1000, async () => answer('old'));
    const name = createHash('sha256').update('k').digest('hex');
    await writeFile(join(at.folder, name.slice(0, 2)), 'no folder');
    const cache = at.open();
    expect(text(await cache.through('k', 1000, async () => answer('one')))).toBe('one');
    expect(text(await cache.through('old', 1000, async () => answer('two')))).toBe('old');
    expect(at.warnings).toHaveLength(1);
  });

  test('are none without a folder, and what is on its way is still asked for once', async () => {
    const redactor = createRedactor();
    const cache = createCache({ folder: undefined, redactor, wallNow: Date.now, warn: () => expect.unreachable() });
    const { produce, asked } = producer(answer('one'), answer('two'));
    const both = await Promise.all([cache.through('k', 1000, produce), cache.through('k', 1000, produce)]);
    expect(both.map(text)).toEqual(['one', 'one']);
    expect(text(await cache.through('k', 1000, produce))).toBe('two');
    expect(asked()).toBe(2);
  });
});

describe('a sweep', () => {
  /** The sweep runs beside the first request. */
  async function swept(at: Place): Promise<string[]> {
    await at.open().through('fresh', 1000, async () => answer('fresh'));
    await new Promise((resolve) => setTimeout(resolve, 30));
    return (await at.files()).map((file) => file.slice(at.folder.length + 1)).sort();
  }

  test('takes away what has come to its end', async () => {
    const at = place();
    const cache = at.open();
    await cache.through('short', 1000, async () => answer('short'));
    await cache.through('long', 100_000, async () => answer('long'));
    at.pass(50_000);
    expect(await swept(at)).toHaveLength(2);
    expect(text(await at.open().through('long', 100_000, async () => answer('other')))).toBe('long');
  });

  test('leaves what another run is still writing, and takes what one that died has left', async () => {
    const at = place();
    await mkdir(join(at.folder, 'ab'), { recursive: true });
    const [written, left] = [join(at.folder, 'ab', 'x.json.1'), join(at.folder, 'ab', 'x.json.2')];
    await writeFile(written, 'half');
    await writeFile(left, 'half');
    const dayAgo = new Date(Date.now() - 86_400_000);
    await utimes(left, dayAgo, dayAgo);
    at.pass(10);
    const files = await swept(at);
    expect(files).toContain(join('ab', 'x.json.1'));
    expect(files).not.toContain(join('ab', 'x.json.2'));
  });

  test('that meets something odd harms nothing', async () => {
    const at = place();
    await mkdir(join(at.folder, 'ab', 'folder.json'), { recursive: true });
    await chmod(join(at.folder, 'ab'), 0o500);
    expect(await swept(at)).toHaveLength(2);
  });
});
