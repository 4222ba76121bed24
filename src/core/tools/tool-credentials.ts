import { neededCredentials } from '../auth/auth.ts';
import { credentialFor, type NeededCredential, originOf } from '../auth/auth-type.ts';
import { isRemote, localOrigin, type McpConnection } from './tools.ts';

/** Returns the instruction for the user to log in to the server of a connection. */
export function loginHint(connection: string): string {
  return `log in: automate connections login ${connection}`;
}

/** Returns the credentials that an MCP server needs. */
export function serverCredentials({ server }: Pick<McpConnection, 'server'>): readonly NeededCredential[] {
  if (!isRemote(server)) return Object.values(server.credentials).map((name) => credentialFor(name, localOrigin));
  return server.auth ? neededCredentials(server.auth, originOf(server.url)) : [];
}
