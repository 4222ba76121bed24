import { version } from '../../core/version.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { createMessages } from '../../credentials/messages.ts';
import { createTransport } from '../../http/transport.ts';
import type { SharedParts } from '../../run/flow-runtime.ts';
import type { ServerDatabase } from '../store/database.ts';
import { sendMessage } from '../store/webhook-sender.ts';
import { WebhookStore } from '../store/webhooks.ts';
import { Deliveries } from './deliveries.ts';
import { readWebhookSecret } from './webhook-secret.ts';

/** Creates the object that delivers a server's messages to webhooks. */
export function openDeliveries(database: ServerDatabase, { routes, cacert, say }: SharedParts): Deliveries {
  const clocks = { now: () => performance.now(), wallNow: Date.now };
  const transport = createTransport({ cacert, environment: process.env, userAgent: `automate/${version}`, ...clocks }, routes);
  const messages = createMessages();
  return new Deliveries({
    store: new WebhookStore(database, Date.now),
    async send(webhook, message) {
      const secret = await readWebhookSecret(webhook.name, openCredentials('default', messages), messages);
      return sendMessage(webhook, secret, message, { transport, ...clocks });
    },
    wallNow: Date.now,
    random: Math.random,
    say,
  });
}
