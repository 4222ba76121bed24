import { AutomateError } from '../../core/failure.ts';
import { defaultEnv } from '../../core/run-options.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import { openCredentials } from '../../credentials/credential-store.ts';
import { credentialVariables } from '../../credentials/environment.ts';
import type { StoredCredential } from '../../credentials/secret.ts';
import type { Terminal } from '../terminal.ts';

/**
 * Warns of the credentials on this machine that a worker would send to any host. A flow from the queue names the host, so whoever holds the
 * queue key could get these secrets.
 */
export function warnOfUnboundCredentials(terminal: Terminal): void {
  const variables = credentialVariables(process.env);
  const stored = storedWithoutHosts(terminal);
  const names = [...stored.map(({ name, env }) => (env === defaultEnv ? name : `${name} (${env})`)), ...variables];
  if (names.length === 0) return;
  const lines = [`whoever holds the queue key can have these credentials sent to any host: ${names.join(', ')}`];
  const { name = 'NAME', env = defaultEnv } = stored[0] ?? {};
  const envOption = env === defaultEnv ? '' : ` --env ${shellWord(env)}`;
  lines.push(`limit each of them to its hosts: automate credentials set ${name}${envOption} --hosts api.example.com`);
  if (variables.length > 0) lines.push('a secret in a variable has no hosts: store it with this command instead, and remove the variable');
  terminal.warn(lines.join('\n'));
}

/** Returns the stored credentials that a worker can use and that have no hosts. If they cannot be listed, only warns. */
function storedWithoutHosts(terminal: Terminal): readonly StoredCredential[] {
  const store = openCredentials(undefined, terminal);
  try {
    // With AUTOMATE_ENV, a worker takes only runs of that environment.
    return store.list().filter(({ hosts, env }) => hosts === undefined && (!process.env.AUTOMATE_ENV || env === store.env));
  } catch (error) {
    if (!(error instanceof AutomateError)) throw error;
    terminal.warn(`the stored credentials cannot be listed: ${error.message}`);
    return [];
  }
}
