import type { HttpConnection } from '../connection.ts';
import type { McpConnection } from '../tools/tools.ts';
import type { NeededCredential } from './auth-type.ts';

/** A connection for which a person logs in. */
export interface LoginNeed {
  readonly connection: HttpConnection | McpConnection;
}

/** The login that a credential of a connection is; undefined for any other credential. */
export function loginIn(
  { isLogin }: Pick<NeededCredential, 'isLogin'>,
  connection: LoginNeed['connection'] | undefined | null,
): { readonly login?: LoginNeed } {
  return isLogin && connection ? { login: { connection } } : {};
}
