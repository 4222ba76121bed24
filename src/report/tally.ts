import type { CodedMessage } from '../core/error-code.ts';
import type { Ending, Event, FailedStep, FailureReport, HitSource, ShortPage } from '../core/event.ts';
import { rounded } from '../core/spending.ts';
import type { Checkpoint, NextPath } from '../output/journal/journal.ts';
import type { SourceName } from '../places/sources.ts';
import { ResponseTimes } from './response-times.ts';

/** Failures with the same node, class and status, together with the message of the first one. */
export interface FailureGroup extends FailureReport {
  count: number;
  readonly firstRecords: number[];
  /** Counts failures by message. The number of distinct messages is limited. */
  readonly messages: Map<string, number>;
  /** Keyed by the text of the message. */
  readonly coded: Map<string, CodedMessage>;
}

/** Counts how often a node's map found a value at one of its paths. */
interface PathHits {
  readonly node: string;
  readonly path: string;
  found: number;
  of: number;
}

/** The number of tokens that a node's LLM calls have read and written. */
export interface TokenCounts {
  input: number;
  output: number;
  /** The cost has the unit of the node's price; undefined if the node has no price. */
  cost: number | undefined;
  /** Answers that did not fit the schema, so that the question was asked and paid again; undefined if there were none. */
  askedAgain?: number;
}

export const noTokens: Readonly<TokenCounts> = { input: 0, output: 0, cost: undefined };

export interface LookupCounts {
  readonly lookup: string;
  readonly node: string;
  of: number;
  matched: number;
  ambiguous: number;
  firstAmbiguous: string | undefined;
  /** Doubtful answers without several equally good matches. `firstDoubtful` is the query of the first of them. */
  doubtful: number;
  firstDoubtful: string | undefined;
  /** Records whose country is unknown. `firstUnknownCountry` is the first of these countries. */
  unknownCountries: number;
  firstUnknownCountry: string | undefined;
  /** For each field, the number of matches that have no value for it. */
  readonly lacking: Map<string, number>;
  /** Answers with more results than the maximum `cutOffAt`, so that some were left out. */
  cutOff: number;
  cutOffAt: number | undefined;
  /** Answers with left-out results in which the nearest point might be missing. */
  nearestUnknown: number;
}

/** The rate of a server, as its refusals have taught it. */
export interface LearnedPace {
  readonly gate: string;
  /** The calls per second that the server accepts from each worker, or from the only process. */
  readonly learned: Map<number | undefined, number>;
  /** The workers whose calls were refused. */
  readonly refused: Set<number | undefined>;
  readonly statuses: Set<number>;
  refusals: number;
}

export interface StepCounts {
  asked: number;
  found: number;
  failed: number;
  credits: number;
  cost: number | undefined;
}

export interface SearchCounts {
  /** Records that needed no step, because the condition was true before. */
  known: number;
  notFound: number;
  readonly steps: Map<string, StepCounts>;
}

export const notAsked: Readonly<StepCounts> = { asked: 0, found: 0, failed: 0, credits: 0, cost: undefined };

export interface FoundConcurrency {
  readonly gate: string;
  /** The number of the worker that found these limits; undefined in a run without workers. */
  readonly worker: number | undefined;
  now: number;
  least: number;
  most: number;
}

interface UnansweredOrigin {
  attempts: number;
  failure: CodedMessage;
}

/** Records for which a node got a page of a list with fewer items than expected. */
export interface ShortPages {
  records: number;
  readonly first: ShortPage & { readonly record: number };
}

export type MorePagesEvent = Extract<Event, { readonly type: 'more-pages' }>;

