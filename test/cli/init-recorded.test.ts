import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { workplace } from '../helpers/cli.ts';

const secrets = ['t0kSecretValue9931', 'aB3dE5fG7hI9jK1l', 'k9Xw2LmQ7rT4vB8z'];

const recording = {
  log: {
    version: '1.2',
    creator: { name: 'WebInspector', version: '537.36' },
    entries: [
      {
        _resourceType: 'image',
        request: { method: 'GET', url: 'https://shop.example.com/logo.png', headers: [], cookies: [] },
        response: { status: 200, content: { mimeType: 'image/png', text: 'iVBORw0KGgo=', encoding: 'base64' } },
      },
      {
        _resourceType: 'fetch',
        request: {
          method: 'GET',
          url: `https://api.example.com/v2/orders/17?access_token=${secrets[2]}`,
          headers: [
            { name: ':authority', value: 'api.example.com' },
            { name: 'authorization', value: `Bearer ${secrets[0]}` },
            { name: 'sec-fetch-dest', value: 'empty' },
            { name: 'user-agent', value: 'Mozilla/5.0' },
            { name: 'x-tenant', value: 'acme' },
          ],
          cookies: [{ name: 'sid', value: secrets[1] }],
        },
        response: { status: 200, content: { mimeType: 'application/json', text: `{"id":17,"total":5,"csrf_token":"${secrets[1]}"}` } },
      },
    ],
  },
};

const collection = {
  info: { name: 'CRM', schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json' },
  auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{accessToken}}' }] },
  variable: [
    { key: 'baseUrl', value: 'https://crm.example.com/v1' },
    { key: 'accessToken', value: secrets[0] },
    { key: 'apiKey', value: secrets[2] },
  ],
  item: [
    {
      name: 'Users',
      item: [
        {
          name: 'Get',
          request: {
            method: 'GET',
            header: [{ key: 'X-Api-Key', value: '{{apiKey}}' }],
            url: { raw: '{{baseUrl}}/users/:id', variable: [{ key: 'id', value: '42' }] },
          },
        },
      ],
    },
    { name: 'Get', request: 'https://crm.example.com/all' },
  ],
};

async function written(args: readonly string[]) {
  const place = await workplace({
    'rows.csv': 'id\n17\n',
    'a.har': JSON.stringify(recording),
    'c.json': JSON.stringify(collection),
  });
  const { code, stdout, stderr } = await place.automate(['init', 'new', ...args]);
  return { code, stdout, stderr, place };
}

describe('automate init --from-har', () => {
  test('lists only calls of an API, by their position in the file', async () => {
    const { code, stdout, place } = await written(['--from-har', 'a.har']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^2 +GET +https:\/\/api.example.com\/v2\/orders\/17\?access_token=\*\*\* +200 +JSON$/m),
    ]);
    expect(stdout).not.toContain('logo.png');
    expect(await place.files()).not.toContain('new');
  });

  test('writes a flow without any secret', async () => {
    const { code, stderr, place } = await written(['--from-har', 'a.har', '--entry', '2', '--in', 'rows.csv']);
    const text = await place.read('new/flow.yaml');
    expect([code, secrets.filter((secret) => (text + stderr).includes(secret))]).toEqual([0, []]);
    expect(parse(text).nodes[0]).toMatchObject({
      url: 'https://api.example.com/v2/orders/{{id}}',
      auth: [{ type: 'bearer' }, { type: 'api_key', query: 'access_token' }, { type: 'api_key', header: 'Cookie' }],
      headers: { 'x-tenant': 'acme' },
      map: { total: 'total' },
    });
  });

  test.each([
    [['--from-har', 'a.har', '--entry', '1'], 2, 'entry 1 of a.har does not look like a call of an API'],
    [['--from-har', 'a.har', '--entry', '3'], 2, 'a.har has no entry 3'],
    [['--from-har', 'c.json'], 6, 'c.json: expected a HAR file, found a Postman collection'],
    [['--from-har', 'rows.csv'], 6, 'rows.csv: expected a HAR file, found text that is not JSON'],
    [['--entry', '3'], 2, '--entry works only with --from-har FILE'],
    [['--from-postman', 'a.har'], 6, 'a.har: expected a Postman collection, found a HAR file'],
    [['--from-postman', 'c.json', '--request', 'Get'], 2, 'choose one by its path\n    /Users/Get\n    /Get'],
  ])('refuses %j', async (args, code, message) => {
    const { place, ...ended } = await written(args);
    expect(ended).toMatchObject({ code, stderr: expect.stringContaining(message) });
    expect(await place.files()).not.toContain('new');
  });
});

test('automate init --from-postman turns variables into vars or credentials', async () => {
  const { code, stderr, place } = await written(['--from-postman', 'c.json', '--request', 'Users/Get', '--in', 'rows.csv']);
  const text = await place.read('new/flow.yaml');
  expect([code, secrets.filter((secret) => (text + stderr).includes(secret))]).toEqual([0, []]);
  expect(parse(text)).toMatchObject({
    vars: { baseUrl: 'https://crm.example.com/v1' },
    nodes: [
      {
        url: '{{vars.baseUrl}}/users/{{id}}',
        auth: [
          { type: 'bearer', credential: 'access-token' },
          { type: 'api_key', header: 'X-Api-Key', credential: 'api-key' },
        ],
      },
    ],
  });
});
