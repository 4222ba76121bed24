import type { SharedParts } from '../../app/flow-runtime.ts';
import { createMessages } from '../../app/messages.ts';
import { openCredentials } from '../../app/ports/credential-store.ts';
import { readWebhookSecret } from '../../app/ports/webhook-secret.ts';
import { version } from '../../app/version.ts';
import { createTransport } from '../../io/http/transport.ts';
import type { ServerDatabase } from '../../io/server/database.ts';
import { sendMessage } from '../../io/server/webhook-sender.ts';
import { WebhookStore } from '../../io/server/webhooks.ts';
import { Deliveries } from './deliveries.ts';

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
