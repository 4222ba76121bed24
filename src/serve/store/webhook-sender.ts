import { createHmac, randomBytes } from 'node:crypto';
import { AutomateError, errorOf, Failure, invalidOption } from '../../core/failure.ts';
import { isLoopback, targetOf } from '../../core/template/url.ts';
import type { CredentialStore } from '../../credentials/credential-store.ts';
import { secretOfCommand } from '../../credentials/flow-secrets.ts';
import type { Messages } from '../../credentials/messages.ts';
import { AddressRefused, refuseHost, refuseName } from '../../http/guard.ts';
import type { Transport } from '../../http/transport.ts';
import { type Message, secretNameOf, type Webhook } from './webhooks.ts';

export type Receipt = { readonly status: number } | { readonly problem: string };

interface SenderTools {
  readonly transport: Pick<Transport, 'send'>;
  /** Monotonic time in ms. */
  now(): number;
  wallNow(): number;
}

const timeoutMs = 15_000;
const maxAnswerBytes = 65_536;
const prefix = 'whsec_';

/** 32 random bytes (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64');
}

/** For the `webhook-signature` header. `timestamp` is in seconds since 1970. @internal */
export function signatureOf(secret: string, { id, body }: Message, timestamp: number): string {
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Resolves the host name. Throws an AutomateError (`usage`) if the URL is invalid, or leads to a private address that is not allowed. */
export async function refuseAddress(url: string, allowsPrivate: boolean): Promise<void> {
  try {
    const { origin } = targetOf(url, { allowHttp: false });
    if (allowsPrivate || isLoopback(new URL(origin).hostname)) return;
    refuseHost(origin, false);
    await refuseName(origin, false);
  } catch (error) {
    if (!(error instanceof AddressRefused)) throw invalidOption('url', (error as Error).message.split('\n')[0] as string, error);
    const facts = { code: 'private-address', details: {}, cause: error } as const;
    throw new AutomateError('usage', `the address ${error.address} is inside the network`, facts);
  }
}

/** Signs a message and sends it to a webhook, without retries. A redirect is not followed. */
export async function sendMessage(webhook: Webhook, secret: string, message: Message, tools: SenderTools): Promise<Receipt> {
  const timestamp = Math.floor(tools.wallNow() / 1000);
  try {
    const { origin, path } = targetOf(webhook.url, { allowHttp: false });
    const isOpen = webhook.allowsPrivate || isLoopback(new URL(origin).hostname);
    const { status } = await tools.transport.send({
      method: 'POST',
      origin,
      path,
      headers: {
        'content-type': 'application/json',
        'webhook-id': message.id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signatureOf(secret, message, timestamp),
      },
      body: message.body,
      deadlineMs: tools.now() + timeoutMs,
      timeoutMs,
      maxBodyBytes: maxAnswerBytes,
      allowHosts: isOpen ? undefined : [],
    });
    return { status };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.status === undefined ? { problem: error.message.split('\n')[0] as string } : { status: error.status };
  }
}

export function isDelivered(receipt: Receipt): boolean {
  return 'status' in receipt && receipt.status >= 200 && receipt.status <= 299;
}

export function receiptText(receipt: Receipt): string {
  return 'status' in receipt ? String(receipt.status) : receipt.problem;
}

/** Throws an AutomateError (`credential`) if the secret is missing or cannot be read. */
export async function readWebhookSecret(webhook: string, credentials: CredentialStore, messages: Messages): Promise<string> {
  const name = secretNameOf(webhook);
  const found = (await credentials.find([name])).get(name);
  if (found && 'secret' in found) return found.secret.text;
  if (found && 'command' in found) return (await secretOfCommand(found.command, messages)).text;
  if (found) throw errorOf('credential', found.problem);
  throw new AutomateError('credential', `the secret of the webhook "${webhook}" is missing: no credential "${name}" is stored`);
}
