import type { CodedMessage } from '../../core/error-code.ts';
import type { Ending, Event, FailureReport, HitSource, ShortPage } from '../../core/event.ts';
import type { SourceName } from '../../core/lookups/sources.ts';
import { rounded } from '../../core/spending.ts';
import { ResponseTimes } from './response-times.ts';

/** Failures of the same node, class and status, with the message of the first one. */
export interface FailureGroup extends FailureReport {
  count: number;
  /** Numbers of the first few records, ascending. */
  readonly firstRecords: number[];
  /** The count of each message, for a limited number of messages. */
  readonly messages: Map<string, number>;
  /** The messages that have a code. */
  readonly coded: Map<string, CodedMessage>;
}

/** Counts how often a path of a map found a value. */
export interface PathHits {
  readonly node: string;
  readonly path: string;
  found: number;
  of: number;
}

/** The tokens that a node's models have read and written. */
export interface TokenCounts {
  input: number;
  output: number;
  /** In the unit of the node's price; absent without one. */
  cost: number | undefined;
}

/** The tokens of a node that has asked no model. */
export const noTokens: Readonly<TokenCounts> = { input: 0, output: 0, cost: undefined };

/** Counts the lookups of a node. */
export interface LookupCounts {
  /** As summaries name it. */
  readonly lookup: string;
  readonly node: string;
  of: number;
  matched: number;
  ambiguous: number;
  /** The first question that something else fits as well; absent without one. */
  firstAmbiguous: string | undefined;
  /** Answers that are doubtful for another reason, and the first question. */
  doubtful: number;
  firstDoubtful: string | undefined;
  /** Records whose country is not known, and the first such country. */
  unknownCountries: number;
  firstUnknownCountry: string | undefined;
  /** Matches without a value, by field. */
  readonly lacking: Map<string, number>;
  /** Answers that were cut off, and the maximum at which they were. */
  cutOff: number;
  cutOffAt: number | undefined;
  /** Answers in whose cut the nearest point may have been left out. */
  nearestUnknown: number;
}

/** The numbers of requests in flight that were found for a node or a connection. */
export interface FoundConcurrency {
  readonly gate: string;
  /** The worker that found them; undefined in a run without workers. */
  readonly worker: number | undefined;
  now: number;
  least: number;
  most: number;
}

/** Counts the records with a short page. */
export interface ShortPages {
  records: number;
  /** The short page of the first such record. */
  readonly first: ShortPage & { readonly record: number };
}

/** The counts of a run so far. */
export interface Tally {
  read: number;
  written: number;
  failed: number;
  /** Records without a row in a flow with a filter. */
  filtered: number;
  /** Records whose rows were taken over from an earlier run. They count as written, too. */
  unchanged: number;
  /** Failed records that `on_error: keep` passed through with `_error`. */
  passedThrough: number;
  /** Records that have finished after one that has not: the resumed run writes them. */
  parked: number;
  /** Parked records that finished in this run. */
  newlyParked: number;
  retries: number;
  /** Answers that needed no request: from the cache, or from a request in flight. */
  readonly cacheHits: Record<HitSource, number>;
  /** The credits that these answers would have cost. */
  creditsSaved: number;
  readonly failures: Map<string, FailureGroup>;
  /** Failures passed through by records that have not ended yet, by record number: the record may still fail. */
  readonly undecided: Map<number, Map<string, FailureReport>>;
  readonly hits: Map<string, PathHits[]>;
  /** Nodes whose hits count pages. */
  readonly paged: Set<string>;
  /** Answers that hold errors beside their data, by node: the flow takes them for successes. */
  readonly ignoredErrors: Map<string, number>;
  /** Records that lacked a field to rename, by node and field. */
  readonly notRenamed: Map<string, Map<string, number>>;
  /** The times of the attempts that succeeded. */
  readonly responseTimes: ResponseTimes;
  /** The tokens of models and their cost, by node. */
  readonly tokens: Map<string, TokenCounts>;
  /** Records with a short page, by node. */
  readonly short: Map<string, ShortPages>;
  /** By node. */
  readonly lookups: Map<string, LookupCounts>;
  /** The sources that have answered. */
  readonly sources: Set<SourceName>;
  /** The first record whose answer was mapped, by node. */
  readonly answered: Map<string, number>;
  /** By node or connection, and worker. Empty if all numbers of requests in flight are fixed. */
  readonly concurrency: Map<string, FoundConcurrency>;
  /** The reason of an early end. */
  stop: CodedMessage | undefined;
  ending: Ending | undefined;
  ms: number;
  /** Number of the last record written or failed, in input order. */
  lastRecord: number;
}

