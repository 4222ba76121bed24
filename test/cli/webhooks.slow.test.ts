import { describe, expect, test } from 'vitest';
import { AuditStore } from '../../src/serve/store/audit.ts';
import { ServerDatabase } from '../../src/serve/store/database.ts';
import type { Workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { passphrase, vaultPlace } from '../helpers/light-vault.ts';

const env = { AUTOMATE_VAULT_PASSPHRASE: passphrase };
const webhooks = (place: Workplace, ...args: string[]) => place.automate(['webhooks', ...args], { env });

test("webhooks add prints the webhook's secret only once, to stdout", async () => {
  const place = await vaultPlace();
  const { code, stdout, stderr } = await webhooks(place, 'add', 'ops', '--url', 'http://127.0.0.1:9/in', '--flows', 'ask');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^whsec_\S{44}\n$/)]);
  expect(stderr).toContain('the webhook "ops" gets a message when a run of ask ends');
  expect(stderr).toContain('its secret is shown only once');
  expect(stderr).toContain('warning: there is no flow "ask" in this folder: the webhook gets messages as soon as the server has it');
  const shown = [await webhooks(place, 'list'), await webhooks(place, 'list', '--json'), await webhooks(place, 'test', 'ops')];
  for (const one of shown) expect(one.stdout + one.stderr).not.toContain(stdout.trim());
  expect(shown[0]?.stdout).toMatch(/^ops +http:\/\/127.0.0.1:9\/in +ask +on +none$/m);
});

test('webhooks list shows a URL without the values in its query', async () => {
  const place = await vaultPlace();
  await webhooks(place, 'add', 'ops', '--url', 'http://127.0.0.1:9/in?token=t0psecret&s3cret&to=crm');
  for (const args of [['list'], ['list', '--json']]) {
    const { stdout } = await webhooks(place, ...args);
    expect(stdout).toContain('http://127.0.0.1:9/in?token=***&***&to=***');
  }
});

test.each([
  [['ops'], 'expected --url'],
  [['a b', '--url', 'https://a.example'], 'expected a name of letters, digits, _ and -'],
  [['ops', '--url', 'ftp://a.example/'], 'expected an absolute https URL'],
  [['ops', '--url', 'http://93.184.216.34/'], 'expected an https URL, found http://93.184.216.34'],
  [['ops', '--url', 'https://u:p@a.example/'], 'must not contain a user name or password\n'],
  [['ops', '--url', 'https://10.0.0.7/in'], 'the address 10.0.0.7 is inside the network\n  to allow it, pass --allow-private'],
  [['ops', '--url', 'https://169.254.169.254/latest'], 'the address 169.254.169.254 is inside the network'],
  [['ops', '--url', 'https://[fd00::1]/in'], 'the address fd00::1 is inside the network'],
])('webhooks add refuses the arguments %j with exit code 2, and stores nothing', async (args, message) => {
  const place = await vaultPlace();
  const { code, stdout, stderr } = await webhooks(place, 'add', ...args);
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  expect((await webhooks(place, 'list')).stderr).toContain('there are no webhooks');
});

test('webhooks add accepts an internal address with --allow-private, but not a name that exists already', async () => {
  const place = await vaultPlace();
  const add = () => webhooks(place, 'add', 'ops', '--url', 'https://10.0.0.7/in', '--allow-private');
  expect((await add()).code).toBe(0);
  const again = await add();
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('there is a webhook "ops" already')]);
});

describe('automate webhooks test', () => {
  test.each([
    [200, 0, 'delivered: 200 in '],
    [204, 0, 'delivered: 204 in '],
    [302, 4, 'expected an answer with status 200 to 299, found 302'],
    [500, 4, 'expected an answer with status 200 to 299, found 500'],
  ])('with a response status of %i exits with %i', async (status, exit, message) => {
    const receiver = await httpServer((_, response) => response.writeHead(status, { location: '/x' }).end());
    const place = await vaultPlace();
    await webhooks(place, 'add', 'ops', '--url', `${receiver.origin}/in`);
    const { code, stderr } = await webhooks(place, 'test', 'ops');
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
    expect(receiver.requests.map(({ body }) => JSON.parse(body).type)).toEqual(['webhook.test']);
  });

  test('exits with 2 for an unknown name', async () => {
    const { code, stderr } = await webhooks(await vaultPlace(), 'test', 'none');
    expect([code, stderr]).toEqual([2, expect.stringContaining('there is no webhook "none"')]);
  });
});

test("webhooks remove also deletes the webhook's secret, and is recorded in the audit log", async () => {
  const place = await vaultPlace();
  await webhooks(place, 'add', 'ops', '--url', 'http://127.0.0.1:9/in');
  await webhooks(place, 'test', 'ops');
  expect((await webhooks(place, 'remove', 'ops')).stderr).toContain('the webhook "ops" is removed');
  expect((await place.automate(['credentials', 'list'], { env })).stdout).not.toContain('webhook-ops');
  const database = new ServerDatabase(place.path('.automate'));
  const lines = new AuditStore(database, Date.now).read({ limit: 9 });
  database.close();
  expect(lines.map(({ who, what, target, outcome }) => [who, what, target, outcome])).toEqual([
    ['command', 'webhook.remove', 'ops', 'ok'],
    ['command', 'webhook.test', 'ops', 'failed'],
    ['command', 'webhook.add', 'ops', 'ok'],
  ]);
});
