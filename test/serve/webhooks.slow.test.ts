import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { newSecret } from '../../src/serve/store/webhook-sender.ts';
import { askedServer, askingFlow, csvOf } from '../helpers/asking.ts';
import { readAllFiles } from '../helpers/cli.ts';
import { type Handler, httpServer } from '../helpers/http-server.ts';
import { passphrase, vaultPlace } from '../helpers/light-vault.ts';
import { servingHere as serving } from '../helpers/serving.ts';

const env = { AUTOMATE_VAULT_PASSPHRASE: passphrase };

/** Starts a server with one webhook, whose receiver responds with `handler`. */
async function told(handler: Handler = () => {}, ...options: string[]) {
  const { origin } = await askedServer();
  const receiver = await httpServer(handler);
  const place = await vaultPlace();
  const added = await place.automate(['webhooks', 'add', 'ops', '--url', `${receiver.origin}/in`, ...options], { env });
  expect(added.code).toBe(0);
  const secret = added.stdout.trim();
  const server = await serving({ ask: askingFlow(origin) }, { place, env });
  const key = server.key();
  const run = async (flow = 'ask') => {
    const init = { method: 'POST', body: csvOf(10), headers: { 'content-type': 'text/csv', prefer: 'wait=30' } };
    return (await (await server.send(`/v1/flows/${flow}/runs`, { key, ...init })).json()) as { id: string; ended_at: string };
  };
  return { server, receiver, place, secret, run, key };
}

async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('a webhook of the server', () => {
  test('receives a signed message, without data from records, when a run has ended', async () => {
    const { receiver, secret, run, place, server } = await told();
    const { id, ended_at: endedAt } = await run();
    await until(() => receiver.requests.length > 0);
    const [{ method, path, headers, body } = { method: '', path: '', headers: {}, body: '' }] = receiver.requests;
    expect([method, path, headers['content-type']]).toEqual(['POST', '/in', 'application/json']);
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({
      type: 'run.finished',
      timestamp: endedAt,
      data: {
        run: id,
        flow: 'ask',
        state: 'finished',
        ending: 'complete',
        counts: { read: 10, written: 9, rows: 9, failed: 1, retries: 0, waiting: 0 },
        credits: 10,
      },
    });
    expect(() => new Webhook(newSecret()).verify(body, headers as Record<string, string>)).toThrow();
    await until(async () => (await place.automate(['webhooks', 'list'])).stdout.includes('200,'));
    await server.end();
    expect(await readAllFiles(place)).not.toContain(secret.slice('whsec_'.length));
    expect(server.said()).not.toContain(secret);
    expect(receiver.requests).toHaveLength(1);
  });

  test('receives its message once more after the server restarts if the first response was a 503', async () => {
    let isUp = false;
    const { receiver, run, server, place } = await told((_, response) => response.writeHead(isUp ? 204 : 503).end());
    await run();
    await until(() => server.said().includes('webhook "ops": 503; it is sent again'));
    expect((await server.end()).code).toBe(0);
    isUp = true;
    await serving({}, { place, env });
    await until(() => receiver.requests.length > 1);
    const [first, second] = receiver.requests;
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(second?.body).toBe(first?.body);
    const { stdout } = await place.automate(['webhooks', 'list', '--json']);
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'ops', state: 'on' }]);
    expect(receiver.requests).toHaveLength(2);
  });

  test('is disabled if it responds with 410', async () => {
    const { receiver, run, server, place } = await told((_, response) => response.writeHead(410).end());
    await run();
    await until(() => server.said().includes('webhook "ops" is off: its receiver answered 410'));
    await run();
    const { stdout } = await place.automate(['webhooks', 'list']);
    expect(stdout).toMatch(/^ops +http:\S+ +all +off +410, /m);
    expect(receiver.requests).toHaveLength(1);
  });

  test('cannot redirect its message, and receives nothing for other flows than its own', async () => {
    const { receiver, run, server } = await told(
      (_, response) => response.writeHead(307, { location: '/elsewhere' }).end(),
      '--flows',
      'other,ask',
    );
    await run();
    await until(() => server.said().includes('webhook "ops": 307; it is sent again'));
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/in']);
    const silent = await told(() => {}, '--flows', 'other');
    await silent.run();
    expect(silent.receiver.requests).toEqual([]);
  });
});
