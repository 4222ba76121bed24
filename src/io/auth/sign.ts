import type { Auth } from '../../core/ports.ts';

/** What a credential adds to a request. */
export interface Signature {
  readonly headers: Readonly<Record<string, string>>;
  /** `name=value` for the query, percent-encoded. */
  readonly query?: string;
  /** The name in the query. */
  readonly parameter?: string;
}

/** Signs with the secret itself: for OAuth that is the access token. */
export function signature(auth: Auth, secret: string): Signature {
  switch (auth.type) {
    case 'bearer':
    case 'oauth2_client_credentials':
      return { headers: { authorization: `Bearer ${secret}` } };
    case 'basic': {
      const pair = auth.username === undefined ? secret : `${auth.username}:${secret}`;
      return { headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
    }
    case 'api_key': {
      if (auth.query === undefined) return { headers: { [(auth.header as string).toLowerCase()]: secret } };
      return { headers: {}, query: `${encodeURIComponent(auth.query)}=${encodeURIComponent(secret)}`, parameter: auth.query };
    }
  }
}

/** A path with a parameter added to its query. */
export function withQuery(path: string, query: string | undefined): string {
  if (query === undefined) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query}`;
}
