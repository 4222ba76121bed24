import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json, text } from 'node:stream/consumers';
import data from './demo-airports.json' with { type: 'json' };

interface DemoAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

interface DemoRoute {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** `name` is what the capture group in `path` has matched; empty if `path` has no group. */
  answer(name: string, request: IncomingMessage): DemoAnswer | Promise<DemoAnswer>;
}

function refuse(status: number, message: string, headers: Readonly<Record<string, string>> = {}): DemoAnswer {
  return { status, headers, body: JSON.stringify({ error: message }) };
}

function answerWith(body: object, status = 200): DemoAnswer {
  return { status, body: JSON.stringify(body) };
}

/** A small local server with data about real airports, for the demo, the examples and their tests. */
export interface DemoApi {
  readonly origin: string;
  close(): Promise<void>;
}

/** Port 0 means any free port. Rejects if the port is already in use. */
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

/** Responses about airports are created in advance, because they are then sent without delay. */
function createRoutes(): DemoRoute[] {
  const airports = new Map(data.airports.map((airport) => [airport.iata, answerWith(airportBody(airport))]));
  const countries = new Map(Object.keys(data.countries).map((code) => [code, answerWith({ results: airportsOf(code) })]));
  const codes = [...airports.keys()].sort();
  const findAirport = (iata: string) => airports.get(iata) ?? refuse(404, `no airport has the code ${iata}`);
  return [
    { method: 'GET', path: /^\/v1\/airports$/, answer: (_, { url }) => pageOf(url ?? '') },
    { method: 'GET', path: /^\/v1\/airports\/([^/]+)$/, answer: findAirport },
    { method: 'GET', path: /^\/v1\/countries\/([^/]+)\/airports$/, answer: (code) => countries.get(code) ?? answerWith({ results: [] }) },
    { method: 'POST', path: /^\/v1\/events$/, answer: (_, request) => acceptEvent(request) },
    { method: 'POST', path: /^\/v1\/subscribers$/, answer: (_, request) => subscribe(request) },
    flakyRoute(codes, findAirport),
    ...exportRoutes((country) => (countries.has(country) ? { airports: airportsOf(country) } : undefined)),
    ...flightRoutes(codes),
  ];
}

/** `elevation_ft` is missing if the elevation is unknown. */
type Airport = Omit<(typeof data.airports)[number], 'elevation_ft'> & { elevation_ft?: number };

function airportBody({ iata, name, lat, lon, elevation_ft, timezone, icao, country }: Airport): object {
  const countryNames: Readonly<Record<string, string>> = data.countries;
  const location = { lat, lon, elevation_ft };
  return { data: { airport: { iata, name, location, timezone, icao, country: { code: country, name: countryNames[country] } } } };
}

function airportsOf(country: string): { iata: string; name: string }[] {
  return data.airports.filter((airport) => airport.country === country).map(({ iata, name }) => ({ iata, name }));
}

/** On the last page, the cursor for the next page is `null`. */
function pageOf(url: string): DemoAnswer {
  const { searchParams } = new URL(url, 'http://127.0.0.1');
  const limit = Number(searchParams.get('limit') ?? 10);
  if (!(limit >= 1 && limit <= 50)) return refuse(400, 'expected a limit from 1 to 50');
  const after = Buffer.from(searchParams.get('cursor') ?? '', 'base64url').toString();
  const rest = airportsOf(searchParams.get('country') ?? '').filter(({ iata }) => iata > after);
  const page = rest.slice(0, limit);
  const next = rest.length > limit ? Buffer.from(page.at(-1)?.iata ?? '').toString('base64url') : null;
  return answerWith({ data: page, meta: { next } });
}

async function acceptEvent(request: IncomingMessage): Promise<DemoAnswer> {
  const body = await text(request);
  if (!/^Bearer \S/.test(request.headers.authorization ?? '')) {
    return refuse(401, 'expected Authorization: Bearer TOKEN', { 'www-authenticate': 'Bearer' });
  }
  try {
    JSON.parse(body);
    return { status: 202, body: '{"accepted":true}' };
  } catch {
    return refuse(400, 'expected a JSON body');
  }
}

async function subscribe(request: IncomingMessage): Promise<DemoAnswer> {
  const form = new URLSearchParams(await text(request));
  if (request.headers['content-type'] !== 'application/x-www-form-urlencoded') return refuse(415, 'expected a form');
  const email = form.get('email') ?? '';
  if (!form.get('key')) return refuse(401, 'expected a key');
  if (!email.includes('@')) return refuse(422, 'expected an email address');
  return answerWith({ data: { id: `subscriber of ${email}`, topics: form.getAll('topic').filter((topic) => topic !== '') } });
}

