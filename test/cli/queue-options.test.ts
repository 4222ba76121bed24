import { mkdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const flow = 'nodes:\n  - { type: set, fields: { a: "1" } }\n';

test.each([
  [
    ['--workers', '2', '--queue', 'redis://127.0.0.1:1'],
    '--workers starts processes on this machine, --queue uses workers that watch a queue',
  ],
  [['--queue-name', 'a'], '--queue-name works only with --queue: add --queue, or leave --queue-name out'],
  [['--wait-for-workers', '2s'], '--wait-for-workers works only with --queue: add --queue, or leave --wait-for-workers out'],
  [['--queue', 'redis://:password@127.0.0.1'], 'expected a URL without a password'],
  [['--queue', 'redis://a,b'], 'Sentinel or a Cluster'],
  [['--queue', 'redis://127.0.0.1:1', '--queue-name', 'a b'], 'expected letters, digits, - and _'],
])('automate run refuses the options %j with exit code 2', async (args, message) => {
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': 'id\n1\n' });
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(await place.files()).not.toContain('out.csv');
});

test('a dry run does not connect to the queue', async () => {
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': 'id\n1\n' });
  const { code, stderr } = await place.automate([
    'run',
    'flow.yaml',
    '--in',
    'in.csv',
    '--out',
    'out.csv',
    '--dry-run',
    '--queue',
    'redis://127.0.0.1:1',
  ]);
  expect(code, stderr).toBe(0);
});

test.each([
  ['run', ['flow.yaml', '--in', 'in.csv', '--out', 'out.csv']],
  ['worker', []],
  ['serve', ['flows']],
  ['status', []],
])('automate %s requires a queue key, even for a Redis on this machine', async (command, args) => {
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': 'id\n1\n' });
  await mkdir(place.path('flows'));
  for (const [key, message] of [
    ['', 'there is no queue key'],
    ['x'.repeat(20), 'found one character repeated'],
  ] as const) {
    const { code, stderr } = await place.automate([command, ...args, '--queue', 'redis://127.0.0.1:1'], {
      env: { AUTOMATE_QUEUE_KEY: key },
    });
    expect([code, stderr]).toEqual([7, expect.stringContaining(message)]);
    expect(stderr).toContain('openssl rand -base64 24');
    expect(stderr).not.toContain('x'.repeat(20));
  }
  expect(await place.files()).not.toContain('out.errors.csv');
});

test.each(['worker', 'status'])('automate %s requires the URL of a queue', async (command) => {
  const { code, stderr } = await (await workplace({})).automate([command]);
  expect(code).toBe(2);
  expect(stderr).toContain('redis://redis:6379');
});

test.each([
  ['saves files', '{ type: http, url: "https://a.example/{{id}}", save: { to: "{{id}}" } }', 'does not send or save files'],
  ['sends requests to a public server', '{ type: geocode, provider: nominatim, address: "{{id}}" }', 'does not use a public server'],
  [
    'starts an MCP server with a command',
    '{ type: mcp, connection: m, tool: t }',
    'reached over HTTP, found one that is started by a command',
  ],
  [
    'uses a browser login',
    '{ type: http, connection: crm, url: "/{{id}}" }',
    'without a browser login, whose tokens only one machine can renew, found crm-login',
  ],
  [
    'reads a file on this machine',
    '{ type: places, lookup: points, source: file, file: a.geojson, category: cafe, near: { lat: "1", lon: "1", radius: 9m } }',
    'does not read files on this machine, found a.geojson',
  ],
  [
    'presents a client certificate',
    '{ type: http, connection: bank, url: "/{{id}}" }',
    'does not read files on this machine, found bank.pem',
  ],
])('a flow that %s cannot run over a queue', async (_name, node, message) => {
  const auth = '{ type: oauth2_authorization_code, credential: crm-login, client_id: me }';
  const connections = `connections:\n  m: { type: mcp, command: "true" }\n  crm: { type: http, base_url: "https://a.example", auth: ${auth} }\n  bank: { type: http, base_url: "https://b.example", auth: none, client_cert: { cert: bank.pem, key: bank.key } }\n`;
  const place = await workplace({ 'flow.yaml': `${connections}nodes:\n  - ${node}\n`, 'in.csv': 'id\n1\n' });
  const { code, stderr } = await place.automate([
    'run',
    'flow.yaml',
    '--in',
    'in.csv',
    '--out',
    'out.csv',
    '--queue',
    'redis://127.0.0.1:1',
  ]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('a flow that sends requests to a public server runs in only one worker', async () => {
  const flow = 'nodes:\n  - { type: geocode, provider: nominatim, address: "{{id}}" }\n';
  const place = await workplace({ 'flow.yaml': flow, 'in.csv': 'id\n' });
  const args = ['run', 'flow.yaml', '--in', 'in.csv', '--out', 'out.csv', '--workers', '2', '--summary', 'summary.json'];
  const { code, stderr } = await place.automate(args);
  expect([code, stderr]).toEqual([0, expect.stringContaining('so only one worker runs')]);
  expect(JSON.parse(await place.read('summary.json'))).toMatchObject({ workers: { most: 1 } });
});
