import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import data from './airports.json' with { type: 'json' };
import { type Answer, error, ok, type Route } from './answer.ts';
import { createExports } from './exports.ts';
import { createFlights } from './flights.ts';
import { refusalOf } from './unlucky.ts';

/** A small API over real airports on loopback, for the demo, the examples and their tests. */
export interface DemoApi {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** How many requests it has answered, refusals included. */
  requests(): number;
  /** Ends open connections too. */
  close(): Promise<void>;
}

/** Starts the demo API; any free port unless told. Rejects when the port is taken. */
export async function createDemoApi({ port = 0 }: { port?: number } = {}): Promise<DemoApi> {
  const routes = createRoutes();
  let requests = 0;
  const server = createServer((request, response) => {
    requests++;
    void reply(routes, request, response);
  });
  await listening(server, port);
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    close: () => closed(server),
  };
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function reply(routes: readonly Route[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const { status, headers, body } = await answerOf(routes, request);
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }).end(body);
  } catch {
    // The client went away in the middle of its body: nobody is left to answer.
    response.destroy();
  }
}

function answerOf(routes: readonly Route[], request: IncomingMessage): Answer | Promise<Answer> {
  const [path = ''] = (request.url ?? '').split('?');
  const candidates = routes.filter((route) => route.path.test(path));
  const route = candidates.find(({ method }) => method === request.method);
  if (route) return route.answer(route.path.exec(path)?.[1] ?? '', request);
  const [other] = candidates;
  if (!other) return error(404, `nothing is at ${path}`);
  return { ...error(405, `expected ${other.method}, found ${request.method}`), headers: { allow: other.method } };
}

/** Every answer is made once: the API is never what a run waits for. */
function createRoutes(): Route[] {
  const airports = new Map(data.airports.map((airport) => [airport.iata, ok(airportBody(airport))]));
  const places = new Map([...airports.keys()].sort().map((iata, index) => [iata, index + 1]));
  const countries = new Map(Object.keys(data.countries).map((code) => [code, ok(countryBody(code))]));
  const asked = new Map<string, number>();

  const airport = (iata: string) => airports.get(iata) ?? error(404, `no airport has the code ${iata}`);
  const flaky = (iata: string) => {
    const nth = (asked.get(iata) ?? 0) + 1;
    const place = places.get(iata);
    if (place === undefined) return airport(iata);
    asked.set(iata, nth);
    const refusal = refusalOf(iata, place, nth);
    return refusal ? { ...error(refusal.status, refusal.error), headers: refusal.headers ?? {} } : airport(iata);
  };

  return [
    { method: 'GET', path: /^\/v1\/airports$/, answer: (_, { url }) => pageOf(url ?? '') },
    { method: 'GET', path: /^\/v1\/airports\/([^/]+)$/, answer: airport },
    { method: 'GET', path: /^\/v1\/flaky\/([^/]+)$/, answer: flaky },
    { method: 'GET', path: /^\/v1\/countries\/([^/]+)\/airports$/, answer: (code) => countries.get(code) ?? ok({ results: [] }) },
    { method: 'POST', path: /^\/v1\/events$/, answer: (_, request) => takeEvent(request) },
    ...createExports((country) => (countries.has(country) ? { airports: airportsOf(country) } : undefined)),
    ...createFlights([...airports.keys()].sort()),
  ];
}

/** An airport whose elevation is not known has no such member. */
type Airport = Omit<(typeof data.airports)[number], 'elevation_ft'> & { elevation_ft?: number };

function airportBody({ iata, name, lat, lon, elevation_ft, timezone, icao, country }: Airport): object {
  const countryNames: Readonly<Record<string, string>> = data.countries;
  const location = { lat, lon, elevation_ft };
  return { data: { airport: { iata, name, location, timezone, icao, country: { code: country, name: countryNames[country] } } } };
}

function countryBody(code: string): object {
  return { results: airportsOf(code) };
}

function airportsOf(code: string): { iata: string; name: string }[] {
  return data.airports.filter(({ country }) => country === code).map(({ iata, name }) => ({ iata, name }));
}

/** Some of a country's airports, and a cursor for those behind them; `null` behind the last. */
function pageOf(url: string): Answer {
  const { searchParams } = new URL(url, 'http://127.0.0.1');
  const limit = Number(searchParams.get('limit') ?? 10);
  if (!(limit >= 1 && limit <= 50)) return error(400, 'expected a limit from 1 to 50');
  const after = Buffer.from(searchParams.get('cursor') ?? '', 'base64url').toString();
  const rest = airportsOf(searchParams.get('country') ?? '').filter(({ iata }) => iata > after);
  const page = rest.slice(0, limit);
  const next = rest.length > limit ? Buffer.from(page.at(-1)?.iata ?? '').toString('base64url') : null;
  return ok({ data: page, meta: { next } });
}

async function takeEvent(request: IncomingMessage): Promise<Answer> {
  const body = await text(request);
  if (!/^Bearer \S/.test(request.headers.authorization ?? '')) {
    return { ...error(401, 'expected Authorization: Bearer TOKEN'), headers: { 'www-authenticate': 'Bearer' } };
  }
  return isJson(body) ? { status: 202, body: '{"accepted":true}' } : error(400, 'expected a JSON body');
}

function isJson(body: string): boolean {
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}
