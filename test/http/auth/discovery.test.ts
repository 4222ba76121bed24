import { expect, test } from 'vitest';
import { discover } from '../../../src/http/auth/discovery.ts';
import { httpServer, json } from '../../helpers/http-server.ts';

const oauth = '/.well-known/oauth-authorization-server';
const openId = '/.well-known/openid-configuration';

test.each([
  [oauth, { response_types_supported: undefined }, 'response_types_supported: expected array, received undefined'],
  [openId, { jwks_uri: undefined }, 'jwks_uri: expected string, received undefined'],
  [oauth, { token_endpoint: 5 }, 'token_endpoint: expected string, received number'],
])('the error for unusable metadata at %s names the URL and the member: %j', async (path, members, problem) => {
  const server = await httpServer((request, response) => {
    const at = (name: string) => `${server.origin}/${name}`;
    if (request.path !== path) return response.writeHead(404).end();
    return json(response, {
      ...{ issuer: server.origin, authorization_endpoint: at('authorize'), token_endpoint: at('token'), jwks_uri: at('jwks') },
      ...{ response_types_supported: ['code'], subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['RS256'] },
      ...members,
    });
  });
  const reason = `${server.origin} does not say where to log in, because ${server.origin}${path} is not usable: ${problem}`;
  await expect(discover(server.origin, fetch)).rejects.toMatchObject({
    kind: 'credential',
    message: `${reason}\nwrite authorize_url and token_url into auth`,
  });
});
