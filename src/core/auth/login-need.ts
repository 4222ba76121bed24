import type { HttpConnection } from '../connection.ts';
import type { McpConnection } from '../tools.ts';
import type { NeededCredential } from './auth-type.ts';

export interface LoginNeed {
  readonly connection: HttpConnection | McpConnection;
}

/** Returns the login that creates a connection's credential. */
export function loginIn(
  { isLogin }: Pick<NeededCredential, 'isLogin'>,
  connection: LoginNeed['connection'] | undefined | null,
): { readonly login?: LoginNeed } {
  return isLogin && connection ? { login: { connection } } : {};
}
