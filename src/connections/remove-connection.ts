import { isMapping } from '../core/value/value.ts';
import { changeConnections, readConnections } from '../credentials/connections-file.ts';
import { openCredentials } from '../credentials/credential-store.ts';
import type { Messages } from '../credentials/messages.ts';
import { isCommand } from '../credentials/secret.ts';

/**
 * Removes a saved connection and deletes the tokens of its logins in every environment. Keeps logins that another saved connection uses,
 * and returns their names. If tokens cannot be deleted, keeps the connection and throws an AutomateError (`credential`).
 */
export async function removeConnection(name: string, messages: Pick<Messages, 'redactor' | 'findAsker'>): Promise<readonly string[]> {
  const { [name]: removed = {}, ...others } = readConnections(process.env);
  const elsewhere = new Set(Object.values(others).flatMap(loginsIn));
  const logins = loginsIn(removed);
  for (const login of logins) if (!elsewhere.has(login)) await deleteLogin(login, messages);
  await changeConnections(process.env, (saved) => Object.fromEntries(Object.entries(saved).filter(([other]) => other !== name)));
  return logins.filter((login) => elsewhere.has(login));
}

/** Returns the names of the credentials that store the login tokens of a connection. */
function loginsIn({ auth }: Readonly<Record<string, unknown>>): string[] {
  return [auth].flat().flatMap((one) => {
    const isLogin = isMapping(one) && one.type === 'oauth2_authorization_code' && typeof one.credential === 'string';
    return isLogin ? [one.credential as string] : [];
  });
}

async function deleteLogin(login: string, messages: Pick<Messages, 'redactor' | 'findAsker'>): Promise<void> {
  const stored = openCredentials(undefined, messages).list();
  for (const one of stored) if (one.name === login && !isCommand(one)) await openCredentials(one.env, messages).remove(login, false);
}
