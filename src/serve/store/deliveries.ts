import { version } from '../../core/version.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { createMessages } from '../../credentials/messages.ts';
import { createTransport } from '../../http/transport.ts';
import type { SharedParts } from '../../run/flow-runtime.ts';
import type { ServedRun } from '../runs/served-run.ts';
import type { ServerDatabase } from './database.ts';
import { isDelivered, type Receipt, readWebhookSecret, receiptText, sendMessage } from './webhook-sender.ts';
import { type Delivery, type Message, type Webhook, WebhookStore } from './webhooks.ts';

interface DeliveryTools {
  readonly store: WebhookStore;
  /** Tries once to send a message to a webhook. Throws an AutomateError if the webhook's secret cannot be read. */
  send(webhook: Webhook, message: Message): Promise<Receipt>;
  wallNow(): number;
  /** At least 0 and less than 1. */
  random(): number;
  say(text: string): void;
}

/** Times in ms to wait after the first, the second and each further failed attempt. */
const waitsMs = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000];

/** Maximum share by which a wait is extended at random. A receiver that works again then does not get all messages at once. */
const jitter = 0.2;

const maxUnderWay = 8;

/** Undelivered messages are stored in the database, and are sent after a restart. */
export class Deliveries {
  readonly #tools: DeliveryTools;
  readonly #underWay = new Map<string, Promise<void>>();
  #isAborted = false;

  constructor(tools: DeliveryTools) {
    this.#tools = tools;
  }

  /** Adds a message for each webhook that subscribes to the flow. A resumed run gets another message when it ends again. */
  ended(run: ServedRun): void {
    this.#orSay(() => this.#addMessages(run));
  }

  #addMessages({ id, stored }: ServedRun): void {
    const { store } = this.#tools;
    const { endedAt, flow, state, ending, counts, totals } = stored;
    if (endedAt === null) return;
    const data = { run: id, flow, state, ending, counts, credits: totals.credits };
    const body = JSON.stringify({ type: 'run.finished', timestamp: endedAt, data });
    const endedMs = Date.parse(endedAt);
    for (const { name, flows, isOff, createdAtMs } of store.all())
      if (!isOff && endedMs >= createdAtMs && (flows?.includes(flow) ?? true)) store.addMessage(name, { id: `msg_${id}_${endedMs}`, body });
  }

  /** Starts sending the messages that are due, one at a time to each webhook. */
  tick(): void {
    this.#orSay(() => this.#sendDue());
  }

  #sendDue(): void {
    if (this.#underWay.size >= maxUnderWay) return;
    for (const delivery of this.#tools.store.due()) {
      const { name } = delivery.webhook;
      if (this.#underWay.has(name) || this.#underWay.size >= maxUnderWay) continue;
      this.#underWay.set(
        name,
        this.#deliver(delivery).finally(() => this.#underWay.delete(name)),
      );
    }
  }

  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  /** Ignores the results of attempts under way, so that these messages are sent again when the server starts again. */
  abort(): void {
    this.#isAborted = true;
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { store, send, say } = this.#tools;
    const { webhook, attempts } = delivery;
    const receipt = await send(webhook, delivery).catch((error: Error): Receipt => ({ problem: error.message.split('\n')[0] as string }));
    if (this.#isAborted) return;
    const outcome = receiptText(receipt);
    const isGone = 'status' in receipt && receipt.status === 410;
    const waitMs = isDelivered(receipt) || isGone ? undefined : waitsMs[attempts];
    this.#orSay(() => {
      if (isGone) store.turnOff(webhook.name);
      store.attempted(delivery, outcome, waitMs === undefined ? undefined : this.#after(waitMs));
    });
    if (isGone) say(`webhook "${webhook.name}" is off: its receiver answered 410`);
    else if (!isDelivered(receipt)) say(`webhook "${webhook.name}": ${outcome}; ${waitMs === undefined ? 'given up' : 'it is sent again'}`);
  }

  /** Runs `act`. If the database cannot be used, only logs the error, so that the server's runs continue. */
  #orSay(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#tools.say((error as Error).message);
    }
  }

  #after(waitMs: number): number {
    return Math.ceil(this.#tools.wallNow() + waitMs * (1 + jitter * this.#tools.random()));
  }
}

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
