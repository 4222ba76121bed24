import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '../../core/failure.ts';
import { startBrowser } from '../start-browser.ts';

/** A person with a browser. */
export interface LoginPerson {
  /** The address to which the browser comes back. */
  readonly redirectUrl: string;
  visit(url: URL): Promise<void>;
  answer(state: string): Promise<URLSearchParams>;
}

/** Longest wait for a user to log in. */
const loginTimeoutMs = 300_000;

/**
 * Listens on a free port for browsers that come back from a login (RFC 8252, 7.3). `show`: tells the person the address of the login.
 * `environment`: that of the browser; undefined to start none.
 */
export async function openBrowser(environment: NodeJS.ProcessEnv | undefined, show: (url: string) => void): Promise<Browser> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new Browser(server, environment, show);
}

interface PendingLogin {
  readonly state: string;
  readonly timer: NodeJS.Timeout;
  resolve(answer: URLSearchParams): void;
}

/** A browser in which a user logs in. */
export class Browser implements LoginPerson {
  readonly redirectUrl: string;
  readonly #server: Server;
  readonly #environment: NodeJS.ProcessEnv | undefined;
  readonly #show: (url: string) => void;
  readonly #logins = new Set<PendingLogin>();
  /** Answers that no login has taken. An answer may come before its login waits for it. */
  readonly #answers = new Set<URLSearchParams>();

  constructor(server: Server, environment: NodeJS.ProcessEnv | undefined, show: (url: string) => void) {
    this.redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    this.#server = server.on('request', (request, response) => this.#receive(request, response));
    this.#environment = environment;
    this.#show = show;
  }

  async visit({ href }: URL): Promise<void> {
    this.#show(href);
    if (this.#environment) startBrowser(this.#environment, href);
  }

  answer(state: string): Promise<URLSearchParams> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(notLoggedIn()), loginTimeoutMs);
      this.#logins.add({ state, timer, resolve });
      this.#settle();
    });
  }

  close(): void {
    for (const { timer } of this.#logins) clearTimeout(timer);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (pathname !== '/callback') return void response.writeHead(404).end();
    const outcome = searchParams.has('error') ? 'was not let in' : 'has what it needs';
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    response.end(`automate ${outcome}; this window can be closed.\n`);
    this.#answers.add(searchParams);
    this.#settle();
  }

  /** Hands each login the answer with its state. An attacker may send answers with another state (RFC 6749, 10.12). */
  #settle(): void {
    for (const login of this.#logins) {
      const answer = [...this.#answers].find((candidate) => candidate.get('state') === login.state);
      if (!answer) continue;
      this.#answers.delete(answer);
      this.#logins.delete(login);
      clearTimeout(login.timer);
      login.resolve(answer);
    }
  }
}

function notLoggedIn(): Failure {
  return new Failure('timeout', `nobody has logged in within ${loginTimeoutMs / 60_000} minutes`, { sent: false });
}
