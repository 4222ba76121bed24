import { originOf, type SecretUse, secretUse } from '../auth.ts';
import { isRemote, localOrigin, type McpConnection } from './tools.ts';

/** A credential that a server needs, and where its secret would go. */
export interface ServerCredential extends SecretUse {
  readonly name: string;
  /** Whether it comes of a login, and need not be there before the first one. */
  readonly isLogin: boolean;
}

/** How somebody logs in to the server of a connection. */
export function loginHint(connection: string): string {
  return `log in at a terminal: automate connections test ${connection} (automate connections add mcp ${connection}, where it is not saved yet)`;
}

/** The credentials of a server. */
export function serverCredentials({ server }: Pick<McpConnection, 'server'>): ServerCredential[] {
  const plain = { isPair: false, isLogin: false };
  if (!isRemote(server)) {
    return Object.values(server.credentials).map((name) => ({ ...plain, name, origins: [localOrigin] }));
  }
  const { auth, url } = server;
  if (!auth) return [];
  const origin = originOf(url);
  if (auth.type === 'oauth2_authorization_code') {
    const login = { ...plain, name: auth.credential, origins: origin === undefined ? [] : [origin], isLogin: true };
    // Where the client's own secret goes is known when the server has said who logs people in.
    return auth.clientCredential === undefined ? [login] : [login, { ...plain, name: auth.clientCredential, origins: [] }];
  }
  return [{ name: auth.credential, isLogin: false, ...secretUse(auth, origin) }];
}
