import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ServedRun } from '../../src/serve/runs/served-run.ts';
import { ServerDatabase } from '../../src/serve/store/database.ts';
import { Deliveries } from '../../src/serve/store/deliveries.ts';
import { newSecret, type Receipt, signatureOf } from '../../src/serve/store/webhook-sender.ts';
import { WebhookStore } from '../../src/serve/store/webhooks.ts';

describe('the deliveries of a webhook', () => {
  /** Creates a store with one webhook, and deliveries whose clock the test sets. */
  async function delivering(answers: readonly Receipt[]) {
    const home = await mkdtemp(join(tmpdir(), 'automate-webhooks-'));
    const database = new ServerDatabase(home);
    onTestFinished(async () => {
      database.close();
      await rm(home, { recursive: true });
    });
    const clock = { ms: Date.parse('2026-11-24T12:00:00Z') };
    const store = new WebhookStore(database, () => clock.ms);
    store.add({ name: 'ops', url: 'https://ops.example.com', flows: undefined, allowsPrivate: false });
    const sentMs: number[] = [];
    const send = async () => answers[Math.min(sentMs.push(clock.ms), answers.length) - 1] as Receipt;
    const create = () => new Deliveries({ store, send, wallNow: () => clock.ms, random: () => 0.5, say: () => {} });
    const stored = {
      endedAt: new Date(clock.ms).toISOString(),
      flow: 'ask',
      state: 'finished',
      ending: 'complete',
      counts: {},
      totals: { credits: 1 },
    };
    const run = { id: 'run_1', stored } as unknown as ServedRun;
    return { clock, store, sentMs, create, run };
  }

  test('are retried six times, after 5 s to 10 h, even after restarts', async () => {
    const { clock, store, sentMs, create, run } = await delivering([{ status: 500 }, { problem: 'refused' }, { status: 429 }]);
    create().ended(run);
    for (let ticks = 0; ticks < 24 * 60 * 12; ticks++) {
      const deliveries = create();
      deliveries.tick();
      await deliveries.settled();
      clock.ms += 5000;
    }
    const waits = sentMs.slice(1).map((ms, index) => Math.round((ms - (sentMs[index] as number)) / 5000) * 5);
    expect(waits).toEqual([10, 330, 1980, 7920, 19_800, 39_600]);
    expect(store.lastDeliveries().get('ops')).toMatchObject({ outcome: '429', isOpen: false });
  });

  test('are sent once for a run, and once more if the run is resumed and ends again', async () => {
    const { clock, sentMs, create, run } = await delivering([{ status: 200 }]);
    const deliveries = create();
    deliveries.ended(run);
    deliveries.ended(run);
    deliveries.tick();
    await deliveries.settled();
    deliveries.tick();
    await deliveries.settled();
    expect(sentMs).toHaveLength(1);
    clock.ms += 60_000;
    Object.assign(run.stored, { endedAt: new Date(clock.ms).toISOString() });
    deliveries.ended(run);
    deliveries.tick();
    await deliveries.settled();
    expect(sentMs).toHaveLength(2);
  });

  test('are not sent for a run that ended before the webhook was created', async () => {
    const { sentMs, create, run } = await delivering([{ status: 200 }]);
    Object.assign(run.stored, { endedAt: '2026-11-24T11:59:59.000Z' });
    const deliveries = create();
    deliveries.ended(run);
    deliveries.tick();
    await deliveries.settled();
    expect(sentMs).toEqual([]);
  });
});

test('the signature of a webhook message follows Standard Webhooks', () => {
  const secret = newSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const at = new Date(1_700_000_000_000);
  expect(signatureOf(secret, { id: 'msg_1', body: '{"é":1}' }, 1_700_000_000)).toBe(new Webhook(secret).sign('msg_1', at, '{"é":1}'));
});
