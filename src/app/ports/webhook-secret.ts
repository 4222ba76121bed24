import { AutomateError, errorOf } from '../../core/failure.ts';
import type { Credentials } from '../../io/credentials/credentials.ts';
import { secretNameOf } from '../../io/server/webhooks.ts';

/** The secret with which a webhook's messages are signed. Throws an AutomateError (`credential`). */
export async function readWebhookSecret(webhook: string, credentials: Credentials): Promise<string> {
  const name = secretNameOf(webhook);
  const found = (await credentials.find([name])).get(name);
  if (found && 'secret' in found) return found.secret.text;
  if (found) throw errorOf('credential', found.problem);
  throw new AutomateError('credential', `the secret of the webhook "${webhook}" is not stored: "${name}"`);
}
