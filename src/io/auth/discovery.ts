import { discoverAuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { excerpt } from '../../core/answer/response.ts';
import { AutomateError, Failure } from '../../core/failure.ts';
import type { Fetch } from '../http/fetch.ts';

/** The URLs of an authorization server. */
export interface LoginServer {
  /** Its name in answers (RFC 9207); undefined if it is not known. */
  readonly issuer: string | undefined;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** True if it names itself in every answer. */
  readonly namesItself: boolean;
}

/**
 * Finds the authorization server of an API by /.well-known/oauth-authorization-server (RFC 8414), then openid-configuration, at the API's own
 * origin. Throws an AutomateError (`credential`) if there is none, and a Failure if the API cannot be reached.
 */
export async function discover(origin: string, fetch: Fetch): Promise<LoginServer> {
  const missing = (reason: string) =>
    new AutomateError('credential', `${origin} does not say where to log in${reason}\nwrite authorize_url and token_url into auth`);
  try {
    // An API may name the authorization server of another host: its issuer is not that of the API.
    const found = await discoverAuthorizationServerMetadata(origin, { fetchFn: fetch, skipIssuerValidation: true });
    if (!found) throw missing('');
    return {
      issuer: found.issuer,
      authorizeUrl: found.authorization_endpoint,
      tokenUrl: found.token_endpoint,
      namesItself: found.authorization_response_iss_parameter_supported === true,
    };
  } catch (error) {
    if (error instanceof AutomateError || error instanceof Failure) throw error;
    throw missing(`: ${excerpt((error as Error).message, 200)}`);
  }
}
