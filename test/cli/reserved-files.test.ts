import { link, mkdir, open, readFile, rm, symlink } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { FilesFolder, openPath } from '../../src/http/transfers/files-folder.ts';
import { makeCertificates } from '../helpers/certificates.ts';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';
import { csvRun } from '../helpers/served-runs.ts';
import { posting, servingHere } from '../helpers/serving.ts';

const { good, selfSigned } = makeCertificates();

const saving = (origin: string, more = '') =>
  `nodes:\n  - { type: http, url: "${origin}/{{id}}", save: { to: "{{path}}", replace: true } ${more} }\n`;
const sending = (origin: string, more = '') =>
  `nodes:\n  - { type: http, method: POST, url: "${origin}", form: { doc: { file: "{{path}}" } } ${more} }\n`;

const table = (paths: readonly string[]) => `id,path\n${paths.map((path, index) => `${index},${path}\n`).join('')}`;

/** Creates a folder for files with the home folder, a flow and its tests in it, and with other paths to the same files. */
async function placeWith(flow: string, files: Record<string, string> = {}): Promise<Workplace> {
  const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': 'tests: []\n', ...files });
  await mkdir(place.path('.automate/sub'), { recursive: true });
  await place.write('.automate/vault.json', 'the vault');
  await link(place.path('.automate/vault.json'), place.path('hard.json'));
  await link(place.path('flow.yaml'), place.path('hard.yaml'));
  await symlink('.automate', place.path('linked'));
  await symlink('.automate/vault.json', place.path('soft.json'));
  await place.write('free.txt', 'free');
  await link(place.path('free.txt'), place.path('free-too.txt'));
  return place;
}

const run = (place: Workplace, ...more: string[]) =>
  place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--keep-going', ...more]);

const home = "in automate's home folder, which records can neither send nor replace";
const ownFile = "one of the run's own files, which records can neither send nor replace";
const theFlow = 'the flow, which records can neither send nor replace';

/** Paths and what is there. A path to save to does not have to exist. */
const reserved = [
  ['flow.yaml', theFlow],
  ['./flow.yaml', theFlow],
  ['hard.yaml', theFlow],
  ['flow.test.yaml', 'the test file of the flow'],
  ['.automate/vault.json', home],
  ['linked/vault.json', home],
  ['hard.json', home],
  ['in.csv', ownFile],
  ['out.csv', ownFile],
  ['out.csv.automate-run', ownFile],
] as const;
const reservedToSave = [
  ...reserved,
  ['.automate/new.json', home],
  ['linked/new.json', home],
  ['.automate/sub/a/b.json', home],
  ['out.errors.csv', ownFile],
  ['out.csv.automate', ownFile],
  ['report.html', ownFile],
] as const;

