import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DemoAnswer, type Route, refuse } from './answer.ts';
import { createRoutes } from './routes.ts';

/** The demo API: a small server on loopback over real airports, for the demo, the examples and their tests. */
export interface DemoApi {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** Stops the server, and closes open connections. */
  close(): Promise<void>;
}

/** Starts the demo API; on any free port by default. Rejects if the port is taken. */
export async function createDemoApi(port = 0): Promise<DemoApi> {
  const routes = createRoutes();
  const server = createServer((request, response) => void reply(routes, request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => closeServer(server),
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function reply(routes: readonly Route[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const { status, headers, body } = await demoAnswer(routes, request);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }).end(body);
  } catch {
    // The client closed the connection while it sent its body.
    response.destroy();
  }
}

function demoAnswer(routes: readonly Route[], request: IncomingMessage): DemoAnswer | Promise<DemoAnswer> {
  const [path = ''] = (request.url ?? '').split('?');
  const candidates = routes.filter((route) => route.path.test(path));
  const route = candidates.find(({ method }) => method === request.method);
  if (route) return route.answer(route.path.exec(path)?.[1] ?? '', request);
  const [other] = candidates;
  if (!other) return refuse(404, `nothing is at ${path}`);
  return refuse(405, `expected ${other.method}, found ${request.method}`, { allow: other.method });
}
