import { cleaned } from '../core/answer/response.ts';
import { type Login, neededCredentials } from '../core/auth/auth.ts';
import type { HttpConnection } from '../core/connection.ts';
import { AutomateError, errorOf, Failure, LimitReached } from '../core/failure.ts';
import type { CredentialUse } from '../core/plan.ts';
import { version } from '../core/version.ts';
import { credentialVariable, variableWith } from '../credentials/environment.ts';
import { loadSecretsOf } from '../credentials/flow-secrets.ts';
import type { Messages } from '../credentials/messages.ts';
import { isCommand, refuseOtherHost } from '../credentials/secret.ts';
import type { LoginPerson } from '../http/auth/browser.ts';
import { createGuardedFetch } from '../http/fetch.ts';
import { Routes } from '../http/routes.ts';
import type { AskingOptions } from './tool-server.ts';

/** Returns the browser login in a connection's auth settings; undefined if the connection needs no login. */
export function loginAuthOf({ auth = [] }: HttpConnection): Login | undefined {
  return auth.find((one) => one.type === 'oauth2_authorization_code');
}

/** Tokens go only to the connection's host. Warns if they cannot be renewed. Throws an AutomateError (`credential`) if the login fails. */
export async function logInToApi(
  connection: HttpConnection,
  auth: Login,
  { person, env, cacert }: AskingOptions & { readonly person: LoginPerson },
  messages: Messages,
): Promise<void> {
  const { name, origin, allowHttp } = connection;
  const variable = variableWith(auth.credential, process.env);
  if (variable !== undefined) {
    const message = `the credential "${auth.credential}" is set in ${credentialVariable(auth.credential)}, so a login could not replace it`;
    throw new AutomateError('credential', `${message}\nunset that variable, and log in again`);
  }
  const { openCredentials } = await import('../credentials/credential-store.ts');
  const store = openCredentials(env, messages);
  if (store.list().some((stored) => stored.name === auth.credential && stored.env === store.env && isCommand(stored)))
    throw new AutomateError(
      'credential',
      `the credential "${auth.credential}" gets its secret from a command, which a login cannot replace: use a different credential in the connection "${name}"`,
    );
  const clientSecret = await loginSecretOf(connection, auth, { env, cacert }, messages);
  const routes = new Routes({ cacert, environment: process.env, warn: messages.warn });
  try {
    const { logInWithBrowser } = await import('../http/auth/browser-login.ts');
    const tools = {
      // The addresses of cloud metadata services stay blocked, because the API's server may have chosen these URLs.
      fetch: createGuardedFetch(routes, `automate/${version}`),
      secret: messages.redactor.add,
      wallNow: Date.now,
    };
    const { text, isRenewable } = await logInWithBrowser({ auth, origin, allowHttp, clientSecret, person }, tools);
    await store.set(auth.credential, text, { hosts: [new URL(origin).host] });
    if (!isRenewable) {
      messages.warn(
        `the server issued no refresh token, so you have to log in again when the access token expires\nmany servers issue one if you request the scope offline_access`,
      );
    }
  } catch (error) {
    if (error instanceof LimitReached) throw errorOf('credential', error);
    if (!(error instanceof Failure)) throw error;
    throw new AutomateError('credential', `connection "${name}": ${cleaned(error.message)}`, { cause: error });
  } finally {
    routes.destroy();
  }
}

/** Finds the OAuth client secret for a token server. The function throws a Failure if the secret must not be sent to that server. */
async function loginSecretOf(
  { name, origin }: HttpConnection,
  auth: Login,
  options: AskingOptions,
  messages: Messages,
): Promise<(server: string) => Promise<string | undefined>> {
  const needs = neededCredentials(auth, origin).filter(({ isLogin }) => !isLogin);
  const uses = needs.map((need): CredentialUse => ({ ...need, problem: (message) => ({ message }) }));
  const { secrets, commands } = await loadSecretsOf(uses, `connection ${name}`, options, messages);
  return async (server) => {
    const { clientCredential } = auth;
    if (clientCredential === undefined) return undefined;
    const secret = secrets.get(clientCredential) ?? (await commands?.find([clientCredential]))?.get(clientCredential);
    refuseOtherHost(clientCredential, secret, server);
    return secret?.text;
  };
}
