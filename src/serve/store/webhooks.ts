import type Database from 'libsql';
import { usageError } from '../../core/failure.ts';
import type { ServerDatabase } from './database.ts';

export interface Webhook {
  readonly name: string;
  readonly url: string;
  /** Undefined for all flows. */
  readonly flows: readonly string[] | undefined;
  /** True if the webhook's URL may lead to a private or link-local IP address. */
  readonly allowsPrivate: boolean;
  readonly createdAtMs: number;
  /** True if the webhook is turned off, because its receiver once responded with 410 (Gone). */
  readonly isOff: boolean;
}

export interface Message {
  /** The id of the message. It stays the same when the message is sent again, so the receiver can recognize repeated messages. */
  readonly id: string;
  readonly body: string;
}

export interface Delivery extends Message {
  readonly webhook: Webhook;
  readonly attempts: number;
}

export interface LastDelivery {
  readonly atMs: number;
  /** The status of the response, such as `200`, or the reason why there was no response. */
  readonly outcome: string;
  /** True if the message has not been delivered and will be sent again. */
  readonly isOpen: boolean;
}

/** Time in ms for which messages are stored. A message with the same id cannot be added during this time. */
const maxAgeMs = 60 * 86_400_000;

interface WebhookRow {
  readonly name: string;
  readonly url: string;
  readonly flows: string | null;
  readonly allows_private: number;
  readonly created_at: number;
  readonly is_off: number;
}

export function secretNameOf(webhook: string): string {
  return `webhook-${webhook}`;
}

export class WebhookStore {
  constructor(
    readonly database: ServerDatabase,
    readonly wallNow: () => number,
  ) {}

  /** Adds a webhook. Throws an AutomateError (`usage`) if there is already one with this name. */
  add({ name, url, flows, allowsPrivate }: Omit<Webhook, 'createdAtMs' | 'isOff'>): void {
    this.refuseTaken(name);
    this.database.write((database) =>
      database
        .prepare('insert into webhooks (name, url, flows, allows_private, created_at, is_off) values (?, ?, ?, ?, ?, 0)')
        .run(name, url, flows ? JSON.stringify(flows) : null, allowsPrivate ? 1 : 0, this.wallNow()),
    );
  }

  /** Throws an AutomateError (`usage`) if there is already a webhook with this name. */
  refuseTaken(name: string): void {
    if (this.all().some((webhook) => webhook.name === name))
      throw usageError(`there is a webhook "${name}" already\nremove it first: automate webhooks remove ${name}`);
  }

  /** Ordered by name. */
  all(): Webhook[] {
    return this.database.read((database) =>
      (database.prepare('select * from webhooks order by name').all() as WebhookRow[]).map(webhookOf),
    );
  }

  /** Throws an AutomateError (`usage`) if there is none. */
  find(name: string): Webhook {
    const found = this.all().find((webhook) => webhook.name === name);
    if (found) return found;
    throw usageError(`there is no webhook "${name}"\nlist them: automate webhooks list`);
  }

  remove(name: string): void {
    this.database.write((database) => {
      database.prepare('delete from webhooks where name = ?').run(name);
      database.prepare('delete from deliveries where webhook = ?').run(name);
    });
  }

  turnOff(name: string): void {
    this.database.write((database) => database.prepare('update webhooks set is_off = 1 where name = ?').run(name));
  }

  /** Adds a message for a webhook, unless it already has a message with this id. Removes messages that were stored for too long. */
  addMessage(webhook: string, { id, body }: Message): void {
    const now = this.wallNow();
    this.database.write((database) => {
      database.prepare('delete from deliveries where created_at < ?').run(now - maxAgeMs);
      database
        .prepare('insert or ignore into deliveries (webhook, id, body, created_at, attempts, next_at) values (?, ?, ?, ?, 0, ?)')
        .run(webhook, id, body, now, now);
    });
  }

  /** The oldest message comes first. */
  due(): Delivery[] {
    const rows = this.database.read((database) =>
      database
        .prepare(
          `select webhooks.*, id, body, attempts from deliveries join webhooks on webhooks.name = deliveries.webhook
          where next_at <= ? and is_off = 0 order by deliveries.created_at`,
        )
        .all(this.wallNow()),
    ) as (WebhookRow & { id: string; body: string; attempts: number })[];
    return rows.map((row) => ({ webhook: webhookOf(row), id: row.id, body: row.body, attempts: row.attempts }));
  }

  /** `nextAtMs` is in wall-clock ms; undefined if there are no further attempts. */
  attempted({ webhook, id }: Delivery, outcome: string, nextAtMs: number | undefined): void {
    this.database.write((database) =>
      database
        .prepare('update deliveries set attempts = attempts + 1, outcome = ?, attempted_at = ?, next_at = ? where webhook = ? and id = ?')
        .run(outcome, this.wallNow(), nextAtMs ?? null, webhook.name, id),
    );
  }

  /** Keyed by the webhook's name. */
  lastDeliveries(): Map<string, LastDelivery> {
    const read = (database: Database.Database) =>
      database
        .prepare('select webhook, attempted_at, outcome, next_at from deliveries where attempted_at is not null order by attempted_at')
        .all();
    const rows = this.database.read(read) as { webhook: string; attempted_at: number; outcome: string; next_at: number | null }[];
    return new Map(rows.map(({ webhook, attempted_at: atMs, outcome, next_at }) => [webhook, { atMs, outcome, isOpen: next_at !== null }]));
  }
}

function webhookOf({ name, url, flows, allows_private, created_at, is_off }: WebhookRow): Webhook {
  return {
    name,
    url,
    flows: flows === null ? undefined : (JSON.parse(flows) as string[]),
    allowsPrivate: allows_private === 1,
    createdAtMs: created_at,
    isOff: is_off === 1,
  };
}
