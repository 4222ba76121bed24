import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DemoAnswer, type DemoRoute, refuse } from './answer.ts';
import { createRoutes } from './routes.ts';

/** The demo API, which is a small local server with data about real airports. The demo, the examples and their tests use it. */
export interface DemoApi {
  /** The API's origin, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** Stops the server and closes all open connections. */
  close(): Promise<void>;
}

/** Starts the demo API on a port, or on any free port by default. Rejects if the port is already in use. */
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

async function reply(routes: readonly DemoRoute[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const { status, headers, body } = await demoAnswer(routes, request);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }).end(body);
  } catch {
    // The client closed the connection before it had sent the whole request body.
    response.destroy();
  }
}

function demoAnswer(routes: readonly DemoRoute[], request: IncomingMessage): DemoAnswer | Promise<DemoAnswer> {
  const [path = ''] = (request.url ?? '').split('?');
  const candidates = routes.filter((route) => route.path.test(path));
  const route = candidates.find(({ method }) => method === request.method);
  if (route) return route.answer(route.path.exec(path)?.[1] ?? '', request);
  const [other] = candidates;
  if (!other) return refuse(404, `nothing is at ${path}`);
  return refuse(405, `expected ${other.method}, found ${request.method}`, { allow: other.method });
}
