import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '../../core/failure.ts';
import { withoutOwnVariables } from '../../credentials/environment.ts';

/** A person who can log in to an authorization server with a browser. */
export interface LoginPerson {
  /** The local URL that the authorization server redirects the browser to. */
  readonly redirectUrl: string;
  visit(url: URL): Promise<void>;
  answer(state: string): Promise<URLSearchParams>;
}

/** Maximum time in ms that a person may take to log in. */
const loginTimeoutMs = 300_000;

/**
 * Starts a local server that waits for the redirect at the end of a login (RFC 8252, 7.3). `show` prints the login page's URL for the user.
 * The browser gets the environment variables in `environment`. If `environment` is undefined, no browser is started.
 */
export async function openBrowser(environment: NodeJS.ProcessEnv | undefined, show: (url: string) => void): Promise<Browser> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new Browser(server, environment, show);
}

/** The pages that the browser shows after a redirect. A login succeeds only later, when the code has been exchanged for tokens. */
const pages = {
  code: 'automate has received the code of the login. You can close this window; the terminal shows whether the login succeeded.\n',
  refused: 'automate could not log in. You can close this window; the terminal shows the reason.\n',
  other: 'This is not the answer to the login that automate has started. The terminal still waits for that login.\n',
};

interface PendingLogin {
  readonly state: string;
  readonly timer: NodeJS.Timeout;
  resolve(answer: URLSearchParams): void;
}

class Browser implements LoginPerson {
  readonly redirectUrl: string;
  readonly #server: Server;
  readonly #environment: NodeJS.ProcessEnv | undefined;
  readonly #show: (url: string) => void;
  readonly #logins = new Set<PendingLogin>();
  readonly #states = new Set<string | null>();
  /** The query parameters of redirects that no login has received yet. A redirect can arrive before its login starts to wait for it. */
  readonly #answers = new Set<URLSearchParams>();

  constructor(server: Server, environment: NodeJS.ProcessEnv | undefined, show: (url: string) => void) {
    this.redirectUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
    this.#server = server.on('request', (request, response) => this.#receive(request, response));
    this.#environment = environment;
    this.#show = show;
  }

  async visit({ href, searchParams }: URL): Promise<void> {
    this.#states.add(searchParams.get('state'));
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
    const isExpected = searchParams.has('state') && this.#states.has(searchParams.get('state'));
    const page = isExpected ? (searchParams.get('code') ? pages.code : pages.refused) : pages.other;
    response.writeHead(isExpected ? 200 : 400, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    response.end(page);
    // Other redirects are ignored, because an attacker may have caused them (RFC 6749, 10.12).
    if (!isExpected) return;
    this.#answers.add(searchParams);
    this.#settle();
  }

  /** Passes each redirect to the waiting login with the same `state`. */
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
  return new Failure('timeout', `you did not log in within ${loginTimeoutMs / 60_000} minutes`, { sent: false });
}

/** Ignores errors, because the URL is also shown to the user. */
export function startBrowser(environment: NodeJS.ProcessEnv, url: string): void {
  const opener = process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open';
  const env = withoutOwnVariables(environment);
  const child = spawn(environment.BROWSER || opener, [url], { stdio: 'ignore', detached: true, env });
  child.on('error', () => {});
  child.unref();
}
