import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));
const parts = fileURLToPath(new URL('../../.config/undici-parts.mjs', import.meta.url));

/** Creates a workplace with a flow, and returns a function that runs the program there in a new process. */
async function startPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'automate-start-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'flow.yaml'), 'nodes: [{ type: set, fields: { b: "{{a}}!" } }]\n');
  await writeFile(join(folder, 'rows.csv'), 'a\n1\n');
  const env = { PATH: process.env.PATH, AUTOMATE_HOME: join(folder, '.automate'), XDG_CACHE_HOME: join(folder, 'caches') };
  const start = (args: readonly string[], flags: readonly string[] = [], variables: Record<string, string> = {}) => {
    const options = { cwd: folder, env: { ...env, ...variables }, encoding: 'utf8' } as const;
    const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, bin, ...args], options);
    return { stdout, stderr, status };
  };
  return { folder, start };
}

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', '-', '--quiet'];
const works = { status: 0, stdout: 'a,b\n1,1!\n', stderr: '' };

describe('the automate program', () => {
  test.each([
    ['additional V8 flags', ['--no-opt']],
    ['a small heap', ['--max-old-space-size=64']],
  ])('starts with %s', async (_, flags) => {
    expect((await startPlace()).start(run, flags)).toEqual(works);
  });

  test('prints nothing from libraries that call console.warn or console.debug', async () => {
    const { folder, start } = await startPlace();
    const library = `process.once('exit', () => { console.warn('a name of a tool'); console.debug('another'); });`;
    await writeFile(join(folder, 'library.cjs'), library);
    expect(start(run, ['--require', './library.cjs'])).toEqual(works);
  });
});

describe('the files that a command loads', () => {
  const httpFlow = 'nodes: [{ type: http, url: "https://a.example/{{a}}", map: { b: x } }]\n';
  const filter = run.map((word) => word.replace('flow.yaml', 'filter.yaml'));
  const basic = ['main', 'start', 'rolldown-runtime'];
  const options = [...basic, 'commands'];
  const checks = [...options, 'flow'];
  const expressions = [...checks, 'run', 'csv-reader', 'filter', '@marcbachmann-cel-js'];

  test.each([
    ['--version', ['--version'], basic],
    ['--help', ['--help'], basic],
    ['run --help', ['run', '--help'], options],
    ['test --help', ['test', '--help'], options],
    ['serve --help', ['serve', '--help'], options],
    ['keys create --help', ['keys', 'create', '--help'], options],
    ['validate of a flow that sends requests', ['validate', 'http.yaml', '--offline'], [...checks, 'http', 'run']],
    ['run of a flow with a set node', run, [...checks, 'run', 'csv-reader', 'set']],
    ['run of a flow with a filter node', filter, expressions],
    ['run of a flow that reads dates', run.map((word) => word.replace('flow.yaml', 'dates.yaml')), [...expressions, 'temporal-polyfill']],
  ])('are only these for %s', async (_, args, expected) => {
    const { folder, start } = await startPlace();
    await writeFile(join(folder, 'http.yaml'), httpFlow);
    await writeFile(join(folder, 'filter.yaml'), 'nodes: [{ type: filter, where: a == "1" }]\n');
    await writeFile(join(folder, 'dates.yaml'), `nodes: [{ type: filter, where: 'a == "1" || date.parse(a, "yyyy") > now()' }]\n`);
    expect(start(args, [], { NODE_V8_COVERAGE: 'coverage' }).status).toBe(0);
    expect((await filesIn(join(folder, 'coverage'))).sort()).toEqual(expected.map((name) => `${name}.cjs`).sort());
  });

  test('do not include an MCP client, an HTTP client or lookups for shell completion', async () => {
    const { folder, start } = await startPlace();
    expect(start(['completion', 'bash'], [], { NODE_V8_COVERAGE: 'coverage' }).status).toBe(0);
    expect((await filesIn(join(folder, 'coverage'))).filter((name) => /mcp|modelcontext|undici|places|re2js/.test(name))).toEqual([]);
  });
});