/** An empty tally. */
export function createTally(): Tally {
  return {
    read: 0,
    written: 0,
    failed: 0,
    filtered: 0,
    unchanged: 0,
    passedThrough: 0,
    parked: 0,
    newlyParked: 0,
    retries: 0,
    cacheHits: { cached: 0, 'in-flight': 0 },
    creditsSaved: 0,
    failures: new Map(),
    undecided: new Map(),
    hits: new Map(),
    paged: new Set(),
    ignoredErrors: new Map(),
    notRenamed: new Map(),
    responseTimes: new ResponseTimes(),
    tokens: new Map(),
    short: new Map(),
    lookups: new Map(),
    sources: new Set(),
    answered: new Map(),
    concurrency: new Map(),
    stop: undefined,
    ending: undefined,
    ms: 0,
    lastRecord: 0,
  };
}

const maxRecords = 3;

/** Maximum of distinct messages of a group: a message may name its record. */
const maxMessages = 64;

type EventOf<Type> = Extract<Event, { readonly type: Type }>;

/** The handler of each event; `null` for events that are not counted. */
const handlers: { readonly [Type in Event['type']]: ((tally: Tally, event: EventOf<Type>) => void) | null } = {
  'run-started': null,
  'gate-paused': null,
  concurrency: addConcurrency,
  'tool-progress': null,
  'server-started': null,
  'server-lost': null,
  'server-log': null,
  'server-tools': null,
  'cache-hit'(tally, { source, credits }) {
    tally.cacheHits[source]++;
    tally.creditsSaved += credits;
  },
  'call-done'(tally, { responseMs }) {
    if (responseMs !== undefined) tally.responseTimes.add(responseMs);
  },
  'call-retried'(tally) {
    tally.retries++;
  },
  mapped(tally, { node, record, paths, found, isPage }) {
    addHits(tally, node, paths, found);
    if (isPage) tally.paged.add(node);
    if (record < (tally.answered.get(node) ?? Infinity)) tally.answered.set(node, record);
  },
  'page-short': addShort,
  'errors-beside-data'(tally, { node }) {
    tally.ignoredErrors.set(node, (tally.ignoredErrors.get(node) ?? 0) + 1);
  },
  'not-renamed'({ notRenamed }, { node, fields }) {
    const counts = notRenamed.get(node) ?? new Map<string, number>();
    notRenamed.set(node, counts);
    for (const field of fields) counts.set(field, (counts.get(field) ?? 0) + 1);
  },
  tokens: addTokens,
  'looked-up': addLookup,
  'record-passed-through': addUndecided,
  'record-done'(tally, { record }) {
    addPassedThrough(tally, record);
    tally.read++;
    tally.written++;
    tally.lastRecord = record;
  },
  'record-filtered'(tally, { record }) {
    addPassedThrough(tally, record);
    tally.read++;
    tally.filtered++;
    tally.lastRecord = record;
  },
  'record-unchanged'(tally, { record, isFiltered }) {
    tally.read++;
    tally.unchanged++;
    if (isFiltered) tally.filtered++;
    else tally.written++;
    tally.lastRecord = record;
  },
  'record-failed'(tally, event) {
    tally.read++;
    tally.failed++;
    tally.undecided.delete(event.record);
    tally.lastRecord = event.record;
    addFailure(tally, event.record, event);
  },
  'record-parked'(tally, { isNew }) {
    tally.parked++;
    if (isNew) tally.newlyParked++;
  },
  stopping(tally, { reason: message, code, details }) {
    tally.stop = { message, code, details };
  },
  'run-ended'(tally, { ending, ms }) {
    tally.ending = ending;
    tally.ms = ms;
  },
};

/** Counts an event. */
export function addToTally(tally: Tally, event: Event): void {
  (handlers[event.type] as ((tally: Tally, event: Event) => void) | null)?.(tally, event);
}

