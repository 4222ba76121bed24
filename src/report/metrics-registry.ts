import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Event } from '../core/event.ts';

/** Called whenever the metrics are requested. Credits and paused time must only increase. */
export interface LiveFigures {
  credits(): number;
  pausedMs(): number;
  open(): number;
}

/** A unit is a slice of a run's input that one worker processes. */
interface QueueFigures {
  readonly units: { readonly waiting: number; readonly active: number };
  readonly workers: number;
}

/** Upper bounds of the buckets of response times, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The labels (Prometheus format) contain only names of flows and nodes, never data from records or requests. */
export class MetricsRegistry {
  readonly #registry = new Registry();
  readonly #metrics = metricsOf(this.#registry);
  readonly #working = new Set<FlowMetrics>();
  readonly #flows = new Set<string>();
  #refreshQueue: (() => Promise<void>) | undefined;

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** `nodes` are the ids of the flow's nodes that make calls. */
  addFlow(flow: string, nodes: readonly string[], live: LiveFigures): FlowMetrics {
    const added = new FlowMetrics(this.#metrics, { flow, nodes, live, ended: () => this.#working.delete(added) });
    this.#working.add(added);
    this.#flows.add(flow);
    return added;
  }

  /** `read` returns undefined if the figures are unknown at the moment. */
  addQueue(read: () => Promise<QueueFigures | undefined>): void {
    const registers = [this.#registry];
    const units = new Gauge({
      name: 'automate_queue_units',
      help: 'Units in the queue: waiting for a worker, or active in one.',
      labelNames: ['state'],
      registers,
    });
    const workers = new Gauge({ name: 'automate_queue_workers', help: 'Workers of the queue that are alive.', registers });
    this.#refreshQueue = async () => {
      const found = await read();
      units.reset();
      workers.remove();
      if (!found) return;
      for (const state of ['waiting', 'active'] as const) units.set({ state }, found.units[state]);
      workers.set(found.workers);
    };
  }

  /** `read` returns the number of units (groups of records) that the worker is processing. */
  addWorker(read: () => number): void {
    const gauge: Gauge = new Gauge({
      name: 'automate_worker_units',
      help: 'Units that this worker is working on.',
      registers: [this.#registry],
      collect: () => gauge.set(read()),
    });
  }

  async text(): Promise<string> {
    await this.#refreshQueue?.();
    for (const flow of this.#flows) this.#metrics.open.set({ flow }, 0);
    for (const working of this.#working) working.readLive();
    return this.#registry.metrics();
  }
}

/** Every process has these metrics, even if it runs no flows itself. */
function metricsOf(registry: Registry) {
  const registers = [registry];
  return {
    records: new Counter({
      name: 'automate_records_total',
      help: 'Records that were written to the output, or failed.',
      labelNames: ['flow', 'result'],
      registers,
    }),
    calls: new Counter({
      name: 'automate_calls_total',
      help: 'Calls that succeeded or failed, and retries.',
      labelNames: ['flow', 'node', 'result'],
      registers,
    }),
    seconds: new Histogram({
      name: 'automate_call_seconds',
      help: 'Response times of calls, without waits for limits and retries.',
      labelNames: ['flow', 'node'],
      buckets,
      registers,
    }),
    credits: new Counter({ name: 'automate_credits_total', help: 'Credits spent.', labelNames: ['flow'], registers }),
    paused: new Counter({
      name: 'automate_paused_seconds_total',
      help: 'Seconds for which requests were paused because a server asked for it.',
      labelNames: ['flow'],
      registers,
    }),
    open: new Gauge({
      name: 'automate_open_records',
      help: 'Records that were read and are not finished.',
      labelNames: ['flow'],
      registers,
    }),
  };
}

interface CountedFlow {
  readonly flow: string;
  readonly nodes: readonly string[];
  readonly live: LiveFigures;
  ended(): void;
}

/** Counts the work on a flow in this process. This can be a whole run, a worker's part of a run, or calls to a server. */
export class FlowMetrics {
  readonly #metrics: ReturnType<typeof metricsOf>;
  readonly #counted: CountedFlow;
  readonly #results: { readonly written: Counter.Internal; readonly failed: Counter.Internal };
  readonly #nodes: ReadonlyMap<string, ReturnType<typeof nodeMetrics>>;
  #credits = 0;
  #pausedMs = 0;

  constructor(metrics: ReturnType<typeof metricsOf>, counted: CountedFlow) {
    this.#metrics = metrics;
    this.#counted = counted;
    const { flow, nodes } = counted;
    const records = (result: string) => fromZero(metrics.records.labels({ flow, result }));
    this.#results = { written: records('written'), failed: records('failed') };
    this.#nodes = new Map(nodes.map((node) => [node, nodeMetrics(metrics, flow, node)]));
    this.readLive();
  }

  add(event: Event): void {
    switch (event.type) {
      case 'record-done':
        this.#results.written.inc();
        break;
      case 'record-unchanged':
        if (!event.isFiltered) this.#results.written.inc();
        break;
      case 'record-failed':
        this.#results.failed.inc();
        break;
      case 'call-done':
        this.#addCall(event.node, 'ok', event.responseMs ?? event.ms);
        break;
      case 'call-failed':
        this.#addCall(event.node, 'failed', event.responseMs);
        break;
      case 'call-retried':
        this.#addCall(event.node, 'retried', undefined);
        break;
      default:
    }
  }

  /** Adds the increase since the last reading to the counters. */
  readLive(): void {
    const { flow, live } = this.#counted;
    const { credits, paused, open } = this.#metrics;
    const [credit, pausedMs] = [live.credits(), live.pausedMs()];
    // A sum of fractions may decrease slightly through rounding, but a counter must never decrease.
    credits.inc({ flow }, Math.max(0, credit - this.#credits));
    paused.inc({ flow }, Math.max(0, pausedMs - this.#pausedMs) / 1000);
    this.#credits = Math.max(credit, this.#credits);
    this.#pausedMs = Math.max(pausedMs, this.#pausedMs);
    open.inc({ flow }, live.open());
  }

  /** Reads the live figures a last time. */
  end(): void {
    this.readLive();
    this.#counted.ended();
  }

  #addCall(id: string | undefined, result: 'ok' | 'failed' | 'retried', ms: number | undefined): void {
    const node = this.#nodes.get(id ?? '');
    node?.[result].inc();
    if (ms !== undefined) node?.seconds.observe(ms / 1000);
  }
}

function nodeMetrics({ calls, seconds }: ReturnType<typeof metricsOf>, flow: string, node: string) {
  const of = (result: string) => fromZero(calls.labels({ flow, node, result }));
  return { ok: of('ok'), failed: of('failed'), retried: of('retried'), seconds: seconds.labels({ flow, node }) };
}

/** Shows the value 0 before anything is counted. Otherwise, Prometheus would not include the first increase in a rate. */
function fromZero(counter: Counter.Internal): Counter.Internal {
  counter.inc(0);
  return counter;
}
