import { OAuth2Server } from 'oauth2-mock-server';
import { onTestFinished } from 'vitest';
import { httpServer, json, type SeenRequest } from './http-server.ts';

/** The rules for an API that requires a login. */
export interface LoginRules {
  /** The path of the server's metadata; undefined if it has none. */
  readonly wellKnown?: string;
  /** The way in which the client authenticates to the token server. */
  readonly client?: 'public' | 'basic' | 'body';
  /** A parameter that every login and every token request must contain. */
  readonly audience?: string;
  readonly expiresIn?: number;
}

/** The secret of the client `me`, unless it is a public client. */
export const clientSecret = 's3cr3t/+&é';

const pair = btoa(`me:${encodeURIComponent(clientSecret)}`);

/**
 * Starts an API with its authorization server, which is oauth2-mock-server with the rules of this test. Each refresh token can
 * be used once, and a second use ends the login.
 */
export async function loginApi(rules: LoginRules = {}) {
  const { wellKnown = '/.well-known/oauth-authorization-server', client = 'public', audience, expiresIn = 3600 } = rules;
  const mock = new OAuth2Server();
  await mock.issuer.keys.generate('RS256');
  await mock.start(0, '127.0.0.1');
  onTestFinished(() => mock.stop());
  const mockOrigin = `http://127.0.0.1:${mock.address().port}`;
  let issued = 0;
  let refresh: string | undefined;
  const valid = new Set<string>();
  const tokenRequests: URLSearchParams[] = [];
  const refused: string[] = [];
  let gate: Promise<unknown> = Promise.resolve();

  const problemOf = (form: URLSearchParams, { headers }: SeenRequest): string | undefined => {
    const isClient = {
      public: form.get('client_id') === 'me' && !form.has('client_secret') && headers.authorization === undefined,
      basic: headers.authorization === `Basic ${pair}` && !form.has('client_secret'),
      body: form.get('client_id') === 'me' && form.get('client_secret') === clientSecret && headers.authorization === undefined,
    };
    if (!isClient[client]) return 'invalid_client';
    if (audience !== undefined && form.get('audience') !== audience) return 'access_denied';
    if (form.get('grant_type') !== 'refresh_token') return undefined;
    const isCurrent = refresh !== undefined && form.get('refresh_token') === refresh;
    if (!isCurrent) refresh = undefined;
    return isCurrent ? undefined : 'invalid_grant';
  };

  const server = await httpServer(async (request, response) => {
    const { path, body, headers } = request;
    const { origin } = server;
    const url = new URL(path, origin);
    if (url.pathname.startsWith('/.well-known/')) {
      if (url.pathname !== wellKnown) return response.writeHead(404).end();
      return json(response, {
        issuer: origin,
        ...{ authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, jwks_uri: `${origin}/jwks` },
        ...{ response_types_supported: ['code'], subject_types_supported: ['public'], code_challenge_methods_supported: ['S256'] },
        id_token_signing_alg_values_supported: ['RS256'],
      });
    }
    if (url.pathname === '/authorize') {
      if (audience !== undefined && url.searchParams.get('audience') !== audience) return response.writeHead(403).end();
      const answer = await fetch(`${mockOrigin}/authorize${url.search}`, { redirect: 'manual' });
      return response.writeHead(302, { location: answer.headers.get('location') as string }).end();
    }
    if (url.pathname === '/token') {
      const form = new URLSearchParams(body);
      tokenRequests.push(form);
      await gate;
      const error = problemOf(form, request);
      if (error !== undefined) {
        refused.push(error);
        return json(response, { error }, error === 'access_denied' ? 403 : 400);
      }
      const sent = new URLSearchParams(form);
      sent.set('client_id', 'me');
      const answer = await fetch(`${mockOrigin}/token`, { method: 'POST', body: sent });
      if (!answer.ok) return json(response, await answer.json(), answer.status);
      const { access_token: signed } = (await answer.json()) as { access_token: string };
      const access = `${signed}-${++issued}`;
      valid.add(access);
      refresh = `refresh-token-${issued}`;
      const renewing = form.get('grant_type') === 'client_credentials' ? {} : { refresh_token: refresh };
      return json(response, { access_token: access, token_type: 'Bearer', expires_in: expiresIn, ...renewing });
    }
    const token = (headers.authorization ?? '').replace('Bearer ', '');
    if (valid.has(token)) json(response, { name: `n${url.pathname.slice(1)}`, echo: headers.authorization });
    else json(response, { error: 'invalid_token' }, 401);
  });
  return {
    ...server,
    tokenRequests,
    refused,
    /** Returns all tokens that were issued. */
    secrets: () => [...valid, ...Array.from({ length: issued }, (_, index) => `refresh-token-${index + 1}`)],
    /** Makes the API reject all access tokens issued so far. */
    forget: () => valid.clear(),
    /** Makes the server reject all refresh tokens issued so far. */
    revoke() {
      refresh = undefined;
    },
    /** Delays the answers to token requests until this promise has settled. */
    hold(until: Promise<unknown>) {
      gate = until;
    },
    apiRequests: () => server.requests.filter(({ path }) => /^\/\d/.test(path)),
  };
}

/** Logs in as a person would: follows the address to the server, and the redirect back to this machine. */
export async function followLogin(address: string): Promise<string> {
  const away = await fetch(address, { redirect: 'manual' });
  const back = await fetch(away.headers.get('location') as string);
  return back.text();
}
