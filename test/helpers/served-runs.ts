import type { RunShape } from '../../src/serve/shapes.ts';
import type { Serving } from './serving.ts';

/** Returns the options of a request that starts a run over CSV text. */
export function csvRun(body: string, headers: Record<string, string> = {}): RequestInit {
  return { method: 'POST', body, headers: { 'content-type': 'text/csv', ...headers } };
}

/** Starts a run of the flow with the id `ask`. */
export async function startRunOf({ send }: Serving, key: string, csv: string, headers?: Record<string, string>): Promise<RunShape> {
  return (await (await send('/v1/flows/ask/runs', { key, ...csvRun(csv, headers) })).json()) as RunShape;
}

/** Polls a run until `is` returns true for it. */
export async function runThat({ send }: Serving, key: string, { id }: { id: string }, is: (run: RunShape) => boolean): Promise<RunShape> {
  for (;;) {
    const run = (await (await send(`/v1/runs/${id}`, { key })).json()) as RunShape;
    if (is(run)) return run;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Parses the server-sent events in some text. */
export function sentEvents(text: string): { id: number; event: string; data: Record<string, unknown> }[] {
  return [...text.matchAll(/^id: (\d+)\nevent: (\w+)\ndata: (.*)$/gm)].map(([, id, event = '', data = '']) => ({
    id: Number(id),
    event,
    data: JSON.parse(data) as Record<string, unknown>,
  }));
}