/** Several rows of one record may be passed through. */
function addUndecided(tally: Tally, event: EventOf<'record-passed-through'>): void {
  const reports = tally.undecided.get(event.record) ?? new Map<string, FailureReport>();
  const key = groupKey(event);
  if (!reports.has(key)) reports.set(key, event);
  tally.undecided.set(event.record, reports);
}

function addPassedThrough(tally: Tally, record: number): void {
  const reports = tally.undecided.get(record);
  if (!reports) return;
  tally.undecided.delete(record);
  tally.passedThrough++;
  for (const report of reports.values()) addFailure(tally, record, report);
}

function addFailure(tally: Tally, record: number, report: FailureReport): void {
  const key = groupKey(report);
  const group = tally.failures.get(key) ?? newGroup(report);
  group.count++;
  group.firstRecords.push(record);
  group.firstRecords.sort((a, b) => a - b).splice(maxRecords);
  const { messages, coded } = group;
  const { message, code, details } = report;
  if (messages.has(message) || messages.size < maxMessages) {
    messages.set(message, (messages.get(message) ?? 0) + 1);
    if (code) coded.set(message, { message, code, details });
  }
  tally.failures.set(key, group);
}

function newGroup({ node, class: kind, status, message, attempts }: FailureReport): FailureGroup {
  return { node, class: kind, status, message, attempts, count: 0, firstRecords: [], messages: new Map(), coded: new Map() };
}

function groupKey({ node, class: kind, status }: FailureReport): string {
  return `${node ?? ''} ${kind} ${status ?? ''}`;
}

function addShort(tally: Tally, { node, record, page, items, size }: EventOf<'page-short'>): void {
  const short = tally.short.get(node);
  if (short) short.records++;
  else tally.short.set(node, { records: 1, first: { record, page, items, size } });
}

function addConcurrency({ concurrency }: Tally, { gate, worker, to }: EventOf<'concurrency'>): void {
  const key = `${gate} ${worker ?? ''}`;
  const found = concurrency.get(key) ?? { gate, worker, now: to, least: to, most: to };
  found.now = to;
  found.least = Math.min(found.least, to);
  found.most = Math.max(found.most, to);
  concurrency.set(key, found);
}

function addTokens(tally: Tally, { node, input, output, cost }: EventOf<'tokens'>): void {
  const counts = tally.tokens.get(node) ?? { ...noTokens };
  counts.input += input;
  counts.output += output;
  if (cost !== undefined) counts.cost = rounded((counts.cost ?? 0) + cost);
  tally.tokens.set(node, counts);
}

function addLookup({ lookups, sources }: Tally, event: EventOf<'looked-up'>): void {
  const { node, lookup, match, lacking = [], cutOffAt, hidesNearest, sources: named } = event;
  const counts = lookups.get(node) ?? {
    lookup,
    node,
    of: 0,
    matched: 0,
    ambiguous: 0,
    firstAmbiguous: undefined,
    doubtful: 0,
    firstDoubtful: undefined,
    unknownCountries: 0,
    firstUnknownCountry: undefined,
    lacking: new Map(),
    cutOff: 0,
    cutOffAt: undefined,
    nearestUnknown: 0,
  };
  lookups.set(node, counts);
  counts.of++;
  if (match) counts.matched++;
  addDoubts(counts, event);
  if (cutOffAt !== undefined) {
    counts.cutOff++;
    counts.cutOffAt = cutOffAt;
    if (hidesNearest) counts.nearestUnknown++;
  }
  for (const field of lacking) counts.lacking.set(field, (counts.lacking.get(field) ?? 0) + 1);
  for (const source of named) sources.add(source);
}

function addDoubts(counts: LookupCounts, { ambiguous, doubtful, unknownCountry }: EventOf<'looked-up'>): void {
  if (ambiguous !== undefined) {
    counts.ambiguous++;
    counts.firstAmbiguous ??= ambiguous;
  }
  if (doubtful !== undefined) {
    counts.doubtful++;
    counts.firstDoubtful ??= doubtful;
  }
  if (unknownCountry !== undefined) {
    counts.unknownCountries++;
    counts.firstUnknownCountry ??= unknownCountry;
  }
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
