import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AutomateError, invalidOption } from '../core/failure.ts';
import type { NetworkAddress } from '../core/run-options.ts';
import { isLoopback } from '../core/template/url.ts';
import { systemReason } from '../files/naming-errors.ts';

interface FiguresPage {
  readonly type: string;
  text(): Promise<string>;
}

export interface MetricsServer {
  /** A URL such as http://127.0.0.1:9464. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The server does not keep the process alive. At a loopback address, it accepts only names of this machine in the Host header. Throws an
 * AutomateError: `output-exists` if the port is taken, `usage` if the server cannot listen on the address.
 */
export async function serveMetrics({ host, port }: NetworkAddress, pages: ReadonlyMap<string, FiguresPage>): Promise<MetricsServer> {
  const isLocal = isLoopback(host.includes(':') ? `[${host}]` : host);
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    if (isLocal && !namesLoopback(request)) return answerError(response, 421, 'expected a Host header with a name of this machine');
    sendPage(request, response, pages.get(path)).catch(() => answerError(response, 503, 'the metrics cannot be read now'));
  });
  await bound(server, { host, port });
  // Errors are ignored, because the run must continue even if a connection to the metrics server fails.
  server.on('error', () => undefined);
  server.unref();
  server.on('connection', (socket) => socket.unref());
  const { port: taken } = server.address() as AddressInfo;
  const close = () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    return closed.then(() => undefined);
  };
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`, close };
}

/** Other names in the Host header are refused to prevent DNS rebinding. The port is not checked: a tunnel may use another. */
function namesLoopback({ headers: { host = '' } }: IncomingMessage): boolean {
  return URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname);
}

async function sendPage({ method }: IncomingMessage, response: ServerResponse, page: FiguresPage | undefined): Promise<void> {
  if (!page) return answerError(response, 404, 'not found');
  if (method !== 'GET' && method !== 'HEAD') return answerError(response.setHeader('allow', 'GET, HEAD'), 405, 'expected GET');
  const text = await page.text();
  response.writeHead(200, { 'content-type': page.type, 'cache-control': 'no-store' }).end(text);
}

function answerError(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

async function bound(server: Server, address: NetworkAddress): Promise<void> {
  server.listen({ ...address });
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw addressError(error, address);
  });
}

function addressError(error: NodeJS.ErrnoException, { host, port }: NetworkAddress): AutomateError {
  if (error.code === 'EADDRINUSE')
    return new AutomateError('output-exists', `port ${port} of ${host} is in use by another process`, { code: 'port-taken', details: {} });
  return invalidOption('metrics', `the server cannot listen on ${host}:${port}: ${systemReason(error)}`);
}