const alwaysBroken = new Set(['KEF']);
/** The first request for them is answered with 429 and Retry-After, to show how automate handles rate limits. */
const rateLimited = new Set(['LHR', 'NRT']);
/** Failing requests before one succeeds. For BOG, this equals automate's default number of attempts, so the first call for BOG fails. */
const outages = new Map([['BOG', 4]]);

/** Shows retries: the first requests for some airports fail by fixed rules, so that every run has the same result. `codes` are sorted. */
function flakyRoute(codes: readonly string[], findAirport: (iata: string) => DemoAnswer): DemoRoute {
  const places = new Map(codes.map((iata, index) => [iata, index + 1]));
  const requests = new Map<string, number>();
  return { method: 'GET', path: /^\/v1\/flaky\/([^/]+)$/, answer: (iata) => refusal(iata) ?? findAirport(iata) };

  function refusal(iata: string): DemoAnswer | undefined {
    const place = places.get(iata);
    if (place === undefined) return undefined;
    const nth = (requests.get(iata) ?? 0) + 1;
    requests.set(iata, nth);
    if (alwaysBroken.has(iata)) return refuse(500, `${iata} is always broken`);
    if (rateLimited.has(iata) && nth === 1) return refuse(429, 'too many requests, come back in a second', { 'retry-after': '1' });
    const failures = outages.get(iata) ?? (place % 10 === 0 ? 1 : 0);
    return nth <= failures ? refuse(503, 'temporarily unavailable') : undefined;
  }
}

interface Job {
  readonly country: string;
  requests: number;
}

/** A slow job: it runs until the third status request, then has a file to download. `fileOf` returns undefined for an unknown country. */
function exportRoutes(fileOf: (country: string) => object | undefined): DemoRoute[] {
  const jobs = new Map<string, Job>();
  return [
    { method: 'POST', path: /^\/v1\/exports$/, answer: (_, request) => createJob(request) },
    { method: 'GET', path: /^\/v1\/exports\/([^/]+)$/, answer: showJob },
    { method: 'GET', path: /^\/v1\/exports\/([^/]+)\/file$/, answer: showFile },
  ];

  async function createJob(request: IncomingMessage): Promise<DemoAnswer> {
    const body = (await json(request).catch(() => null)) as { country?: unknown } | null;
    if (typeof body?.country !== 'string') return refuse(400, 'expected a JSON body such as {"country":"IS"}');
    const id = `export-${jobs.size + 1}`;
    jobs.set(id, { country: body.country, requests: 0 });
    return answerWith({ id, status: 'queued' }, 202);
  }

  function showJob(id: string): DemoAnswer {
    const job = jobs.get(id);
    if (!job) return refuse(404, `no export has the id ${id}`);
    job.requests++;
    return answerWith({ id, status: statusOf(job) });
  }

  function showFile(id: string): DemoAnswer {
    const job = jobs.get(id);
    if (!job) return refuse(404, `no export has the id ${id}`);
    return statusOf(job) === 'done' ? answerWith(fileOf(job.country) ?? {}) : refuse(409, `the export ${id} is not done`);
  }

  function statusOf({ country, requests }: Job): string {
    if (requests < 3) return 'running';
    return fileOf(country) ? 'done' : 'failed';
  }
}

const flightCount = 995;
const maxLookup = 100;

/** Invented flights. One endpoint returns a single flight, the other looks up several and returns them in reverse order. */
function flightRoutes(codes: readonly string[]): DemoRoute[] {
  const flights = new Map(Array.from({ length: flightCount }, (_, index) => flightOf(index + 1)).map((flight) => [flight.id, flight]));
  return [
    { method: 'GET', path: /^\/v1\/flights\/([^/]+)$/, answer: showFlight },
    { method: 'POST', path: /^\/v1\/flights\/lookup$/, answer: (_, request) => lookUp(request) },
  ];

  function flightOf(number: number) {
    const airport = (place: number) => codes[place % codes.length] ?? '';
    const id = `F${String(number).padStart(4, '0')}`;
    return { id, from: airport(number * 7), to: airport(number * 11 + 5), seats: 60 + ((number * 13) % 240) };
  }

  function showFlight(id: string): DemoAnswer {
    const flight = flights.get(id);
    return flight ? answerWith(flight) : refuse(404, `no flight has the id ${id}`);
  }

  async function lookUp(request: IncomingMessage): Promise<DemoAnswer> {
    const body = (await json(request).catch(() => null)) as { ids?: unknown } | null;
    if (!Array.isArray(body?.ids)) return refuse(400, 'expected a JSON body such as {"ids":["F0001"]}');
    if (body.ids.length > maxLookup) return refuse(400, `expected at most ${maxLookup} ids, found ${body.ids.length}`);
    return answerWith({ flights: body.ids.flatMap((id) => flights.get(id) ?? []).reverse() });
  }
}