export interface Tally {
  read: number;
  written: number;
  failed: number;
  filtered: number;
  /** Records whose rows were taken from an earlier run. They also count as written. */
  unchanged: number;
  /** Failed records in the output, with an `_error` field, because of `on_error: keep`. */
  passedThrough: number;
  /** Records that finished while an earlier record was unfinished. Their rows are written when the run is resumed. */
  parked: number;
  /** Parked records that finished since the run was resumed. */
  newlyParked: number;
  retries: number;
  /** Answers from the cache, or from another record's request. */
  readonly cacheHits: Record<HitSource, number>;
  creditsSaved: number;
  /** Kept answers that replaced requests, answers that are kept for later runs, and answers that are not, by reason. */
  readonly keptAnswers: Record<EventOf<'answer-kept'>['as'], number>;
  /** Requests that were sent, with their retries. */
  requests: number;
  readonly failures: Map<string, FailureGroup>;
  /** Passed-through failures (`on_error: keep`) of records that have not ended, by record number. Such a record can still fail. */
  readonly undecided: Map<number, Map<string, FailureReport>>;
  readonly hits: Map<string, PathHits[]>;
  /** Nodes that fetch lists page by page. How often a path was found is counted per page for them, not per record. */
  readonly paged: Set<string>;
  /** For each node that reads only the first of several pages, the first such event. */
  readonly morePages: Map<string, MorePagesEvent>;
  /** For each node that looks for the next page at a path, tells if any first page had that path. */
  readonly nextPaths: Map<string, NextPath>;
  /** Responses of each node with errors next to data. The flow counts them as successes. */
  readonly ignoredErrors: Map<string, number>;
  /** Number of records without the field, by node and by field that the node renames. */
  readonly notRenamed: Map<string, Map<string, number>>;
  /** Number of records that break a rule, by check node and by rule. */
  readonly brokenRules: Map<string, Map<string, number>>;
  /** Records that a join node looked up, and how many of them it found, by node. */
  readonly joined: Map<string, { found: number; of: number }>;
  readonly searches: Map<string, SearchCounts>;
  readonly responseTimes: ResponseTimes;
  readonly tokens: Map<string, TokenCounts>;
  readonly short: Map<string, ShortPages>;
  readonly lookups: Map<string, LookupCounts>;
  readonly sources: Set<SourceName>;
  /** The first record of each node for which it mapped a response to fields. */
  readonly answered: Map<string, number>;
  /** Keyed by node or connection, and by worker. Empty if the user has set all limits. */
  readonly concurrency: Map<string, FoundConcurrency>;
  readonly paces: Map<string, LearnedPace>;
  /** Origins that have not answered any attempt, although records continued. Keyed by origin. */
  readonly unanswered: Map<string, UnansweredOrigin>;
  /** Empty unless a node has `on_error: keep`. */
  readonly answeredOrigins: Set<string>;
  stop: (CodedMessage & { readonly step?: FailedStep }) | undefined;
  ending: Ending | undefined;
  ms: number;
  lastRecord: number;
}

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
    keptAnswers: { used: 0, kept: 0, secret: 0, full: 0 },
    requests: 0,
    failures: new Map(),
    undecided: new Map(),
    hits: new Map(),
    paged: new Set(),
    morePages: new Map(),
    nextPaths: new Map(),
    ignoredErrors: new Map(),
    notRenamed: new Map(),
    brokenRules: new Map(),
    joined: new Map(),
    searches: new Map(),
    responseTimes: new ResponseTimes(),
    tokens: new Map(),
    short: new Map(),
    lookups: new Map(),
    sources: new Set(),
    answered: new Map(),
    concurrency: new Map(),
    paces: new Map(),
    unanswered: new Map(),
    answeredOrigins: new Set(),
    stop: undefined,
    ending: undefined,
    ms: 0,
    lastRecord: 0,
  };
}

/** Includes the parts of the run before it was resumed. */
export function nextPathsSince({ nextPaths: before = {} }: Pick<Checkpoint, 'nextPaths'>, { nextPaths }: Tally): Record<string, NextPath> {
  const since = [...nextPaths].map(([node, { path, found }]) => [node, { path, found: found || (before[node]?.found ?? false) }] as const);
  return { ...before, ...Object.fromEntries(since) };
}

const maxRecords = 3;

/** Limits the distinct messages of a group, because a message can contain record data. */
const maxMessages = 64;

/** Limits the counted origins, because URLs can come from the records. */
const maxOrigins = 1000;

type EventOf<Type> = Extract<Event, { readonly type: Type }>;