describe('the flow, the files that it reads, and the home folder', () => {
  test('cannot be replaced by a download', async () => {
    const server = await httpServer((_, response) => response.end('evil'));
    const paths = [...reservedToSave.map(([path]) => path), 'free.txt', 'free-too.txt', 'new/other.txt'];
    const place = await placeWith(saving(server.origin), { 'in.csv': table(paths) });
    const { code } = await run(place, '--report', 'report.html');
    expect(code).toBe(4);
    expect(await place.read('out.csv')).toMatch(/^.*\n16,free.txt,.*\n17,free-too.txt,.*\n18,new\/other.txt,.*\n$/);
    expect(server.requests).toHaveLength(3);
    const errors = (await place.read('out.errors.csv')).split('\n').slice(1, -1);
    expect(errors).toHaveLength(reservedToSave.length);
    for (const [index, [path, what]] of reservedToSave.entries())
      expect(errors[index]).toContain(`,http-1,output,,"cannot save to ""${path}"": it is ${what}`);
    expect([await place.read('flow.yaml'), await place.read('.automate/vault.json'), await place.read('flow.test.yaml')]).toEqual([
      saving(server.origin),
      'the vault',
      'tests: []\n',
    ]);
    expect(await place.files()).not.toContain('.vault.json.automate-part');
  });

  test('cannot be uploaded', async () => {
    const server = await httpServer((_, response) => json(response, {}));
    const paths = [...reserved.map(([path]) => path), 'soft.json', 'free.txt', 'free-too.txt'];
    const place = await placeWith(sending(server.origin), { 'in.csv': table(paths) });
    expect((await run(place)).code).toBe(4);
    expect(server.requests).toHaveLength(2);
    const errors = (await place.read('out.errors.csv')).split('\n').slice(1, -1);
    for (const [index, [path, what]] of [...reserved, ['soft.json', home] as const].entries())
      expect(errors[index]).toContain(`,http-1,request,,"the file of ""doc"" in the form cannot be sent: ""${path}"" is ${what}`);
  });

  test('cannot be replaced while the home folder does not exist', async () => {
    const server = await httpServer((_, response) => response.end('evil'));
    const place = await workplace({ 'in.csv': 'id,path\n1,home/vault.json\n2,home\n', 'flow.yaml': saving(server.origin) });
    const { code } = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--record', '2'], {
      env: { AUTOMATE_HOME: place.path('home') },
    });
    expect([code, server.requests]).toEqual([4, []]);
  });

  test('cannot be replaced if they are code that the program has compiled', async () => {
    const server = await httpServer((_, response) => response.end('evil'));
    const place = await workplace({
      'in.csv': table(['caches/automate/v8-1/start.cjs', 'caches/b.txt']),
      'flow.yaml': saving(server.origin),
    });
    const { code } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--keep-going'], {
      env: { XDG_CACHE_HOME: place.path('caches') },
    });
    expect([code, server.requests.length]).toEqual([4, 1]);
    expect(await place.read('out.errors.csv')).toContain(`start.cjs"": it is in automate's cache folder`);
  });

  test('cannot be used by worker processes or test requests', async () => {
    const server = await httpServer((_, response) => response.end('evil'));
    const place = await placeWith(saving(server.origin), { 'in.csv': table(reservedToSave.map(([path]) => path)) });
    expect((await run(place, '--workers', '1', '--report', 'report.html')).code).toBe(4);
    expect(await place.read('out.csv')).toBe('id,path,saved.path,saved.bytes\n');
    const tested = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv']);
    expect([tested.code, tested.stdout + tested.stderr]).toEqual([
      4,
      expect.stringContaining(`cannot save to "flow.yaml": it is ${theFlow}`),
    ]);
    await place.write('flow.yaml', sending(server.origin));
    const sent = await place.automate(['test-request', 'flow.yaml', '--in', 'in.csv', '--record', '7']);
    expect([sent.code, sent.stdout + sent.stderr]).toEqual([4, expect.stringContaining(`"hard.json" is ${home}`)]);
    expect(server.requests).toHaveLength(0);
  });

  test('include certificates, keys, data files and the files that environment variables name', async () => {
    const names = ['ca.pem', 'client.pem', 'client.key', 'cafes.geojson', 'passphrase.txt', 'token.txt'];
    const flow = [
      'connections:',
      '  mine:',
      '    type: http',
      '    base_url: https://127.0.0.1:1',
      '    auth: { type: bearer, credential: crm }',
      '    client_cert: { cert: client.pem, key: client.key }',
      'nodes:',
      '  - { type: http, connection: mine, method: POST, url: "/", form: { doc: { file: "{{path}}" } } }',
      '  - { type: places, lookup: points, source: file, file: cafes.geojson, category: cafe, near: { lat: "1", lon: "1", radius: 1km } }',
      '',
    ].join('\n');
    const place = await placeWith(flow, {
      'in.csv': table(names),
      'cafes.geojson': '{"type":"FeatureCollection","features":[]}',
      'passphrase.txt': 'long passphrase',
      'token.txt': 'kept-elsewhere',
      'ca.pem': selfSigned.cert,
      'client.pem': good.cert,
      'client.key': good.key,
    });
    const env = {
      AUTOMATE_VAULT_PASSPHRASE_FILE: place.path('passphrase.txt'),
      AUTOMATE_CREDENTIAL_CRM_FILE: place.path('token.txt'),
    };
    const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--keep-going', '--cacert', 'ca.pem'];
    const { code, stderr } = await place.automate(args, { env });
    expect([code, stderr]).toEqual([4, expect.anything()]);
    const errors = (await place.read('out.errors.csv')).split('\n').slice(1, -1);
    const whats = names.map((name) => `a file that ${name.endsWith('.txt') ? 'automate' : 'the flow'} reads`);
    for (const [index, what] of whats.entries()) expect(errors[index]).toContain(`""${names[index]}"" is ${what}, which records`);
  });

  test('include other YAML files next to the flow, and the files in commands that print secrets', async () => {
    const server = await httpServer((_, response) => response.end('evil'));
    const names = [
      'other.yaml',
      'OTHER.YML',
      'new.yaml',
      'linked-flow.txt',
      'token.sh',
      'hard.sh',
      'my helper.sh',
      'sub/next.sh',
      'sub/x.yaml',
    ];
    const place = await placeWith(saving(server.origin), { 'in.csv': table(names), 'token.sh': 'echo a', 'my helper.sh': 'echo b' });
    await mkdir(place.path('sub'));
    for (const [name, text] of Object.entries({ 'other.yaml': 'nodes: []', 'OTHER.YML': 'nodes: []', 'sub/next.sh': 'echo c' }))
      await place.write(name, text);
    await link(place.path('other.yaml'), place.path('linked-flow.txt'));
    await link(place.path('token.sh'), place.path('hard.sh'));
    for (const [index, command] of ['sh ./token.sh', 'sh "my helper.sh"', "sh -c './sub/next.sh | head -1'"].entries())
      expect(await place.automate(['credentials', 'set', `tok${index}`, '--command', command])).toMatchObject({ code: 0 });
    const yaml = 'a YAML file in the folder of the flow';
    const whats = [...Array(4).fill(yaml), ...Array(4).fill('part of a command that prints a secret')];
    for (const more of [[], ['--workers', '1']]) {
      const { code, stderr } = await run(place, ...more);
      expect([code, stderr]).toEqual([4, expect.anything()]);
      const errors = (await place.read('out.errors.csv')).split('\n').slice(1, -1);
      expect(errors).toHaveLength(whats.length);
      for (const [index, what] of whats.entries())
        expect(errors[index]).toContain(`"cannot save to ""${names[index]}"": it is ${what}, which records can neither send nor replace"`);
      expect(await place.read('out.csv')).toContain('8,sub/x.yaml,');
      await Promise.all(['out.csv', 'out.errors.csv'].map((name) => rm(place.path(name), { force: true })));
    }
    expect(await place.read('token.sh')).toBe('echo a');
    await place.write('sending.yaml', sending(server.origin));
    await place.automate(['run', 'sending.yaml', '--in', 'in.csv', '--out', 'sent.csv', '--keep-going', '--limit', '8']);
    const refused = (await place.read('sent.errors.csv')).split('\n').slice(1, -1);
    // new.yaml does not exist, so it cannot be sent.
    expect(refused.filter((line) => line.includes('which records can neither send nor replace'))).toHaveLength(7);
  });

  test('are refused as the folder for files', async () => {
    const place = await placeWith(saving('http://127.0.0.1:1'), { 'in.csv': 'id,path\n1,a\n' });
    for (const folder of ['.automate', '.automate/sub', 'linked'])
      expect(await run(place, '--files', folder)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--files: expected a folder outside automate's home folder, found ${folder}`),
      });
    expect(await place.files()).not.toContain('out.csv');
  });
});

