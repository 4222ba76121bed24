import { AutomateError, errorOf } from '../../core/failure.ts';
import type { Credentials } from '../../credentials/credentials.ts';
import { secretOfCommand } from '../../credentials/flow-secrets.ts';
import type { Messages } from '../../credentials/messages.ts';
import { secretNameOf } from '../store/webhooks.ts';

/**
 * Reads the secret with which a webhook's messages are signed. Throws an AutomateError (`credential`) if the secret is missing or cannot be
 * read.
 */
export async function readWebhookSecret(webhook: string, credentials: Credentials, messages: Messages): Promise<string> {
  const name = secretNameOf(webhook);
  const found = (await credentials.find([name])).get(name);
  if (found && 'secret' in found) return found.secret.text;
  if (found && 'command' in found) return (await secretOfCommand(found.command, messages)).text;
  if (found) throw errorOf('credential', found.problem);
  throw new AutomateError('credential', `the secret of the webhook "${webhook}" is missing: no credential "${name}" is stored`);
}
