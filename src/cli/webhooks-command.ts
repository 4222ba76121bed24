import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { usageError } from '../core/failure.ts';
import { version } from '../core/version.ts';
import { openCredentials } from '../credentials/credential-store.ts';
import { homeFolder } from '../files/home.ts';
import { createTransport } from '../http/transport.ts';
import { exitCodes } from '../run/exit-codes.ts';
import { isoTime } from '../serve/store/api-key.ts';
import { AuditStore, commandActor } from '../serve/store/audit.ts';
import { serverDatabasePath, withServerDatabase } from '../serve/store/database.ts';
import { isDelivered, newSecret, readWebhookSecret, receiptText, refuseAddress, sendMessage } from '../serve/store/webhook-sender.ts';
import { type LastDelivery, secretNameOf, type Webhook, WebhookStore } from '../serve/store/webhooks.ts';
import { warnOfFlows } from './keys/keys-command.ts';
import { momentText } from './show/keys.ts';
import { tableText } from './show/table.ts';
import { indentedJson, type Terminal } from './terminal.ts';

interface AddWebhookOptions {
  readonly url?: string;
  readonly flows?: readonly string[];
  readonly allowPrivate?: boolean;
}

export async function addWebhook(
  name: string,
  { url, flows, allowPrivate = false }: AddWebhookOptions,
  terminal: Terminal,
): Promise<undefined> {
  if (!/^[A-Za-z0-9_-]{1,48}$/.test(name))
    throw usageError(`expected a name of letters, digits, _ and -, at most 48 characters, found ${JSON.stringify(name)}`);
  if (url === undefined) throw usageError(`expected --url, the address\nautomate webhooks add ${name} --url https://...`);
  await refuseAddress(url, allowPrivate);
  withWebhooks((store) => store.refuseTaken(name));
  const secret = newSecret();
  const { stored } = await openCredentials('default', terminal).set(secretNameOf(name), secret, {});
  withWebhooks((store, note) => {
    store.add({ name, url, flows, allowsPrivate: allowPrivate });
    note('webhook.add', name, 'ok');
  });
  await terminal.print(secret);
  terminal.redactor.add(secret);
  terminal.say(`the webhook "${name}" gets a message when a run of ${flows?.join(', ') ?? 'any flow'} ends`);
  terminal.say(
    `its secret is shown only once: the receiver verifies messages with it (it is stored as "${stored.name}" in the ${stored.backend})`,
  );
  terminal.say(`try it: automate webhooks test ${name}`);
  warnOfFlows(flows ?? [], 'the webhook gets messages', terminal);
}

export async function listWebhooks({ json }: { readonly json?: boolean }, terminal: Terminal): Promise<undefined> {
  const isThere = existsSync(serverDatabasePath(homeFolder(process.env)));
  const [all, last] = isThere ? withWebhooks((store) => [store.all(), store.lastDeliveries()] as const) : [[], new Map()];
  if (json) await terminal.print(indentedJson(all.map((webhook) => webhookJson(webhook, last.get(webhook.name)))));
  else if (all.length > 0) {
    const rows = all.map((webhook) => [
      webhook.name,
      shownAddress(webhook.url),
      webhook.flows?.join(', ') ?? 'all',
      webhook.isOff ? 'off' : 'on',
      lastText(last.get(webhook.name)),
    ]);
    await terminal.print(tableText([['name', 'url', 'flows', 'state', 'last message'], ...rows]).join('\n'));
  } else terminal.say('there are no webhooks\n  add one: automate webhooks add NAME --url URL');
}

/** The exit code is 4 if the receiver does not accept the message. */
export async function testWebhook(name: string, terminal: Terminal): Promise<number> {
  const webhook = withWebhooks((store) => store.find(name));
  const secret = await readWebhookSecret(name, openCredentials('default', terminal), terminal);
  terminal.redactor.add(secret);
  const clocks = { now: () => performance.now(), wallNow: Date.now };
  const transport = createTransport({ cacert: undefined, environment: process.env, userAgent: `automate/${version}`, ...clocks });
  const body = JSON.stringify({ type: 'webhook.test', timestamp: isoTime(Date.now()), data: { webhook: name } });
  const startedMs = performance.now();
  const receipt = await sendMessage(webhook, secret, { id: `msg_${randomUUID()}`, body }, { transport, ...clocks });
  const ms = Math.round(performance.now() - startedMs);
  transport.abort();
  const isTaken = isDelivered(receipt);
  withWebhooks((_, note) => note('webhook.test', name, isTaken ? 'ok' : 'failed'));
  terminal.say(
    isTaken ? `delivered: ${receiptText(receipt)} in ${ms} ms` : `${terminal.colors.red('failed:')} ${failureText(receiptText(receipt))}`,
  );
  return isTaken ? exitCodes.success : exitCodes.someFailed;
}

function failureText(receipt: string): string {
  return /^\d+$/.test(receipt) ? `expected an answer with status 200 to 299, found ${receipt}` : receipt;
}

export async function removeWebhook(name: string, terminal: Terminal): Promise<undefined> {
  withWebhooks((store, note) => {
    store.find(name);
    store.remove(name);
    note('webhook.remove', name, 'ok');
  });
  const credentials = openCredentials('default', terminal);
  if (credentials.list().some((stored) => stored.name === secretNameOf(name) && stored.env === 'default'))
    await credentials.remove(secretNameOf(name), true);
  terminal.say(`the webhook "${name}" is removed`);
}

type Note = (what: string, target: string, outcome: string) => void;

/** Creates the database in automate's home folder if there is none. */
function withWebhooks<Result>(act: (store: WebhookStore, note: Note) => Result): Result {
  return withServerDatabase(homeFolder(process.env), (database) => {
    const audit = new AuditStore(database, Date.now);
    return act(new WebhookStore(database, Date.now), (what, target, outcome) => audit.add({ ...commandActor, what, target, outcome }));
  });
}

/** Hides the values in the query, because they might be secret. */
function shownAddress(url: string): string {
  const start = url.indexOf('?') + 1;
  if (start === 0) return url;
  const parts = url.slice(start).split('&');
  return url.slice(0, start) + parts.map((part) => part.slice(0, part.indexOf('=') + 1).concat('***')).join('&');
}

function lastText(last: LastDelivery | undefined): string {
  if (!last) return 'none';
  return `${last.outcome}, ${momentText(last.atMs)}${last.isOpen ? ', and will be sent again' : ''}`;
}

function webhookJson({ name, url, flows = undefined, allowsPrivate, createdAtMs, isOff }: Webhook, last: LastDelivery | undefined): object {
  return {
    name,
    url: shownAddress(url),
    flows: flows ?? null,
    allow_private: allowsPrivate,
    created_at: isoTime(createdAtMs),
    state: isOff ? 'off' : 'on',
    last: last ? { at: isoTime(last.atMs), outcome: last.outcome, again: last.isOpen } : null,
  };
}
