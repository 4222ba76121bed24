import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * A proxy on loopback that forwards requests for every host to a server on loopback. Tests can use any host name, and nothing
 * leaves this machine.
 */
export interface ProxyServer {
  readonly url: string;
  /** Each request line, with the credential that was sent to the proxy. */
  readonly seen: readonly string[];
  /** Returns the number of connections accepted so far. */
  connections(): number;
}

/**
 * Starts a proxy for the current test. `target`: a port on loopback, or a function that returns the port for a host such as
 * `api.example.com:443`. `refusal`: the status with which the proxy refuses all requests, and `headers` for those without a tunnel.
 */
export async function proxyServer(
  target: number | ((host: string) => number),
  refusal?: number,
  headers: Record<string, string> = {},
): Promise<ProxyServer> {
  const portOf = (host = '') => (typeof target === 'number' ? target : target(host));
  const seen: string[] = [];
  let connections = 0;
  const note = (method?: string, url?: string, credential = '') => seen.push(`${method} ${url} ${credential}`.trim());
  const server = createServer((request, response) => {
    note(request.method, request.url, request.headers['proxy-authorization']);
    if (refusal !== undefined) return response.writeHead(refusal, headers).end('no');
    const { host, pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _credential, ...sent } = request.headers;
    const onward = send(
      { host: '127.0.0.1', port: portOf(host), path: pathname + search, method: request.method, headers: sent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    return request.pipe(onward);
  });
  server.on('connect', (request, socket) => {
    note(request.method, request.url, request.headers['proxy-authorization']);
    socket.on('error', () => {});
    if (refusal !== undefined) return socket.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 0\r\n\r\n`);
    const onward = connect(portOf(request.url), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    return onward.on('error', () => socket.destroy());
  });
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, connections: () => connections };
}