/** `null` for events that are not counted. */
const handlers: { readonly [Type in Event['type']]: ((tally: Tally, event: EventOf<Type>) => void) | null } = {
  'run-started': null,
  'call-failed'(tally, { attempts, responseMs }) {
    if (responseMs !== undefined) tally.requests += attempts;
  },
  'answer-kept'({ keptAnswers }, { as }) {
    keptAnswers[as]++;
  },
  'gate-paused': null,
  concurrency: addConcurrency,
  'call-refused': addRefusal,
  'origin-unanswered': addUnanswered,
  'origin-answered'({ unanswered, answeredOrigins }, { origin }) {
    answeredOrigins.add(origin);
    unanswered.delete(origin);
  },
  'tool-progress': null,
  'server-started': null,
  'server-lost': null,
  'server-log': null,
  'server-tools': null,
  'cache-hit'(tally, { source, credits }) {
    tally.cacheHits[source]++;
    tally.creditsSaved += credits;
  },
  'call-done'(tally, { attempts, responseMs }) {
    if (responseMs === undefined) return;
    tally.requests += attempts;
    tally.responseTimes.add(responseMs);
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
  'more-pages'({ morePages }, event) {
    if (!morePages.has(event.node)) morePages.set(event.node, event);
  },
  'next-path'({ nextPaths }, { node, path, found }) {
    nextPaths.set(node, { path, found: found || (nextPaths.get(node)?.found ?? false) });
  },
  'errors-beside-data'(tally, { node }) {
    tally.ignoredErrors.set(node, (tally.ignoredErrors.get(node) ?? 0) + 1);
  },
  'not-renamed'({ notRenamed }, { node, fields }) {
    countEach(notRenamed, node, fields);
  },
  'rules-broken'({ brokenRules }, { node, rules }) {
    countEach(brokenRules, node, rules);
  },
  joined({ joined }, { node, found }) {
    const counts = joined.get(node);
    if (!counts) joined.set(node, { found: Number(found), of: 1 });
    else {
      counts.of++;
      if (found) counts.found++;
    }
  },
  searched: addSearch,
  tokens: addTokens,
  'asked-again': addAskedAgain,
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
  stopping(tally, { reason: message, code, details, step }) {
    tally.stop = { message, code, details, step };
  },
  'run-ended'(tally, { ending, ms }) {
    tally.ending = ending;
    tally.ms = ms;
  },
};

export function addToTally(tally: Tally, event: Event): void {
  (handlers[event.type] as ((tally: Tally, event: Event) => void) | null)?.(tally, event);
}

/** A record can have several such failures, because it can have several rows. */
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

function addRefusal({ paces }: Tally, { gate, worker, status, learned }: EventOf<'call-refused'>): void {
  const found = paces.get(gate) ?? { gate, learned: new Map(), refused: new Set(), statuses: new Set(), refusals: 0 };
  if (paces.size < maxOrigins) paces.set(gate, found);
  found.refused.add(worker);
  if (learned !== undefined) found.learned.set(worker, learned);
  if (status !== undefined) found.statuses.add(status);
  found.refusals++;
}

function addUnanswered({ unanswered, answeredOrigins }: Tally, { origin, message, code, details }: EventOf<'origin-unanswered'>): void {
  if (answeredOrigins.has(origin)) return;
  const found = unanswered.get(origin);
  if (!found && unanswered.size >= maxOrigins) return;
  unanswered.set(origin, { attempts: (found?.attempts ?? 0) + 1, failure: { message, code, details } });
}

function addTokens(tally: Tally, { node, input, output, cost }: EventOf<'tokens'>): void {
  const counts = tally.tokens.get(node) ?? { ...noTokens };
  counts.input += input;
  counts.output += output;
  if (cost !== undefined) counts.cost = rounded((counts.cost ?? 0) + cost);
  tally.tokens.set(node, counts);
}

function addSearch({ searches }: Tally, { node, asked, result }: EventOf<'searched'>): void {
  const counts = searches.get(node) ?? { known: 0, notFound: 0, steps: new Map<string, StepCounts>() };
  searches.set(node, counts);
  if (result === 'known') counts.known++;
  if (result === 'not-found') counts.notFound++;
  for (const [index, { step, failure, credits, cost }] of asked.entries()) {
    const of = counts.steps.get(step) ?? { ...notAsked };
    counts.steps.set(step, of);
    of.asked++;
    if (failure) of.failed++;
    else if (result === 'found' && index === asked.length - 1) of.found++;
    of.credits += credits;
    if (cost !== undefined) of.cost = (of.cost ?? 0) + cost;
  }
}

function addAskedAgain(tally: Tally, { node }: EventOf<'asked-again'>): void {
  const counts = tally.tokens.get(node) ?? { ...noTokens };
  tally.tokens.set(node, { ...counts, askedAgain: (counts.askedAgain ?? 0) + 1 });
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
  for (const source of named) sources.add(source as SourceName);
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

function countEach(all: Map<string, Map<string, number>>, node: string, names: readonly string[]): void {
  const counts = all.get(node) ?? new Map<string, number>();
  all.set(node, counts);
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
}
