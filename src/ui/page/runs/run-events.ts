import type { RunView } from '../../../report/run-view.ts';
import type { ProgressData, RunShape } from '../../../serve/shapes.ts';
import { sendRequest } from '../api.ts';

interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Splits a stream of server-sent events (HTML, 9.2.6) into single events as its text arrives. @internal */
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

/** If the connection breaks, opens another one that continues after the last event. EventSource cannot send the page token. */
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

/** Uses a reader, because not every browser can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}

/** The time at which the progress of a run arrived, and whether the data to which it is added is partial. */
interface ProgressOf {
  readonly now: number;
  /** True if only the counts of the run are known, but no other figures. */
  readonly isPartial: boolean;
}

/** The counts in the data stay, so that all panels agree. If the data is partial, the counts are taken from the progress instead. */
export function withProgress(view: RunView, progress: ProgressData | undefined, { now, isPartial }: ProgressOf): RunView {
  if (progress === undefined) return view;
  const { written, failed, retries, credits, share, eta_s, paused, workers } = progress;
  const pause = paused[0];
  const leftMs = pause === undefined ? 0 : Date.parse(pause.until) - now;
  const current = pause !== undefined && leftMs > 0 ? { gate: pause.gate, reason: 'rate limit', leftMs } : undefined;
  return {
    ...view,
    ...(isPartial && { counts: { ...view.counts, written, failed, retries }, credits: { ...view.credits, spent: credits } }),
    share: share ?? undefined,
    leftMs: eta_s === null ? undefined : eta_s * 1000,
    pauses: { ...view.pauses, current },
    workers: workers === null ? undefined : { now: workers, units: view.workers?.units ?? 0 },
  };
}

/** Adds the counts, failures, found paths and credits of the whole run, including its parts before it was resumed. */
export function withTotals(view: RunView, run: RunShape, now: number): RunView {
  if (view.earlier === 0) return view;
  const { counts, outputRecords, failures, mapping, credits } = viewOfRun(run, now);
  const { written, failed, filtered, retries } = counts;
  return {
    ...view,
    counts: { ...view.counts, written, failed, filtered, retries },
    outputRecords,
    hasTotals: true,
    moreFailures: 0,
    failures: failures.map((group) => {
      const part = view.failures.find(
        ({ node, class: kind, status }) => node === group.node && kind === group.class && status === group.status,
      );
      return { ...group, firstRecords: part?.firstRecords ?? [] };
    }),
    mapping: mapping.map((hit) => ({
      ...hit,
      field: view.mapping.find(({ node, path }) => node === hit.node && path === hit.path)?.field,
    })),
    credits: { ...view.credits, spent: credits.spent },
  };
}

/** Has no figures that only the report contains. */
export function viewOfRun(run: RunShape, now: number): RunView {
  const { counts, started_at, created_at, ended_at, state } = run;
  const startedAt = started_at ?? created_at;
  return {
    ...{ flow: run.flow, state, ending: run.ending ?? undefined, reason: run.reason ?? undefined, startedAt },
    ms: (ended_at === null ? now : Date.parse(ended_at)) - Date.parse(startedAt),
    ...{ input: run.format, output: run.format, outputRecords: counts.rows },
    counts: {
      written: counts.written,
      filtered: counts.filtered ?? 0,
      failed: counts.failed,
      retries: counts.retries,
      waiting: counts.waiting,
      passedThrough: 0,
      cached: 0,
    },
    ...{ earlier: 0, rates: [], statuses: [], lookups: [], tokens: [], next: [], moreFailures: 0 },
    failures: run.failures.map(({ node, class: kind, status, count, message }) => ({
      ...{ node: node ?? undefined, class: kind, status: status ?? undefined, count, firstRecords: [] },
      messages: [{ text: message, count }],
    })),
    mapping: run.mapped,
    credits: { spent: run.credits, saved: 0 },
    pauses: { totalMs: 0, times: 0, gates: [] },
  };
}
