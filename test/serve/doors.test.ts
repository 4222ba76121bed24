import { mkdirSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/serve/app.ts';
import { openServerKeys } from '../../src/serve/keys/server-keys.ts';
import { Hosts } from '../../src/serve/listening.ts';
import { addAllRoutes } from '../../src/serve/routes/all-routes.ts';
import { ServedTools } from '../../src/serve/served-tools.ts';
import { Server } from '../../src/serve/server.ts';
import { Sessions } from '../../src/serve/sessions.ts';
import { Links } from '../../src/serve/store/links.ts';
import { serverDatabase, serverHome, settings } from '../helpers/server-keys.ts';

/** The routes that need neither a key nor a session. */
const open = [
  ...['GET /healthz', 'GET /readyz', 'GET /problems/:name', 'GET /assets/page.js', 'GET /assets/page.css', 'POST /ui/session'],
  ...['GET /', 'GET /login', 'GET /runs', 'GET /runs/:id', 'GET /flows/:flow', 'GET /flows/:flow/test', 'GET /integrations'],
  ...['GET /settings/keys', 'GET /settings/billing', 'GET /settings/audit', 'GET /docs'],
];

/** Starts a server in this process with all routes. `handled` lists the routes whose handler was called. */
async function allRoutes() {
  const home = serverHome();
  const flows = join(home, 'flows');
  mkdirSync(flows);
  const keys = openServerKeys(serverDatabase(home), { now: () => performance.now(), wallNow: Date.now }, () => undefined);
  const key = keys.store.create(settings({ scopes: ['run', 'test', 'read'], rate: '1000000/min' })).value;
  const limits = { maxRuns: 1, maxQueue: 1, maxUpload: 1000, maxDisk: 1e6, keepMs: 1e9 };
  const given = { dir: flows, home, limits, allowHttp: false, cacert: undefined, env: undefined, files: undefined, say: () => undefined };
  const server = new Server({ ...given, database: serverDatabase(home), keys });
  const hosts = new Hosts([], false);
  const app = createApp({ hosts, behindProxy: false, answered: () => undefined, bug: () => undefined });
  const routes: { readonly method: string; readonly url: string }[] = [];
  const handled = new Set<string>();
  app.addHook('onRoute', (route) => {
    const { method, url, handler } = route;
    if (method !== 'HEAD') routes.push({ method: String(method), url });
    route.handler = function (...args) {
      handled.add(`${String(method).replace('HEAD', 'GET')} ${url}`);
      return handler.apply(this, args);
    };
  });
  let port = 0;
  const sessions = new Sessions(() => performance.now());
  const files = { index: Buffer.from('page'), script: Buffer.from(''), style: Buffer.from('') };
  await addAllRoutes(app, server, {
    ...{ home, isStopping: () => false, isQueueAway: () => false },
    sessions: { sessions, links: new Links(home), isTls: false, port: () => port },
    mcp: { tools: new ServedTools(server), hosts },
    page: { folder: 'flows', home, edit: true, limits: [], files },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
  hosts.port = port;
  onTestFinished(() => app.close());
  return { port, key, sessions, routes, handled };
}

/** Returns all spellings of a path that a server might treat as the same path. */
function spellings(path: string, port: number): string[] {
  const escaped = (character: string) => `%${character.charCodeAt(0).toString(16)}`;
  const first = path.replace(/\w/, escaped);
  const all = path.replace(/\w/g, escaped);
  return [
    ...[
      path,
      first,
      first.replace(/%../, (hex) => hex.toUpperCase()),
      all,
      `${path}/`,
      `${path}?a=b`,
      `${path}%20`,
      `${path}%00`,
      `${path};x`,
      `${path}#x`,
    ],
    ...[path.toUpperCase(), `/${path}`, `//evil.example${path}`, `/.${path}`, `/x/..${path}`, `/v1/..${path}`, `/%2e${path}`],
    ...[path.replaceAll('/', '%2f'), path.replace(/\/(?!.*\/)/, '%2F'), path.replaceAll('/', '\\'), path.replace(/\//g, '//')],
    ...[first.replaceAll('%', '%25'), path.replace(/^\/(\w+)/, '/$1;x=1'), path.replace('u', '%u0075'), path.replace('u', '\u00c1\u00b5')],
    ...[
      `http://127.0.0.1:${port}${path}`,
      `HTTP://127.0.0.1:${port}${first}`,
      `http://127.0.0.1:${port}/${path}`,
      `ui:${path}`,
      `*${path}`,
    ],
  ];
}

/** Returns a function that sends bytes which no ordinary client would send, and resolves with the status. */
function sender(port: number) {
  return (method: string, path: string, headers: Record<string, string> = {}, hosts = [`127.0.0.1:${port}`]) =>
    new Promise<number>((resolve, reject) => {
      const body = method === 'GET' ? '' : '{}';
      const lines = Object.entries({ 'content-type': 'application/json', 'content-length': String(body.length), ...headers });
      const head = [`${method} ${path} HTTP/1.1`, ...hosts.map((host) => `host: ${host}`), ...lines.map((line) => line.join(': '))];
      const socket = connect(port, '127.0.0.1', () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1'));
      socket.once('error', reject);
      socket.once('data', (chunk) => {
        socket.destroy();
        resolve(Number(String(chunk).split(' ')[1]));
      });
    });
}

const sample = (url: string) => url.replace(/:\w+/g, 'one');

const needsKey = (url: string) => ['v1', 'mcp'].includes(guardOf(url) ?? '');

const guardOf = (url: string) => /^\/(v1|ui|mcp)(?=\/|$)/.exec(url)?.[1];

test('every route that is not public refuses requests without a key or session, however its path is written', async () => {
  const { port, routes, handled } = await allRoutes();
  const send = sender(port);
  expect(routes.filter(({ url }) => guardOf(url)).length).toBeGreaterThan(40);
  for (const { method, url } of routes) {
    const statuses = await Promise.all(spellings(sample(url), port).map((path) => send(method, path)));
    if (guardOf(url) && url !== '/ui/session') expect([url, statuses.slice(0, 4)]).toEqual([url, Array(4).fill(needsKey(url) ? 401 : 403)]);
  }
  expect([...handled].filter((route) => !open.includes(route))).toEqual([]);
});

test("an API key does not open the page's routes, and a session does not open /v1 and /mcp", async () => {
  const { port, key, sessions, routes, handled } = await allRoutes();
  const send = sender(port);
  const { cookie, pageToken } = sessions.open();
  const asKey = { authorization: `Bearer ${key}` };
  const asPage = { cookie: `automate_session_${port}=${cookie}`, 'x-automate-page': pageToken, origin: `http://127.0.0.1:${port}` };
  for (const { method, url } of routes)
    await Promise.all(spellings(sample(url), port).map((path) => send(method, path, needsKey(url) ? asPage : asKey)));
  expect([...handled].filter((route) => !open.includes(route))).toEqual([]);
  expect(await send('GET', '/%761/flows', asKey)).toBe(200);
  expect(await send('GET', '/%75i/keys', asPage)).toBe(200);
});

test('a different website cannot change anything, although the browser sends the session cookie', async () => {
  const { port, sessions, routes, handled } = await allRoutes();
  const send = sender(port);
  const { cookie, pageToken } = sessions.open();
  const own = { cookie: `automate_session_${port}=${cookie}`, 'x-automate-page': pageToken };
  const others: Record<string, string>[] = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: `http://127.0.0.1:${port + 1}` },
    { origin: `https://127.0.0.1:${port}` },
    { 'sec-fetch-site': 'same-site' },
    {},
  ];
  const changing = routes.filter(({ method, url }) => method !== 'GET' && guardOf(url) === 'ui');
  expect(changing.length).toBeGreaterThan(12);
  for (const { method, url } of changing)
    for (const path of spellings(sample(url), port).slice(0, 4))
      for (const other of others) expect([path, await send(method, path, { ...own, ...other })]).toEqual([path, 403]);
  expect([...handled]).toEqual([]);
  expect(await send('POST', '/ui/runs/one/stop', { ...own, origin: `http://127.0.0.1:${port}` })).toBe(404);
});

test('a request for a different host is refused, even if a second header or the URL names that host', async () => {
  const { port } = await allRoutes();
  const send = sender(port);
  const host = `127.0.0.1:${port}`;
  expect(await send('GET', '/healthz', {}, [host, 'evil.example'])).toBe(400);
  expect(await send('GET', '/healthz', {}, [host, host])).toBe(400);
  expect(await send('GET', 'http://evil.example/healthz')).toBe(421);
  expect(await send('GET', `http://${host}@evil.example/healthz`)).toBe(421);
  expect(await send('GET', `http://${host}/healthz`)).toBe(200);
  expect(await send('OPTIONS', '*')).toBe(400);
});

test('a request with an unsupported method gets a 405 with the supported methods, whatever its body', async () => {
  const { port, key } = await allRoutes();
  const send = sender(port);
  const asKey = { authorization: `Bearer ${key}` };
  const asCsv = { ...asKey, 'content-type': 'text/csv' };
  const asked: [string, string][] = [
    ['TRACE', '/v1/flows'],
    ['PROPFIND', '/v1/flows/one'],
    ['PUT', '/v1/flows/one/calls'],
    ['DELETE', '/v1/flows/%6Fne'],
    ['PUT', '/mcp'],
    ['HEAD', '/mcp'],
    ['PUT', '/healthz'],
  ];
  expect(await Promise.all(asked.map(([method, path]) => send(method, path, asCsv)))).toEqual(Array(7).fill(405));
  expect(await send('PUT', '/v1/nothing', asCsv)).toBe(404);
  expect(await send('POST', '/mcp/', asCsv)).toBe(404);
  expect(await send('PUT', '/v1/nothing')).toBe(401);
});

test('a request without a body may have a Content-Type if its route takes no body', async () => {
  const { port, key } = await allRoutes();
  const asJson = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const asked: [string, string][] = [
    ['DELETE', '/v1/runs/run_01234567890123456'],
    ['POST', '/v1/runs/run_01234567890123456/stop'],
  ];
  const statuses = await Promise.all(asked.map(([method, path]) => sender(port)(method, path, asJson)));
  expect(statuses).toEqual([404, 404]);
  expect(await sender(port)('POST', '/mcp', asJson)).toBe(400);
});

test('a request with a URL that cannot be decoded gets a 400', async () => {
  const { port, key } = await allRoutes();
  expect(await sender(port)('GET', '/v1/%zz', { authorization: `Bearer ${key}` })).toBe(400);
});
