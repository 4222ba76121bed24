import { type HttpServer, httpServer, json } from './http-server.ts';

/** The content that a server of pages returns. */
export interface PagesOptions {
  /** Number of pages for each record. */
  readonly pages: number;
  /** Number of rows on each page. */
  readonly rows: number;
  /** Returns the text of a row. */
  readonly text?: (id: string, n: number) => string;
  /** Returns the status for a page, counted from 0; by default 200. */
  readonly status?: (id: string, page: number) => number;
  /** Time in ms that the server takes to answer. */
  readonly ms?: number;
}

/** A server that returns pages and counts its requests. */
export interface PagesServer extends HttpServer {
  /** Calls `act` once, after this many more requests. */
  after(count: number, act: () => void): void;
  /** Returns the number of requests for each page. */
  calls(): Map<string, number>;
}

/** Starts a server for the current test. It answers `/ID?cursor=PAGE` with one page, and `/all/ID` with all pages at once. */
export async function pagesServer({ pages, rows, text = (id, n) => `${id} ${n}`, status, ms = 0 }: PagesOptions): Promise<PagesServer> {
  let left = 0;
  let reached = () => {};
  const rowsOf = (id: string, from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => ({ n: from + index, t: text(id, from + index) }));
  const server = await httpServer(async ({ path }, response) => {
    if (--left === 0) reached();
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    const url = new URL(path, 'http://127.0.0.1');
    const id = url.pathname.split('/').at(-1) ?? '';
    if (path.startsWith('/all/')) return json(response, { items: rowsOf(id, 0, pages * rows) });
    const page = Number(url.searchParams.get('cursor') ?? 0);
    const next = page + 1 < pages ? page + 1 : null;
    return json(response, { items: rowsOf(id, page * rows, (page + 1) * rows), next }, status?.(id, page));
  });
  return {
    ...server,
    after(count, act) {
      left = count;
      reached = act;
    },
    calls: () => server.requests.reduce((calls, { path }) => calls.set(path, (calls.get(path) ?? 0) + 1), new Map<string, number>()),
  };
}

const map = 'map: { n: "items[].n", t: "items[].t" }';

/**
 * Returns a flow that requests all pages with `paginate`, for the records for which `when` is true. `more`: additional options
 * of the node, each as `, name: value`.
 */
export function pagesFlow(origin: string, more = '', when = 'true'): string {
  const paginate = 'paginate: { type: cursor, path: next, param: cursor, max: 100000 }';
  return `nodes: [{ id: pages, type: http, when: '${when}', url: "${origin}/{{id}}", ${paginate}, ${map}${more} }]\n`;
}

/** Returns a flow that requests all pages with a loop. */
export function loopFlow(origin: string, when = 'true'): string {
  return `nodes:
  - { type: set, fields: { cursor: 0 } }
  - type: loop
    when: '${when}'
    max: 100000
    while: cursor != null
    carry: [cursor]
    nodes: [{ id: pages, type: http, url: "${origin}/{{id}}?cursor={{cursor}}", map: { cursor: next, n: "items[].n", t: "items[].t" } }]
  - { type: set, remove: [cursor] }
`;
}

/** Returns a flow that requests all pages in a single answer. */
export function wholeFlow(origin: string, when = 'true'): string {
  return `nodes: [{ id: pages, type: http, when: '${when}', url: "${origin}/all/{{id}}", ${map} }]\n`;
}
