import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as bodyJson, text as bodyText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { pageData } from '../ui/page-data.ts';
import { fullView } from '../ui/run-views.ts';

const files: Readonly<Record<string, readonly [name: string, type: string]>> = {
  '/assets/page.js': ['page.js', 'text/javascript'],
  '/assets/page.css': ['page.css', 'text/css'],
};

/** The content security policy of the real server. */
const policy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'",
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
].join('; ');

/** A request from the page that changes something. */
interface Change {
  readonly route: string;
  readonly json: unknown;
  /** The records that it sends. */
  readonly upload?: { readonly query: string; readonly type: string; readonly text: string };
}

type Data = Record<string, unknown>;

/** A server that answers the requests of the page from memory, in the same form as the real server. */
export interface PageServer {
  readonly origin: string;
  /** The link that logs in. It works once. */
  readonly link: string;
  /** The answers, keyed by path, also with a query. A test may change them. */
  readonly data: Data;
  readonly changes: Change[];
  /** Sends an event to all clients that listen to runs. */
  emit(event: string, data: unknown): void;
  /** Ends all sessions. */
  endSessions(): void;
}

/** Starts a server for the page. `data`: answers that differ from the defaults, keyed by the path below `/ui`. */
export async function pageServer(data: Data = {}): Promise<PageServer> {
  const answers: Data = { ...pageData(), ...data };
  const changes: Change[] = [];
  const listeners = new Set<ServerResponse>();
  let tokens: { readonly cookie: string; readonly page: string } | undefined;
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const response of listeners) response.destroy();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    ...{ origin: `http://127.0.0.1:${port}`, link: `http://127.0.0.1:${port}/login#secret-link`, data: answers, changes },
    emit: (event, value) => {
      for (const response of listeners) response.write(`id: ${Date.now()}\nevent: ${event}\ndata: ${JSON.stringify(value)}\n\n`);
    },
    endSessions: () => {
      tokens = undefined;
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('Content-Security-Policy', policy);
    if (!pathname.startsWith('/ui/')) return sendFile(pathname, response);
    const path = pathname.slice('/ui'.length);
    const isLogin = path === '/session' && request.method === 'POST';
    if (!isLogin && !isLoggedIn(request)) return problem(response, 403, 'session-missing', 'expected a session');
    if (request.method !== 'GET') return change(path, search, request, response);
    if (path.endsWith('/events')) return listen(response);
    const found = answers[path + search] ?? answers[path];
    return found === undefined ? problem(response, 404, 'not-found', `there is no ${path}`) : send(response, 200, found);
  }

  function isLoggedIn({ headers }: IncomingMessage): boolean {
    return tokens !== undefined && (headers.cookie ?? '').includes(tokens.cookie) && headers['x-automate-page'] === tokens.page;
  }

  async function change(path: string, search: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isJson = request.headers['content-type'] === 'application/json';
    const json = isJson ? await bodyJson(request) : undefined;
    if (path === '/session' && request.method === 'POST') return openSession(json as { token: string }, response);
    if (path === '/session') tokens = undefined;
    const type = request.headers['content-type'];
    const upload = !isJson && type !== undefined && { query: search, type, text: await bodyText(request) };
    changes.push({ route: `${request.method} ${path}`, json, ...(upload && { upload }) });
    const found = answers[`${request.method} ${path}`];
    if (found === undefined) response.writeHead(204).end();
    else if ((found as { status?: number }).status === 422) problem(response, 422, 'record-failed', 'refused');
    else send(response, 200, found);
  }

  function openSession({ token }: { token: string }, response: ServerResponse): void {
    if (token === 'secret-link') {
      tokens = { cookie: `automate_session_${port}=c00kie`, page: 'page-token' };
      response.setHeader('Set-Cookie', `${tokens.cookie}; HttpOnly; SameSite=Strict; Path=/`);
      send(response, 200, { page_token: tokens.page });
    } else problem(response, 403, 'session-missing', 'the link was used, or has expired');
  }

  function listen(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(': hello\n\nid: 1\nevent: state\ndata: {"state":"running","ending":null,"reason":null}\n\n');
    listeners.add(response);
    response.on('close', () => listeners.delete(response));
  }
}

function sendFile(path: string, response: ServerResponse): void {
  const [name, type] = files[path] ?? ['index.html', 'text/html; charset=utf-8'];
  response.writeHead(200, { 'Content-Type': type }).end(readFileSync(fileURLToPath(new URL(`../../dist/ui/${name}`, import.meta.url))));
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

function problem(response: ServerResponse, status: number, name: string, detail: string): void {
  const body = { type: `/problems/${name}`, title: name, status, detail, instance: '/requests/1' };
  response.writeHead(status, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify(body));
}

/** The view of the run that is still in progress. */
export const livingView = { ...fullView, state: 'running', earlier: 0, ending: undefined, reason: undefined, next: [] };
