import { httpServer, json } from '../http-server.ts';

/** Starts an MCP server with its own authorization server, which accepts every login. */
export async function loginServer() {
  let issued = 0;
  let valid = '';
  let logins = 0;
  const server = await httpServer(({ method, path, headers, body }, response) => {
    const { origin } = server;
    const url = new URL(path, origin);
    if (url.pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (url.pathname === '/.well-known/oauth-authorization-server') {
      const endpoints = {
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
      };
      return json(response, {
        issuer: origin,
        ...endpoints,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
      });
    }
    if (url.pathname === '/register') return json(response, { ...JSON.parse(body), client_id: 'me' }, 201);
    if (url.pathname === '/authorize') {
      logins++;
      const back = new URL(url.searchParams.get('redirect_uri') as string);
      back.search = String(new URLSearchParams({ code: 'code-1', state: url.searchParams.get('state') as string }));
      return response.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === '/token') {
      valid = `access-${++issued}`;
      return json(response, { access_token: valid, refresh_token: `refresh-${issued}`, token_type: 'Bearer', expires_in: 3600 });
    }
    if (method !== 'POST') return response.writeHead(405).end();
    if (valid === '' || headers.authorization !== `Bearer ${valid}`) {
      return response
        .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"` })
        .end();
    }
    const { id, method: asked } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    if (asked === 'initialize')
      return json(response, {
        jsonrpc: '2.0',
        id,
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'docs', version: '1' } },
      });
    if (asked === 'tools/list')
      return json(response, { jsonrpc: '2.0', id, result: { tools: [{ name: 'work', inputSchema: { type: 'object' } }] } });
    if (asked === 'tools/call') return json(response, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: `ok ${valid}` }] } });
    return json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  });
  return {
    ...server,
    logins: () => logins,
    expire: () => {
      valid = 'none';
    },
  };
}