describe('compiled code', () => {
  /** Returns the content of each file in the cache. */
  async function storedIn(folder: string): Promise<ReadonlyMap<string, Buffer>> {
    const files = await readdir(join(folder, 'caches', 'automate'), { recursive: true, withFileTypes: true });
    const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
  }

  test('is stored in a cache folder that only the user can read', async () => {
    const { folder, start } = await startPlace();
    expect([start(run), start(run)]).toEqual([works, works]);
    expect((await storedIn(folder)).size).toBeGreaterThan(0);
    if (process.platform !== 'win32') expect((await stat(join(folder, 'caches', 'automate'))).mode & 0o777).toBe(0o700);
  });

  test('is used again, and stored again if it is damaged', async () => {
    const { folder, start } = await startPlace();
    start(run);
    const damaged = [...(await storedIn(folder))].map(([path, code], index) => {
      const middle = Math.floor(code.length / 2);
      if (index % 3 === 0) code.writeUInt8(code.readUInt8(middle) ^ 1, middle);
      return [path, index % 3 === 1 ? code.subarray(0, index) : code, index % 3 === 2] as const;
    });
    for (const [path, code] of damaged) await writeFile(path, code);
    expect([start(run), start(run)]).toEqual([works, works]);
    if ('enableCompileCache' in module) return;
    const stored = await storedIn(folder);
    for (const [path, code, isWhole] of damaged) expect(stored.get(path)?.equals(code), path).toBe(isWhole);
  });

  test('is not used for other code of the same length', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'automate-start-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await cp(dirname(bin), join(folder, 'bin'), { recursive: true });
    await mkdir(join(folder, 'dist'));
    const options = { env: { PATH: process.env.PATH, XDG_CACHE_HOME: join(folder, 'caches') }, encoding: 'utf8' } as const;
    for (const text of ['one', 'two']) {
      await writeFile(join(folder, 'dist/main.cjs'), `exports.main = () => console.log('${text}');`);
      expect(spawnSync(process.execPath, [join(folder, 'bin/automate.js')], options).stdout).toBe(`${text}\n`);
    }
  });

  test('is not used by another version of Node, which could crash on it', async () => {
    const { folder, start } = await startPlace();
    const other = join(folder, 'other-version.cjs');
    await writeFile(other, "Object.defineProperty(process, 'version', { value: 'v20.18.0' });");
    expect([start(run), start(run, ['--require', other])]).toEqual([works, works]);
    if ('enableCompileCache' in module) return;
    expect(await readdir(join(folder, 'caches/automate'))).toHaveLength(2);
  });

  test('leaves no other file if it cannot be stored', async () => {
    const { folder, start } = await startPlace();
    start(run);
    const before = await storedIn(folder);
    const [path = ''] = before.keys();
    await rm(path);
    await mkdir(path);
    expect(start(run)).toEqual(works);
    if ('enableCompileCache' in module) return;
    expect([...(await storedIn(folder)).keys(), path].sort()).toEqual([...before.keys()].sort());
  });

  test('is not used if NODE_DISABLE_COMPILE_CACHE is set', async () => {
    const { folder, start } = await startPlace();
    expect(start(run, [], { NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual(works);
    expect(await readdir(folder)).not.toContain('caches');
  });

  test('is optional: the program also runs without a cache folder', async () => {
    expect((await startPlace()).start(run, [], { XDG_CACHE_HOME: bin })).toEqual(works);
  });
});

test('the files of the program know each other by the names in the sources, which hardly change with an update', () => {
  expect(module.createRequire(bin)('../dist/start.cjs')).toHaveProperty('AutomateError');
});

describe('the undici modules that the bundle refers to', () => {
  test('all exist', async () => {
    const source = await readFile(parts, 'utf8');
    const paths = [...source.matchAll(/'(undici\/[^']+)'/g)].map(([, path]) => path as string);
    expect(paths).toHaveLength(6);
    for (const path of paths) expect(await import(path), path).toMatchObject({ default: expect.any(Function) });
  });

  test('are those that the sources import', async () => {
    const { default: Dispatcher } = await import('undici/lib/dispatcher/dispatcher.js' as string);
    const exported = await import(parts);
    const { buildConnector, Client, Pool, ProxyAgent } = await import('undici');
    expect({ ...exported }).toEqual({ buildConnector, Client, Pool, ProxyAgent });
    expect(Dispatcher.prototype.connect).toEqual(expect.any(Function));
  });
});

/** Returns the files of dist that were run. */
async function scriptsIn(coverage: string): Promise<Coverage['result'][number][]> {
  const reports = await Promise.all((await readdir(coverage)).map((file) => readFile(join(coverage, file), 'utf8')));
  return reports.flatMap((text) => (JSON.parse(text) as Coverage).result).filter(({ url }) => url.includes('/dist/'));
}

async function filesIn(coverage: string): Promise<string[]> {
  return (await scriptsIn(coverage)).map(({ url }) => url.slice(url.lastIndexOf('/dist/') + '/dist/'.length));
}

/** The content of a file that NODE_V8_COVERAGE writes. */
interface Coverage {
  readonly result: readonly { readonly url: string }[];
}
