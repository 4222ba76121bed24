import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '../../core/failure.ts';
import type { LoginPerson } from './login.ts';

/** A browser that is waited for, on a port of this machine that only it is told of. */
export interface Browser extends LoginPerson {
  close(): void;
}

/** So long a person may take. */
const patienceMs = 300_000;

/** Opens the place that a browser is sent back to (RFC 8252, 7.3). `show`: tells the person where to log in. */
export async function openBrowser(environment: NodeJS.ProcessEnv, show: (url: string) => void): Promise<Browser> {
  const waiting: { state: string; resolve: (answer: URLSearchParams) => void }[] = [];
  const early: URLSearchParams[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (url.pathname !== '/callback') return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
    const outcome = url.searchParams.has('error') ? 'was not let in' : 'has what it needs';
    response.end(`automate ${outcome}; this window can be closed.\n`);
    early.push(url.searchParams);
    settle();
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    redirectUrl: `http://127.0.0.1:${port}/callback`,
    async visit(url) {
      show(url.href);
      start(environment, url.href);
    },
    answer(state) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(noAnswer()), patienceMs);
        timers.add(timer);
        const done = (answer: URLSearchParams) => {
          clearTimeout(timer);
          resolve(answer);
        };
        waiting.push({ state, resolve: done });
        settle();
      });
    },
    close() {
      for (const timer of timers) clearTimeout(timer);
      server.close();
      server.closeAllConnections();
    },
  };

  /** An answer with another state was not asked for: somebody else may have sent it (RFC 6749, 10.12). */
  function settle(): void {
    for (const one of [...waiting]) {
      const index = early.findIndex((answer) => answer.get('state') === one.state);
      if (index < 0) continue;
      waiting.splice(waiting.indexOf(one), 1);
      one.resolve(early.splice(index, 1)[0] as URLSearchParams);
    }
  }
}

function noAnswer(): Failure {
  return new Failure('timeout', `nobody has logged in within ${patienceMs / 60_000} minutes`, { sent: false });
}

/** Where none can be started, the person opens the address that was shown. */
function start(environment: NodeJS.ProcessEnv, url: string): void {
  const usual = process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open';
  const child = spawn(environment.BROWSER || usual, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
