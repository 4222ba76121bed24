import { sendRequest } from '../api.ts';

/** A Server-sent event. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Cuts a stream of Server-sent events (HTML, 9.2.6) into its events, as its text comes in. */
export class EventParser {
  #rest = '';

  push(text: string): StreamEvent[] {
    const blocks = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => eventOf(block) ?? []);
  }
}

/** Undefined for a comment, which only keeps the connection alive. */
function eventOf(block: string): StreamEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    fields.set(name, name === 'data' && fields.has('data') ? `${fields.get('data')}\n${value}` : value);
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { id: fields.get('id'), event: fields.get('event') ?? 'message', data };
}

/** Wait before the next attempt to connect. */
const againAfterMs = 2000;

/** Follows the events of a run until the run ends. If the connection breaks, the next one continues after the last event. An EventSource could not send the page token. */
export async function followRun(id: string, signal: AbortSignal, take: (event: StreamEvent) => void): Promise<void> {
  let last: string | undefined;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = last === undefined ? {} : { 'Last-Event-ID': last };
      const response = await sendRequest(`/runs/${id}/events`, { signal, headers });
      if (response.status === 204 || !response.body) return;
      const parser = new EventParser();
      for await (const text of chunksOf(response.body)) {
        for (const event of parser.push(text)) {
          last = event.id ?? last;
          take(event);
          if (event.event === 'end') return;
        }
      }
    } catch {
      if (signal.aborted) return;
    }
    await new Promise((resolve) => setTimeout(resolve, againAfterMs));
  }
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}
