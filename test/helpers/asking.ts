import { type HttpServer, httpServer, json } from './http-server.ts';

/** Returns a flow that sends one request per record. `more`: additional options of the node, each as `, name: value`. */
export function askingFlow(origin: string, more = ''): string {
  return `nodes: [{ id: ask, type: http, url: "${origin}/{{id}}", map: { name: name }${more} }]\n`;
}

/** Returns CSV text with the records 1 to `count`. */
export function csvOf(count: number): string {
  return `id,note\n${idsTo(count)
    .map((id) => `${id},"note, ${id}"\n`)
    .join('')}`;
}

/** Returns CSV text with only the ids 1 to `count`. */
export function idRows(count: number): string {
  return `id\n${idsTo(count)
    .map((id) => `${id}\n`)
    .join('')}`;
}

/** Returns the numbers from 1 to `count`. */
export function idsTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** A server for `askingFlow` that counts requests, and answers every seventh record with status 404. */
export interface AskedServer extends HttpServer {
  /** Number of requests for each record since the last `forget`. */
  readonly calls: ReadonlyMap<string, number>;
  forget(): void;
  /** Calls `act` once, after `count` more requests. */
  after(count: number, act: () => void): void;
  /** Keeps the answers to this request and later ones back. Returns the function that sends them. */
  hold(): () => void;
}

/** Starts a server for `askingFlow`, which is closed after the current test. `ms`: the latency of the server in ms. */
export async function askedServer(ms = 3): Promise<AskedServer> {
  const calls = new Map<string, number>();
  let left = 0;
  let reached = () => {};
  const { passed, hold } = gate();
  const server = await httpServer(async ({ path }, response) => {
    const id = path.slice(1);
    calls.set(id, (calls.get(id) ?? 0) + 1);
    if (--left === 0) reached();
    await passed();
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (Number(id) % 7 === 0) response.writeHead(404).end();
    else json(response, { name: `name ${id}` });
  });
  return {
    ...server,
    calls,
    forget: () => calls.clear(),
    after(count, act) {
      left = count;
      reached = act;
    },
    hold,
  };
}

/** A gate that is open until `hold` is called, and again once the function that `hold` returned is called. */
export interface Gate {
  passed(): Promise<void> | undefined;
  hold(): () => void;
}

export function gate(): Gate {
  let held: Promise<void> | undefined;
  return {
    passed: () => held,
    hold() {
      let release = () => {};
      held = new Promise((resolve) => {
        release = resolve;
      });
      return () => {
        held = undefined;
        release();
      };
    },
  };
}
