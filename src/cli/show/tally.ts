import type { Ending, Event, FailureReport, HitSource, ShortPage } from '../../core/event.ts';

/** Failures that are alike: the same node, class and status. The message is that of the first one. */
export interface FailureGroup extends FailureReport {
  count: number;
  /** The numbers of the first few records, ascending. */
  readonly firstRecords: number[];
  /** How often each message came, of as many as are remembered. */
  readonly messages: Map<string, number>;
}

/** How often a path of a map led anywhere. */
export interface PathHits {
  readonly node: string;
  readonly path: string;
  found: number;
  of: number;
}

/** Records with a page that fell short. */
export interface ShortPages {
  records: number;
  /** That of the record that came first. */
  readonly first: ShortPage & { readonly record: number };
}

/** What has happened in a run so far. */
export interface Tally {
  read: number;
  written: number;
  failed: number;
  kept: number;
  /** Records that have come to their end and wait for the run that goes on. */
  waiting: number;
  /** Those of them that have come to it in this run. */
  newlyWaiting: number;
  retries: number;
  /** Answers that nothing was sent for: those kept on disk, and those of requests in flight. */
  readonly cached: Record<HitSource, number>;
  /** What these would have cost. */
  creditsSaved: number;
  readonly failures: Map<string, FailureGroup>;
  /** What was kept of records that have not ended yet, by their numbers: they may still fail. */
  readonly undecided: Map<number, Map<string, FailureReport>>;
  readonly hits: Map<string, PathHits[]>;
  /** Records that have had a short page, by node. */
  readonly short: Map<string, ShortPages>;
  /** The first record whose answer was mapped, by node. */
  readonly answered: Map<string, number>;
  stopReason: string | undefined;
  ending: Ending | undefined;
  ms: number;
  /** The greatest record number such that it and everything before it was handled. */
  lastRecord: number;
}

/** An empty tally. */
export function createTally(): Tally {
  return {
    read: 0,
    written: 0,
    failed: 0,
    kept: 0,
    waiting: 0,
    newlyWaiting: 0,
    retries: 0,
    cached: { kept: 0, 'in-flight': 0 },
    creditsSaved: 0,
    failures: new Map(),
    undecided: new Map(),
    hits: new Map(),
    short: new Map(),
    answered: new Map(),
    stopReason: undefined,
    ending: undefined,
    ms: 0,
    lastRecord: 0,
  };
}

const shownRecords = 3;

/** Messages may name each record: so many are told apart. */
const mostMessages = 64;

/** Adds what has happened. */
export function addToTally(tally: Tally, event: Event): void {
  switch (event.type) {
    case 'run-started':
    case 'gate-paused':
    case 'tool-progress':
    case 'server-started':
    case 'server-lost':
    case 'server-log':
    case 'server-tools':
    case 'call-done':
      return;
    case 'cache-hit':
      tally.cached[event.source]++;
      tally.creditsSaved += event.credits;
      return;
    case 'call-retried':
      tally.retries++;
      return;
    case 'mapped':
      addHits(tally, event.node, event.paths, event.found);
      if (event.record < (tally.answered.get(event.node) ?? Infinity)) tally.answered.set(event.node, event.record);
      return;
    case 'page-short':
      addShort(tally, event);
      return;
    case 'record-kept':
      keep(tally, event.record, event);
      return;
    case 'record-done':
      addKept(tally, event.record);
      tally.read++;
      tally.written++;
      tally.lastRecord = event.record;
      return;
    case 'record-failed':
      tally.read++;
      tally.failed++;
      tally.undecided.delete(event.record);
      tally.lastRecord = event.record;
      addFailure(tally, event.record, event);
      return;
    case 'record-parked':
      tally.waiting++;
      if (event.isNew) tally.newlyWaiting++;
      return;
    case 'stopping':
      tally.stopReason = event.reason;
      return;
    case 'run-ended':
      tally.ending = event.ending;
      tally.ms = event.ms;
      return;
  }
}

/** Of a record with many rows several may be kept. */
function keep(tally: Tally, record: number, report: FailureReport): void {
  const reports = tally.undecided.get(record) ?? new Map<string, FailureReport>();
  const key = keyOf(report);
  if (!reports.has(key)) reports.set(key, report);
  tally.undecided.set(record, reports);
}

function addKept(tally: Tally, record: number): void {
  const reports = tally.undecided.get(record);
  if (!reports) return;
  tally.undecided.delete(record);
  tally.kept++;
  for (const report of reports.values()) addFailure(tally, record, report);
}

function addFailure(tally: Tally, record: number, report: FailureReport): void {
  const key = keyOf(report);
  const group = tally.failures.get(key) ?? newGroup(report);
  group.count++;
  group.firstRecords.push(record);
  group.firstRecords.sort((a, b) => a - b).splice(shownRecords);
  const { messages } = group;
  if (messages.has(report.message) || messages.size < mostMessages) messages.set(report.message, (messages.get(report.message) ?? 0) + 1);
  tally.failures.set(key, group);
}

function newGroup({ node, class: kind, status, message, attempts }: FailureReport): FailureGroup {
  return { node, class: kind, status, message, attempts, count: 0, firstRecords: [], messages: new Map() };
}

function keyOf({ node, class: kind, status }: FailureReport): string {
  return `${node ?? ''} ${kind} ${status ?? ''}`;
}

function addShort(tally: Tally, { node, record, page, items, size }: ShortPage & { node: string; record: number }): void {
  const known = tally.short.get(node);
  if (known) known.records++;
  else tally.short.set(node, { records: 1, first: { record, page, items, size } });
}

function addHits(tally: Tally, node: string, paths: readonly string[], found: readonly boolean[]): void {
  let hits = tally.hits.get(node);
  if (!hits) {
    hits = paths.map((path) => ({ node, path, found: 0, of: 0 }));
    tally.hits.set(node, hits);
  }
  for (let i = 0; i < hits.length; i++) {
    const hit = hits[i] as PathHits;
    hit.of++;
    if (found[i]) hit.found++;
  }
}
