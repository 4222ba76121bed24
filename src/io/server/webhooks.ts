import type Database from 'libsql';
import { AutomateError } from '../../core/failure.ts';
import type { ServerDatabase } from './database.ts';

/** An address that gets a message when a run ends. */
export interface Webhook {
  readonly name: string;
  readonly url: string;
  /** Ids of the flows whose runs the webhook reports; undefined for all flows. */
  readonly flows: readonly string[] | undefined;
  /** True if the address may be private or link-local. */
  readonly allowsPrivate: boolean;
  /** Wall time. */
  readonly createdAtMs: number;
  /** True once the receiver has answered 410. */
  readonly isOff: boolean;
}

/** A message to a webhook. */
export interface Message {
  /** An id that every attempt sends, unique for the receiver. */
  readonly id: string;
  /** The message as JSON. */
  readonly body: string;
}

/** A message that is not delivered yet. */
export interface Delivery extends Message {
  readonly webhook: Webhook;
  /** The number of attempts so far. */
  readonly attempts: number;
}

/** The last message of a webhook. */
export interface LastDelivery {
  readonly atMs: number;
  /** The status, such as `200`, or the reason of the failure. */
  readonly outcome: string;
  /** True if another attempt follows. */
  readonly isOpen: boolean;
}

/** The time for which messages are stored, so that no message is made twice. */
const maxAgeMs = 60 * 86_400_000;

interface Row {
  readonly name: string;
  readonly url: string;
  readonly flows: string | null;
  readonly allows_private: number;
  readonly created_at: number;
  readonly is_off: number;
}

/** The credential that holds the secret of a webhook. */
export function secretNameOf(webhook: string): string {
  return `webhook-${webhook}`;
}

/** The webhooks of the server and their messages, in its database. */
export class WebhookStore {
  constructor(
    readonly database: ServerDatabase,
    readonly wallNow: () => number,
  ) {}

  /** Adds a webhook. Throws an AutomateError (`usage`) if there is a webhook of that name. */
  add({ name, url, flows, allowsPrivate }: Omit<Webhook, 'createdAtMs' | 'isOff'>): void {
    this.refuseTaken(name);
    this.database.write((database) =>
      database
        .prepare('insert into webhooks (name, url, flows, allows_private, created_at, is_off) values (?, ?, ?, ?, ?, 0)')
        .run(name, url, flows ? JSON.stringify(flows) : null, allowsPrivate ? 1 : 0, this.wallNow()),
    );
  }

  /** Throws an AutomateError (`usage`) if there is a webhook with that name already. */
  refuseTaken(name: string): void {
    if (this.all().some((webhook) => webhook.name === name))
      throw new AutomateError('usage', `there is a webhook "${name}" already\nremove it first: automate webhooks remove ${name}`);
  }

  /** All webhooks, by name. */
  all(): Webhook[] {
    return this.database.read((database) => (database.prepare('select * from webhooks order by name').all() as Row[]).map(webhookOf));
  }

  /** Returns the webhook of a name. Throws an AutomateError (`usage`) if there is none. */
  find(name: string): Webhook {
    const found = this.all().find((webhook) => webhook.name === name);
    if (found) return found;
    throw new AutomateError('usage', `there is no webhook "${name}"\nlist them: automate webhooks list`);
  }

  /** Removes a webhook with its messages. */
  remove(name: string): void {
    this.database.write((database) => {
      database.prepare('delete from webhooks where name = ?').run(name);
      database.prepare('delete from deliveries where webhook = ?').run(name);
    });
  }

  /** Turns a webhook off: nothing more is sent to it. */
  turnOff(name: string): void {
    this.database.write((database) => database.prepare('update webhooks set is_off = 1 where name = ?').run(name));
  }

  /** Adds a message, unless the webhook already has it. */
  addMessage(webhook: string, { id, body }: Message): void {
    const now = this.wallNow();
    this.database.write((database) => {
      database.prepare('delete from deliveries where created_at < ?').run(now - maxAgeMs);
      database
        .prepare('insert or ignore into deliveries (webhook, id, body, created_at, attempts, next_at) values (?, ?, ?, ?, 0, ?)')
        .run(webhook, id, body, now, now);
    });
  }

  /** The messages that are due, oldest first. */
  due(): Delivery[] {
    const rows = this.database.read((database) =>
      database
        .prepare(
          `select webhooks.*, id, body, attempts from deliveries join webhooks on webhooks.name = deliveries.webhook
          where next_at <= ? and is_off = 0 order by deliveries.created_at`,
        )
        .all(this.wallNow()),
    ) as (Row & { id: string; body: string; attempts: number })[];
    return rows.map((row) => ({ webhook: webhookOf(row), id: row.id, body: row.body, attempts: row.attempts }));
  }

  /** Records an attempt. `nextAtMs`: wall time of the next attempt; undefined after the last one. */
  attempted({ webhook, id }: Delivery, outcome: string, nextAtMs: number | undefined): void {
    this.database.write((database) =>
      database
        .prepare('update deliveries set attempts = attempts + 1, outcome = ?, attempted_at = ?, next_at = ? where webhook = ? and id = ?')
        .run(outcome, this.wallNow(), nextAtMs ?? null, webhook.name, id),
    );
  }

  /** The last attempt of each webhook. */
  lastDeliveries(): Map<string, LastDelivery> {
    const read = (database: Database.Database) =>
      database
        .prepare('select webhook, attempted_at, outcome, next_at from deliveries where attempted_at is not null order by attempted_at')
        .all();
    const rows = this.database.read(read) as { webhook: string; attempted_at: number; outcome: string; next_at: number | null }[];
    return new Map(rows.map(({ webhook, attempted_at: atMs, outcome, next_at }) => [webhook, { atMs, outcome, isOpen: next_at !== null }]));
  }
}

function webhookOf({ name, url, flows, allows_private, created_at, is_off }: Row): Webhook {
  return {
    name,
    url,
    flows: flows === null ? undefined : (JSON.parse(flows) as string[]),
    allowsPrivate: allows_private === 1,
    createdAtMs: created_at,
    isOff: is_off === 1,
  };
}
