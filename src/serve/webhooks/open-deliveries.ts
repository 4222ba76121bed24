import { openCredentials } from '../../app/ports/credential-store.ts';
import { version } from '../../app/version.ts';
import { createQuietTerminal } from '../../cli/serve/quiet-terminal.ts';
import { readWebhookSecret } from '../../cli/webhooks/webhook-secret.ts';
import { createTransport } from '../../io/http/transport.ts';
import type { ServerDatabase } from '../../io/server/database.ts';
import { sendMessage } from '../../io/server/webhook-sender.ts';
import { WebhookStore } from '../../io/server/webhooks.ts';
import type { Shared } from '../calls/flow-runtime.ts';
import { Deliveries } from './deliveries.ts';

/** Opens the deliveries of a server. */
export function openDeliveries(database: ServerDatabase, { routes, cacert, say }: Shared): Deliveries {
  const clocks = { now: () => performance.now(), wallNow: Date.now };
  const transport = createTransport({ cacert, environment: process.env, userAgent: `automate/${version}`, ...clocks }, routes);
  const terminal = createQuietTerminal();
  return new Deliveries({
    store: new WebhookStore(database, Date.now),
    async send(webhook, message) {
      const secret = await readWebhookSecret(webhook.name, openCredentials('default', terminal));
      return sendMessage(webhook, secret, message, { transport, ...clocks });
    },
    wallNow: Date.now,
    random: Math.random,
    say,
  });
}
