import { sendRequest } from '../api.ts';

/** An event in a stream of server-sent events. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Splits a stream of server-sent events (HTML, 9.2.6) into single events as its text arrives. */
export class EventParser {
  #rest = '';

  push(text: string): StreamEvent[] {
    const blocks = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => eventOf(block) ?? []);
  }
}

/** Returns the event in a block of text. Returns undefined for a comment, which the server sends only to keep the connection alive. */
function eventOf(block: string): StreamEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    fields.set(name, name === 'data' && fields.has('data') ? `${fields.get('data')}\n${value}` : value);
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { id: fields.get('id'), event: fields.get('event') ?? 'message', data };
}

/** Time in ms to wait after a broken connection before connecting again. */
const againAfterMs = 2000;

/**
 * Receives the events of a run until it ends. If the connection breaks, opens another one that continues after the last event. EventSource
 * is not used, because it cannot send the page token.
 */
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

/** Yields the chunks of a stream as text. A reader is used, because not every browser can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}