test('the flows of a server, its certificate and its home folder cannot be replaced or uploaded', async () => {
  const server = await httpServer((_, response) => response.end('evil'));
  const place = await placeWith('nodes: [{ type: set, fields: { x: "1" } }]\n');
  const flows = { saving: saving(server.origin), sending: sending(server.origin) };
  const { key, send } = await servingHere(flows, { place, folder: '.', args: ['--files', place.path('.')] });
  const one = key({ scopes: ['run', 'test'] });
  const paths = ['saving.yaml', 'flow.yaml', 'planted.yml', '.automate/serve.db', 'linked/serve/runs/x', 'hard.json'];
  for (const path of paths) {
    for (const route of ['calls', 'tests']) {
      const body = route === 'calls' ? { id: 1, path } : { record: { id: 1, path } };
      const answer = await send(`/v1/flows/saving/${route}`, { key: one, ...posting(body) });
      expect([path, route, await answer.text()]).toEqual([
        path,
        route,
        expect.stringContaining('which records can neither send nor replace'),
      ]);
    }
  }
  for (const path of ['saving.yaml', 'flow.yaml', '.automate/vault.json', 'hard.json']) {
    const answer = await send('/v1/flows/sending/calls', { key: one, ...posting({ id: 1, path }) });
    expect([path, answer.status, await answer.text()]).toEqual([
      path,
      422,
      expect.stringContaining('which records can neither send nor replace'),
    ]);
  }
  const ran = await send('/v1/flows/saving/runs', { key: one, ...csvRun(table(paths), { prefer: 'wait=30' }) });
  expect(await ran.json()).toMatchObject({ state: 'finished', counts: { written: 0, failed: paths.length } });
  expect(server.requests).toHaveLength(0);
  expect(await readFile(place.path('saving.yaml'), 'utf8')).toBe(flows.saving);
  expect(await place.files()).not.toContain('planted.yml');
});

test('the flows of automate mcp cannot be replaced', async () => {
  const server = await httpServer((_, response) => response.end('evil'));
  const place = await placeWith(saving(server.origin), { 'other.yaml': 'nodes: [{ type: set, fields: { x: "1" } }]\n' });
  const call = (id: number, path: string) => ({ id, method: 'tools/call', params: { name: 'flow', arguments: { id: '1', path } } });
  const messages = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } },
    { method: 'notifications/initialized' },
    ...['flow.yaml', 'other.yaml', 'planted.yaml', '.automate/vault.json'].map((path, index) => call(index + 2, path)),
  ];
  const stdin = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  const { stdout } = await place.automate(['mcp', '.', '--files', '.'], { stdin });
  expect(stdout.match(/which records can neither send nor replace/g)?.length).toBeGreaterThanOrEqual(4);
  expect(server.requests).toHaveLength(0);
  expect(await place.files()).not.toContain('planted.yaml');
});

test.runIf(process.platform === 'linux')(
  'a file is checked after it is opened, because a folder in its path may become a link meanwhile',
  async () => {
    const place = await placeWith('');
    await mkdir(place.path('files/docs'), { recursive: true });
    const folder = new FilesFolder(place.path('files'), [{ path: place.path('files/home'), kind: 'folder', what: 'the home' }]);
    await mkdir(place.path('files/home'));
    for (const [file, message] of [
      ['.automate/vault.json', 'leads out of the folder for files'],
      ['files/home/vault.json', 'is the home, which'],
    ] as const) {
      await place.write(file, 'secret');
      const handle = await open(place.path(file));
      try {
        const at = await openPath(handle, place.path('files/docs/vault.json'));
        await expect(folder.refuseOpen(handle, at, 'docs/vault.json')).rejects.toThrow(message);
      } finally {
        await handle.close();
      }
    }
  },
);
