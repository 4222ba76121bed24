import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Answer, error, ok, type Route } from './answer.ts';

/** How many flights there are: F0001 to F0995. */
const count = 995;
/** How many may be looked up at once. */
const most = 100;

/** Flights between airports, invented: one of them, or many at once, in an order of its own. */
export function createFlights(airports: readonly string[]): Route[] {
  const flights = new Map(Array.from({ length: count }, (_, index) => flightOf(index + 1)).map((flight) => [flight.id, flight]));
  return [
    { method: 'GET', path: /^\/v1\/flights\/([^/]+)$/, answer: one },
    { method: 'POST', path: /^\/v1\/flights\/lookup$/, answer: (_, request) => lookUp(request) },
  ];

  function flightOf(number: number) {
    const airport = (place: number) => airports[place % airports.length] ?? '';
    const id = `F${String(number).padStart(4, '0')}`;
    return { id, from: airport(number * 7), to: airport(number * 11 + 5), seats: 60 + ((number * 13) % 240) };
  }

  function one(id: string): Answer {
    const flight = flights.get(id);
    return flight ? ok(flight) : error(404, `no flight has the id ${id}`);
  }

  async function lookUp(request: IncomingMessage): Promise<Answer> {
    const body = (await json(request).catch(() => null)) as { ids?: unknown } | null;
    if (!Array.isArray(body?.ids)) return error(400, 'expected a JSON body such as {"ids":["F0001"]}');
    if (body.ids.length > most) return error(400, `expected at most ${most} ids, found ${body.ids.length}`);
    return ok({ flights: body.ids.flatMap((id) => flights.get(id) ?? []).reverse() });
  }
}
