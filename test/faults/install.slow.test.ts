import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { httpServer, json } from '../helpers/http-server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The repository's files that are needed to build the package. The package is built in a copy, because packing changes package.json
 * temporarily.
 */
const sources = ['.config', 'bin', 'docs', 'examples', 'src', 'CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', 'tsconfig.json'];

let folder: string;
let prefix: string;
let home: string;
/** The output of npm install. */
let installed: string;

function npm(cwd: string, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync('npm', args, { cwd, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return stdout + stderr;
}

/** Runs a shell command in the home folder with the installed program, and with only PATH and HOME set. */
async function start(command: string, env: Record<string, string> = {}) {
  const PATH = [join(prefix, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');
  const child = spawn('/bin/sh', ['-c', command], { cwd: home, env: { PATH, HOME: home, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [status, stdout, stderr] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { status, stdout, stderr };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'automate-install-'));
  [prefix, home] = [join(folder, 'prefix'), join(folder, 'home')];
  // The packages for the embedded data are large, and are not needed for a build.
  const filter = (path: string) => !path.endsWith('/data/node_modules');
  for (const name of sources) await cp(join(root, name), join(folder, 'source', name), { recursive: true, filter });
  await symlink(join(root, 'node_modules'), join(folder, 'source', 'node_modules'));
  await Promise.all([prefix, home].map((path) => mkdir(path)));
  npm(join(folder, 'source'), 'pack', '--pack-destination', folder);
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) as string;
  installed = npm(folder, 'install', '--global', '--engine-strict', '--prefix', prefix, join(folder, tarball));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Returns the folder of the installed package. */
const packageFolder = () => join(prefix, 'lib/node_modules/@automate-cli/automate');

describe('the installed npm package', () => {
  test('installs without a warning about scripts or Node.js, and leaves package.json unchanged', async () => {
    expect(installed).not.toMatch(/script|EBADENGINE|warn/);
    const [before, after] = [join(root, 'package.json'), join(folder, 'source/package.json')];
    expect(await readFile(after, 'utf8')).toBe(await readFile(before, 'utf8'));
  });

  test('depends only on packages that cannot be bundled, and contains the licences of the bundled packages', async () => {
    expect((await readdir(join(packageFolder(), 'node_modules'))).filter((name) => !name.startsWith('.')).sort()).toEqual([
      '@libsql',
      '@napi-rs',
      '@neon-rs',
      'detect-libc',
      'libsql',
    ]);
    const licences = await readFile(join(packageFolder(), 'dist/third-party.txt'), 'utf8');
    for (const name of ['fastify', 'zod', 'undici', 'preact', '@modelcontextprotocol/client', 'yaml', 'bullmq', 'ioredis'])
      expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+\\n\\nLicence: \\S+\\n\\n.`, 'm'));
  });

  test('has its manual page where the man command finds it', async () => {
    expect(await readFile(join(prefix, 'share/man/man1/automate.1'), 'utf8')).toContain('.TH AUTOMATE 1');
  });

  test('runs the demo and a flow with expressions, with only PATH and HOME set', async () => {
    expect(await start('automate demo')).toMatchObject({ status: 0, stdout: expect.stringContaining('Asunción') });
    await writeFile(join(home, 'rows.csv'), 'a\n1\n');
    await writeFile(join(home, 'set.yaml'), `nodes: [{ type: set, fields: { b: { cel: "a + '!'" }, c: { cel: "a.matches('1')" } } }]\n`);
    expect(await start('automate run set.yaml --in rows.csv --out - --quiet')).toEqual({
      status: 0,
      stdout: 'a,b,c\n1,1!,true\n',
      stderr: '',
    });
  });

  test('sends requests, retries failed records, counts credits and writes a report', async () => {
    const seen = new Set<string>();
    const server = await httpServer(({ path }, response) => {
      json(response, { name: 'Ada' }, seen.has(path) ? 200 : 404);
      seen.add(path);
    });
    await writeFile(join(home, 'rows.csv'), 'a\n1\n');
    await writeFile(join(home, 'http.yaml'), `nodes: [{ type: http, url: "${server.origin}/{{a}}", map: [name], cache: 1h }]\n`);
    expect(await start('automate run http.yaml --in rows.csv --out http.csv --report r.html')).toMatchObject({ status: 4 });
    expect(await start('automate retry http.csv')).toMatchObject({ status: 0 });
    expect(await readFile(join(home, 'http.csv'), 'utf8')).toBe('a,name\n1,Ada\n');
    expect(await readFile(join(home, 'r.html'), 'utf8')).toContain('<!doctype html>');
    expect(await start('automate credits')).toMatchObject({ status: 0, stdout: expect.stringContaining('2') });
    expect(await start('automate test-request http.yaml --in rows.csv')).toMatchObject({ status: 0 });
  });

  test('stores secrets in the vault, and can load the library for the system keychain', async () => {
    const vault = { AUTOMATE_VAULT_PASSPHRASE: 'correct horse battery staple' };
    expect((await start('printf s3cret | automate credentials set crm --backend vault', vault)).status).toBe(0);
    expect(await start('automate credentials check crm', vault)).toMatchObject({ status: 0 });
    const load = `require('module').createRequire('${packageFolder()}/dist/keychain-process.js')('@napi-rs/keyring').Entry.name`;
    expect(await start(`node -p "${load}"`)).toMatchObject({ status: 0, stdout: 'Entry\n' });
  });

  test('looks up places in its embedded data', async () => {
    expect(await start('automate geocode "Paris, France"')).toMatchObject({ status: 0, stdout: expect.stringContaining('Paris') });
    expect(await start('automate places chains Starbucks')).toMatchObject({ status: 0, stdout: expect.stringContaining('Starbucks') });
    expect(await start('automate notices')).toMatchObject({ status: 0 });
  });

  test('creates flows from an OpenAPI file or a curl command, and validates them', async () => {
    const document = {
      openapi: '3.0.3',
      info: { title: 't', version: '1' },
      servers: [{ url: 'https://api.example.com' }],
      paths: { '/pets/{id}': { get: { operationId: 'getPet', parameters: [{ $ref: '#/components/parameters/id' }], responses: {} } } },
      components: { parameters: { id: { name: 'id', in: 'path', required: true, schema: { type: 'string' } } } },
    };
    await writeFile(join(home, 'api.json'), JSON.stringify(document));
    expect(await start('automate init pet --from-openapi api.json --operation getPet')).toMatchObject({ status: 0 });
    expect(await start(`automate init curl --from-curl 'curl https://api.example.com/1'`)).toMatchObject({ status: 0 });
    for (const flow of ['pet', 'curl']) expect(await start(`automate validate ${flow}/flow.yaml`)).toMatchObject({ status: 0 });
  });

  test('tests a connection to an MCP server', async () => {
    const server = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
    expect(await start(`automate connections add mcp tools --command "node ${server}"`)).toMatchObject({ status: 0 });
    expect(await start('automate connections test tools')).toMatchObject({ status: 0 });
  });

  test('serves flows, their OpenAPI description and the web page', async () => {
    await mkdir(join(home, 'flows'));
    await writeFile(join(home, 'flows/set.yaml'), 'nodes: [{ type: set, fields: { b: "{{a}}!" } }]\n');
    const key = (await start('automate keys create first')).stdout.trim();
    const script = `automate serve flows --port 0 > serve.log 2>&1 & server=$!
      while ! grep -q '^serving' serve.log; do sleep 0.1; done
      at=$(sed -n 's/^serving .* at //p' serve.log)
      get() { curl -sf -o "$1" "$at$2" -H 'Authorization: Bearer ${key}'; }
      get health /healthz && get page / && get page.js /assets/page.js && get openapi.json /v1/openapi.json
      code=$?; kill $server; wait $server; exit $code`;
    expect(await start(script)).toMatchObject({ status: 0 });
    expect(JSON.parse(await readFile(join(home, 'openapi.json'), 'utf8'))).toMatchObject({ openapi: '3.1.0' });
    expect(await readFile(join(home, 'page'), 'utf8')).toContain('<!doctype html>');
  });

  test('offers flows as MCP tools over stdio', async () => {
    await mkdir(join(home, 'tools'));
    await writeFile(join(home, 'tools/shout.yaml'), 'nodes: [{ type: set, fields: { b: "{{a}}!" } }]\n');
    expect(await start('automate connections add mcp own --command "automate mcp tools"')).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('shout: Runs the flow "shout" for one record:'),
    });
  });

  test.each([
    'completion bash',
    'schema',
    'nodes http',
    'cache info',
    'connections list',
    'keys list',
    'webhooks list',
    'credentials list',
  ])('runs automate %s', async (command) => expect(await start(`automate ${command}`)).toMatchObject({ status: 0 }));
});
