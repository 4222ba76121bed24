import { isDelivered, type Receipt, receiptText } from '../../io/server/webhook-sender.ts';
import type { Delivery, Message, Webhook, WebhookStore } from '../../io/server/webhooks.ts';
import type { ServedRun } from '../runs/served-run.ts';

/** The world around the deliveries. */
export interface DeliveryTools {
  readonly store: WebhookStore;
  /** Sends a message once. Throws an AutomateError if its secret cannot be read. */
  send(webhook: Webhook, message: Message): Promise<Receipt>;
  wallNow(): number;
  /** A random number from 0 up to 1. */
  random(): number;
  /** Takes a line for the log. */
  say(text: string): void;
}

/** The waits after failed attempts. */
const waitsMs = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000];

/** A wait is longer by up to this share, so that receivers that were away are not flooded. */
const jitter = 0.2;

const maxUnderWay = 8;

/** Sends messages about ended runs to webhooks. Messages that are not delivered yet are in the database, and are sent after a restart. */
export class Deliveries {
  readonly #tools: DeliveryTools;
  readonly #underWay = new Map<string, Promise<void>>();
  #isAborted = false;

  constructor(tools: DeliveryTools) {
    this.#tools = tools;
  }

  /** Adds a message for each webhook that wants messages about the run. A run that ends again gets another message. */
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

  /** Sends the messages whose time has come, one at a time to each webhook. */
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

  /** Resolves once nothing is being sent. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  /** Gives up the attempts under way: the next start makes them again. */
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

  /** A database that cannot be used is a line in the log: runs go on. */
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
