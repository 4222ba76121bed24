import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Workplace, workplace } from '../helpers/cli.ts';
import { collections, requestNames } from './recorded/collections.ts';
import { recordings } from './recorded/recordings.ts';

/** Returns the secrets that stand in one of the texts, also in other encodings. */
function secretsIn(secrets: readonly string[], texts: readonly string[]): string[] {
  const forms = (secret: string) => [secret, encodeURIComponent(secret), decodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  return secrets.filter((secret) => forms(secret).some((form) => texts.some((text) => text.includes(form))));
}

async function writtenTexts({ folder }: Workplace, name: string): Promise<string[]> {
  const files = await readdir(join(folder, name)).catch(() => []);
  return Promise.all(files.map((file) => readFile(join(folder, name, file), 'utf8')));
}

async function expectCleanFlow(place: Workplace, secrets: readonly string[], options: readonly string[]): Promise<void> {
  await rm(place.path('new'), { recursive: true, force: true });
  const made = await place.automate(['init', 'new', ...options]);
  expect([made.code, made.stderr]).toEqual([0, expect.any(String)]);
  const texts = await writtenTexts(place, 'new');
  expect(secretsIn(secrets, [made.stdout, made.stderr, ...texts])).toEqual([]);
  expect(await place.automate(['validate', 'new/flow.yaml', '--offline'])).toMatchObject({ code: 0 });
}

describe.each(recordings)('a recording of $tool', ({ document, secrets, calls }) => {
  test('is listed with its calls of an API, and without secrets', async () => {
    const place = await workplace({ 'a.har': JSON.stringify(document) });
    const { code, stdout, stderr } = await place.automate(['init', '--from-har', 'a.har']);
    expect([code, secretsIn(secrets, [stdout, stderr])]).toEqual([0, []]);
    expect([...stdout.matchAll(/^(\d+) /gm)].map(([, number]) => Number(number)).slice(0, calls.length)).toEqual(calls);
  });

  test.each(calls)('becomes a valid flow without secrets: entry %i', async (number) => {
    const place = await workplace({ 'a.har': JSON.stringify(document), 'rows.csv': 'code\nx\n' });
    for (const input of [[], ['--in', 'rows.csv']])
      await expectCleanFlow(place, secrets, ['--from-har', 'a.har', '--entry', String(number), ...input]);
  });
});

describe.each(collections)('a collection $version', ({ document, secrets }) => {
  test('is listed without secrets', async () => {
    const place = await workplace({ 'c.json': JSON.stringify(document) });
    const { code, stdout, stderr } = await place.automate(['init', '--from-postman', 'c.json']);
    expect([code, secretsIn(secrets, [stdout, stderr])]).toEqual([0, []]);
    expect(requestNames.filter((name) => !stdout.includes(name))).toEqual([]);
  });

  test.each(requestNames)('becomes a valid flow without secrets: %s', async (name) => {
    const place = await workplace({ 'c.json': JSON.stringify(document), 'rows.csv': 'code\nx\n' });
    for (const input of [[], ['--in', 'rows.csv']])
      await expectCleanFlow(place, secrets, ['--from-postman', 'c.json', '--request', name, ...input]);
  });
});

describe('the flow of a request of a collection', () => {
  const first = collections[0]?.document;

  test.each([
    [
      'Bodies/raw json',
      {
        vars: { baseUrl: 'https://api.example.com/v3', limit: 50 },
        nodes: [
          {
            url: '{{vars.baseUrl}}/things',
            auth: { type: 'bearer', credential: 'access-token' },
            body: { name: '{{name}}', limit: '{{vars.limit}}', password: { credential: 'p1' }, pin: { passcode: { credential: 'p2' } } },
          },
        ],
      },
    ],
    ['Bodies/formdata', { nodes: [{ form: { title: 'Invoice', document: { file: '/home/ada/a.pdf' } } }] }],
    ['Auths/inherited', { nodes: [{ auth: { type: 'basic', credential: 'example-login' } }] }],
    ['Auths/bearer', { nodes: [{ auth: { type: 'bearer', credential: 'p1' } }] }],
    ['Auths/basic', { nodes: [{ auth: { type: 'basic', username: '{{vars.who}}', credential: 'p2' } }] }],
    ['Auths/apikey in the query', { nodes: [{ auth: { type: 'api_key', query: 'k' } }] }],
    ['Auths/oauth2', { nodes: [{ auth: { type: 'oauth2_client_credentials', client_id: 'client-17', scopes: ['read', 'write'] } }] }],
    ['Auths/awsv4', { nodes: [{ auth: { type: 'aws_sigv4', service: 'execute-api', region: 'eu-central-1' } }] }],
    ['Auths/jwt', { nodes: [{ auth: { type: 'jwt', algorithm: 'HS256', issuer: 'app-1', claims: { team: 'a' } } }] }],
    ['Auths/digest', { nodes: [{ auth: { type: 'digest' } }] }],
    ['Places/vague query', { nodes: [{ url: '{{vars.baseUrl}}/me?page={{page}}', auth: [{}, { query: 'api_key', credential: 'k2' }] }] }],
    ['Places/with answer', { nodes: [{ map: { id: 'id', total: 'total' } }] }],
  ])('%s', async (name, flow) => {
    const place = await workplace({ 'c.json': JSON.stringify(first) });
    await place.automate(['init', 'new', '--from-postman', 'c.json', '--request', name]);
    const written = parse(await place.read('new/flow.yaml'));
    expect(written).toMatchObject(flow);
    expect(Object.values(written.nodes[0].map ?? {}).filter((path) => String(path).includes('[]'))).toEqual([]);
  });

  test('has no auth, but a note, if the type of auth is unknown', async () => {
    const place = await workplace({ 'c.json': JSON.stringify(first) });
    const { stderr } = await place.automate(['init', 'new', '--from-postman', 'c.json', '--request', 'Auths/hawk']);
    expect(stderr).toContain('auth of the type "hawk" was left out: a flow does not have it');
    expect(parse(await place.read('new/flow.yaml')).nodes[0]).not.toHaveProperty('auth');
  });
});

describe('init from a collection', () => {
  test.each(['my-token', 'my-token-2', 'example-token', 'secret-1234', 'credential', '{{apiKey}}'])(
    'ends if a secret looks like the name of a credential: %s',
    async (secret) => {
      const body = {
        mode: 'raw',
        raw: JSON.stringify({ apiKey: secret, again: [{ credential: secret }, { credential: { credential: secret } }] }),
      };
      const item = [
        { name: 'a', request: { method: 'POST', header: [{ key: 'X-Api-Key', value: secret }], body, url: 'https://api.example.com/a' } },
      ];
      const place = await workplace({ 'c.json': JSON.stringify({ info: {}, item }) });
      const { code } = await place.automate(['init', 'new', '--from-postman', 'c.json', '--request', 'a']);
      const texts = await writtenTexts(place, 'new');
      expect([[0, 2].includes(code as number), texts.join().includes(`: ${secret}\n`)]).toEqual([true, false]);
    },
  );
});
