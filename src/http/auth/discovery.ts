import { discoverAuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { AutomateError, Failure } from '../../core/failure.ts';
import { withReadableIssues } from '../error.ts';
import type { Fetch } from '../fetch.ts';

export interface LoginServer {
  /** Sent as `iss` in a login's redirect (RFC 9207). Undefined if the URLs come from the flow and were not looked up at the API. */
  readonly issuer: string | undefined;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** True if the server announces that every redirect contains its identifier as `iss`. */
  readonly namesItself: boolean;
}

/**
 * Finds an API's authorization server. Requests `/.well-known/oauth-authorization-server` (RFC 8414) from the API's own origin, then
 * `/.well-known/openid-configuration`. Throws an AutomateError (`credential`) if neither file is usable, or a Failure if the API cannot be
 * reached.
 */
export async function discover(origin: string, fetch: Fetch): Promise<LoginServer> {
  const missing = (reason: string) =>
    new AutomateError('credential', `${origin} does not say where to log in${reason}\nwrite authorize_url and token_url into auth`);
  let url = origin;
  const fetchFn: Fetch = (target, init) => {
    url = String(target);
    return fetch(target, init);
  };
  try {
    // An API may use an authorization server on a different host, so the server's identifier is not compared with the API's origin.
    const found = await discoverAuthorizationServerMetadata(origin, { fetchFn, skipIssuerValidation: true });
    if (!found) throw missing('');
    return {
      issuer: found.issuer,
      authorizeUrl: found.authorization_endpoint,
      tokenUrl: found.token_endpoint,
      namesItself: found.authorization_response_iss_parameter_supported === true,
    };
  } catch (error) {
    if (error instanceof AutomateError || error instanceof Failure) throw error;
    throw missing(`, because ${url} is not usable: ${withReadableIssues((error as Error).message)}`);
  }
}
