import { rateText } from '../core/duration.ts';
import type { CodedMessage } from '../core/error-code.ts';
import type { Ending } from '../core/event.ts';
import { allSteps, type Plan, type ReplacedColumn } from '../core/plan.ts';
import { rounded } from '../core/spending.ts';
import type { MonthlyUsage } from '../credits/holds.ts';
import { givenUpOf } from '../output/failed-records.ts';
import type { DataSource, SourceName } from '../places/sources.ts';
import { inputLabel } from '../records/inputs.ts';
import { type DoneCounts, doneOf, type NextStep, type ReportedRun, type RunTexts, showsCredits, workOf } from './reported-run.ts';
import { type ResponseTimes, typicalMs } from './response-times.ts';
import type { WorkerFigures } from './run-progress.ts';
import {
  type FailureGroup,
  type FoundConcurrency,
  type LearnedPace,
  type LookupCounts,
  type MorePagesEvent,
  nextPathsSince,
  noTokens,
  notAsked,
  type SearchCounts,
  type ShortPages,
  type StepCounts,
  type Tally,
  type TokenCounts,
} from './tally.ts';

/**
 * A run as data, made from its tally. The summary, `--summary`, the report and the page show nothing else. A member is undefined if it is
 * not known or if there is nothing to show, because the page gets the view as JSON.
 */
export interface RunView {
  readonly flow: string;
  readonly flowFile?: string;
  readonly state: RunState;
  /** A word such as `done`; undefined until the run has ended. */
  readonly ending?: string;
  readonly endingCode?: EndingCode;
  readonly exitCode?: number;
  readonly reason?: string;
  /** A time in RFC 3339 format. */
  readonly startedAt: string;
  readonly ms: number;
  readonly input: string;
  readonly output: string;
  /** Undefined if there is no errors file or it is empty. */
  readonly errors?: string;
  readonly report?: string;
  /** Rows in the output, which can be more or fewer than the records in `counts`. */
  readonly outputRecords?: number;
  readonly errorRecords?: number;
  /** The reason why a run that replaces its output has kept the old one. */
  readonly keptBecause?: string;
  /** Records of the old output that are no longer in the input, of all of its records, and the file with their rows. */
  readonly gone?: {
    readonly records: number;
    readonly of: number;
    readonly file: string;
    readonly repeated: number;
    readonly unreadable: number;
  };
  /** Includes the parts of the run before it was resumed. */
  readonly counts: RecordCounts;
  /** Records since the run was resumed; undefined if none were finished before. */
  readonly part?: Pick<RecordCounts, 'written' | 'failed' | 'filtered' | 'unchanged'>;
  /** The last record that was finished before the run was resumed. */
  readonly resumedAfter?: number;
  /** Records that an earlier part of the run has finished but not written. Nothing is sent for them again. */
  readonly finishedBefore?: number;
  /** When the earlier output, whose rows were reused, was completed. */
  readonly takenOverFrom?: string;
  /** Records finished before the run was resumed. Only `counts`, `tokens` and `credits` include them. */
  readonly earlier: number;
  /** True if failures and found paths include the records that were finished before the run was resumed. */
  readonly hasTotals?: boolean;
  readonly total?: number;
  /** The finished share, from 0 to 1. */
  readonly share?: number;
  readonly leftMs?: number;
  readonly rates: readonly RateBucket[];
  /** Undefined if there was no response. */
  readonly responseTimes?: ResponseTimesView;
  /** Counts attempts by HTTP status, or by the reason why there was no response. */
  readonly statuses: readonly StatusCount[];
  readonly failures: readonly FailureView[];
  readonly moreFailures: number;
  /** Servers that were never reached, although records continued without them. */
  readonly unanswered?: readonly (MessageView & { readonly origin: string; readonly attempts: number })[];
  readonly mapping: readonly MappingView[];
  readonly lookups: readonly LookupView[];
  readonly tokens: readonly TokensView[];
  readonly partTokens?: readonly TokensView[];
  readonly credits: CreditsView;
  readonly showsCredits?: boolean;
  /** Answers that were taken from the request of another record. `counts.cached` includes them. */
  readonly cachedInFlight?: number;
  readonly answers?: Tally['keptAnswers'] & { readonly requests: number };
  readonly pauses: PausesView;
  /** Reasons such as 429s or rate limits. */
  readonly pausedFor?: readonly string[];
  /** `now` is the current number of workers, `units` the number of unfinished groups of records. Undefined for a run without workers. */
  readonly workers?: { readonly now: number; readonly units: number };
  readonly endedWorkers?: Pick<WorkerFigures, 'most' | 'lost' | 'maybeSpent'>;
  readonly concurrency?: readonly Readonly<FoundConcurrency>[];
  /** The rates at which servers accept calls, as refusals have taught. */
  readonly paces?: readonly {
    readonly gate: string;
    readonly rate: string;
    readonly refusals: number;
    readonly statuses: readonly number[];
  }[];
  /** Names that were given to columns of the input because its header has none for them. */
  readonly givenNames?: readonly string[];
  readonly inputNotes?: readonly string[];
  readonly replaced?: readonly Pick<ReplacedColumn, 'node' | 'field'>[];
  /** Responses with errors next to data, which counted as successes. */
  readonly ignoredErrors?: readonly { readonly node: string; readonly answers: number }[];
  readonly notRenamed?: readonly { readonly node: string; readonly field: string; readonly records: number }[];
  readonly brokenRules?: readonly {
    readonly node: string;
    readonly rules: readonly { readonly rule: string; readonly records: number }[];
  }[];
  /** Of the records that a join node looked up in its file, those that were found. */
  readonly joins?: readonly { readonly node: string; readonly file: string; readonly found: number; readonly of: number }[];
  readonly searches?: readonly SearchView[];
  readonly shortPages?: readonly ({ readonly node: string } & Readonly<ShortPages>)[];
  readonly morePages?: readonly Pick<MorePagesEvent, 'node' | 'record' | 'sign' | 'paginate'>[];
  /** Nodes whose path to the next page was on no page of the whole run. */
  readonly neverFound?: readonly { readonly node: string; readonly path: string }[];
  /** Findings of a pilot about the other records; undefined for any other run. */
  readonly pilot?: PilotView;
  readonly command?: string;
  readonly next: readonly NextStep[];
  readonly attributions?: readonly Attribution[];
}

export interface PilotView {
  readonly records: number;
  readonly atRandom: number;
  readonly paths: readonly PilotPath[];
  /** An estimate of what the other records will take. Money and time are undefined if nothing is paid or sent. */
  readonly rest: {
    readonly records: number;
    readonly requests: number;
    readonly credits: number;
    readonly cost?: number;
    readonly ms?: number;
  };
}

/** In how many of the records that were chosen at random a path was found. */
export interface PilotPath {
  readonly node: string;
  readonly path: string;
  readonly found: number;
  readonly of: number;
  /** The share of all records in which the path is expected, from 0 to 1: a 95 % interval. */
  readonly expected: readonly [least: number, most: number];
}

type EndingCode = Ending | 'failed';

/** `stopped` means that the run ended early and can be resumed, `failed` that an error ended it. */
type RunState = 'queued' | 'running' | 'stopping' | 'stopped' | 'finished' | 'failed';

interface RecordCounts {
  readonly written: number;
  readonly failed: number;
  readonly filtered: number;
  /** Records whose rows were reused, as they have not changed. `written` includes them. Undefined if the run reuses no rows. */
  readonly unchanged?: number;
  /** Failed records that `on_error: keep` passed through, so they are in the output with an `_error` field. */
  readonly passedThrough: number;
  /** Failed records that the user has deleted from the errors file, so that a retry does not run them. */
  readonly givenUp?: number;
  /** Records that finished while an earlier record was unfinished. They are written when the run is resumed. */
  readonly waiting: number;
  readonly retries: number;
  readonly cached: number;
}

/** Number of records that ended in one time interval. */
export interface RateBucket {
  readonly startMs: number;
  readonly ms: number;
  readonly written: number;
  readonly failed: number;
  /** Time in ms in which at least one gate (the rate limiter of an API) was paused. */
  readonly pausedMs: number;
}

/** Statistics of how long the successful attempts took. */
export interface ResponseTimesView {
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** The buckets are in ascending order, without gaps. */
  readonly buckets: readonly { readonly fromMs: number; readonly toMs: number; readonly count: number }[];
}

interface StatusCount {
  /** The HTTP status or a word for the result, such as `200`, `ok` or `timeout`. */
  readonly status: string;
  readonly count: number;
}

/** Failures with the same node, class and status. */
export interface FailureView {
  /** Undefined if the records could not be read or written. */
  readonly node?: string;
  readonly class: string;
  readonly status?: number;
  readonly count: number;
  /** The first few records with such a failure, in ascending order. */
  readonly firstRecords: readonly number[];
  readonly first?: MessageView;
  readonly messages: readonly (Partial<MessageView> & { readonly text: string; readonly count: number })[];
}

interface MessageView {
  readonly message: string;
  readonly text: string;
}

interface MappingView {
  readonly node: string;
  readonly field?: string;
  readonly path: string;
  readonly found: number;
  readonly of: number;
  /** True if `of` counts pages of lists instead of records. */
  readonly isPaged?: boolean;
}

type LookupView = Pick<LookupCounts, 'node' | 'matched' | 'ambiguous' | 'of'> &
  Partial<Omit<LookupCounts, 'lacking'>> & { readonly lacking?: Readonly<Record<string, number>> };

/** The searches of a `first` node since the run was resumed, with its steps in their order. */
interface SearchView extends Pick<SearchCounts, 'known' | 'notFound'> {
  readonly node: string;
  readonly steps: readonly ({ readonly step: string } & Readonly<Partial<StepCounts> & Omit<StepCounts, 'cost'>>)[];
}

/** The tokens that a node's language models used in the whole run. */
export interface TokensView extends TokenFigures {
  readonly node: string;
  /** Tokens used since the run was resumed; undefined if none were used before. */
  readonly part?: TokenFigures;
}

export interface TokenFigures {
  readonly input: number;
  readonly output: number;
  readonly cost?: number;
  /** Answers that did not fit the schema, so that the question was asked and paid again; undefined if there were none. */
  readonly askedAgain?: number;
}

interface CreditsView {
  /** Includes the parts of the run before it was resumed. */
  readonly spent: number;
  /** Credits spent since the run was resumed; undefined if none were spent before. */
  readonly part?: number;
  readonly saved: number;
  readonly limit?: number;
  readonly allowance?: MonthlyUsage;
}

interface PausesView {
  readonly totalMs: number;
  readonly times: number;
  readonly gates: readonly { readonly gate: string; readonly reason: string; readonly times: number; readonly ms: number }[];
  readonly current?: { readonly gate: string; readonly reason: string; readonly leftMs: number };
}

/** A data source, with the attribution that its license requires. */
export interface Attribution extends DataSource {
  readonly source: SourceName;
  /** A date such as 2026-09-18; undefined if the data comes from a server. */
  readonly date?: string;
}

/** Description of each ending, as the summary and the report show it. */
const endings: Record<EndingCode, string> = {
  complete: 'done',
  pilot: 'stopped after the pilot',
  interrupted: 'interrupted',
  'max-errors': 'stopped: too many records failed',
  'max-credits': 'stopped: a limit is reached',
  'disk-full': 'stopped: the disk space is used up',
  'on-error-stop': 'stopped at a failed record (on_error: stop)',
  unreachable: 'stopped: the server cannot be reached',
  'same-failure': 'stopped: every record fails in the same way',
  'workers-lost': 'stopped: workers crash on the same records',
  'no-workers': 'stopped: no worker can process the run',
  'refused-credential': 'stopped: a credential is missing or refused',
  failed: 'ended by an error',
};

/** The facts that are known only when a run has ended. */
export interface RunEnd extends Pick<RunView, 'keptBecause' | 'attributions'> {
  readonly exitCode: number;
  readonly problem?: string;
  readonly usage?: MonthlyUsage;
  readonly next?: readonly NextStep[];
}

export function runViewOf(run: ReportedRun, end: RunEnd): RunView {
  const { request, claim, source, output, progress } = run;
  const { retried, words, plan } = request;
  const { tally, workers, pauses } = progress;
  const { written, failed, filtered, unchanged } = tally;
  const figures = figuresOf(run, end);
  const { failed: errorRecords } = output.saved();
  return {
    ...figures,
    flowFile: request.flow,
    endingCode: end.problem === undefined ? (tally.ending ?? 'interrupted') : 'failed',
    exitCode: end.exitCode,
    report: request.options.report,
    errorRecords,
    keptBecause: end.keptBecause,
    part: figures.earlier > 0 ? { written, failed, filtered, unchanged } : undefined,
    // A retry reads the errors file, where records have different numbers from those in the run that is retried.
    resumedAfter: retried ? undefined : claim.from.records || undefined,
    finishedBefore: [...claim.parked.keys()].filter((place) => place > claim.from.records).length || undefined,
    gone: goneOf(run, end),
    takenOverFrom: claim.memory?.old?.memory.at,
    unanswered: listed(tally.unanswered, ([origin, { attempts, failure }]) => ({ origin, attempts, ...messageView(failure, words) })),
    partTokens: listed(tally.tokens, ([node, counts]) => ({ node, ...counts })),
    showsCredits: showsCredits(run),
    cachedInFlight: tally.cacheHits['in-flight'],
    answers: run.answers && { ...tally.keptAnswers, requests: tally.requests },
    pausedFor: pauses.reasons(),
    endedWorkers: workers && { most: workers.most, lost: workers.lost, maybeSpent: workers.maybeSpent },
    concurrency: listed(tally.concurrency.values(), (found) => found),
    paces: listed([...tally.paces.values()].flatMap(pacesOf), (pace) => pace),
    givenNames: listed(source.givenNames ?? [], (name) => name),
    inputNotes: listed(source.notes, (note) => (note.of === 'warning' ? [messageView(note.warning, words).text] : []))?.flat(),
    replaced: listed(plan.replacedColumns([...(source.firstFields ?? []), ...progress.lateFields]), ({ node, field }) => ({ node, field })),
    ignoredErrors: listed(tally.ignoredErrors, ([node, answers]) => ({ node, answers })),
    notRenamed: listed(tally.notRenamed, ([node, counts]) => [...counts].map(([field, records]) => ({ node, field, records })))?.flat(),
    shortPages: listed(tally.short, ([node, pages]) => ({ node, ...pages })),
    morePages: listed(tally.morePages.values(), ({ node, record, sign, paginate }) => ({ node, record, sign, paginate })),
    neverFound: neverFoundIn(run),
    attributions: end.attributions,
  };
}

/** Empty as long as it is not known which rate the server accepts from each worker. */
function pacesOf({ gate, learned, refused, refusals, statuses }: LearnedPace): NonNullable<RunView['paces']> {
  if (learned.size < refused.size) return [];
  const perSecond = [...learned.values()].reduce((sum, part) => sum + part, 0);
  return [{ gate, rate: rateText(perSecond), refusals, statuses: [...statuses].sort() }];
}

/** Undefined if the run has not replaced the file. */
function goneOf({ request: { files }, claim, progress: { tally } }: ReportedRun, end: RunEnd): RunView['gone'] {
  const counts = claim.memory?.gone?.counts;
  if (!files.gone || !counts || tally.ending !== 'complete' || (end.keptBecause ?? end.problem) !== undefined) return undefined;
  const { gone: records, ...others } = counts;
  return { records, ...others, file: files.gone.out };
}

export function neverFoundIn({ claim, progress }: ReportedRun): RunView['neverFound'] {
  const missing = Object.entries(nextPathsSince(claim.from, progress.tally)).filter(([, { found }]) => !found);
  return listed(missing, ([node, { path }]) => ({ node, path }));
}

/** In the order of the flow. */
function brokenRulesOf(plan: Plan, { brokenRules }: Tally): RunView['brokenRules'] {
  const checks = allSteps(plan.steps).filter(({ id }) => brokenRules.has(id));
  return listed(checks, ({ id, node: { rules = [] } }) => {
    const counts = brokenRules.get(id);
    return { node: id, rules: rules.flatMap((rule) => (counts?.has(rule) ? [{ rule, records: counts.get(rule) as number }] : [])) };
  });
}

/** In the order of the flow. */
function joinsOf(plan: Plan, { joined }: Tally): RunView['joins'] {
  const joins = allSteps(plan.steps).flatMap(({ id, node }) => {
    const counts = joined.get(id);
    return node.joined && counts ? [{ node: id, file: node.joined.name, ...counts }] : [];
  });
  return joins.length === 0 ? undefined : joins;
}

function listed<From, To>(all: Iterable<From>, toView: (one: From) => To): To[] | undefined {
  const views = [...all].map(toView);
  return views.length === 0 ? undefined : views;
}

/** Returns the part of the view that is known during a run, too, and that pages show. `end` is undefined while the run is under way. */
export function figuresOf(run: ReportedRun, end?: RunEnd): RunView {
  const { request, claim, output, session, progress } = run;
  const { plan, options, files, words } = request;
  const { tally, rates, statuses, pauses } = progress;
  const { from } = claim;
  const pathOf = (path: string | undefined) => (path === '-' ? 'stdout' : path);
  const ms = tally.ms || progress.ms;
  const credits = session.ports.credits();
  const gates = pauses.gates();
  return {
    flow: plan.name,
    ...endOf(run, end),
    startedAt: new Date(progress.startedAtMs).toISOString(),
    ms,
    input: inputLabel(options),
    output: pathOf(files.out) as string,
    errors: output.saved().failed > 0 ? pathOf(files.errors) : undefined,
    counts: countsOf(run),
    outputRecords: (request.retried?.counts.rows ?? 0) + output.saved().rows,
    earlier: doneOf(countsBefore(run)),
    total: workOf(run).total(),
    share: workOf(run).share()?.ofWhole,
    rates: rates.buckets(ms),
    responseTimes: responseTimesOf(tally.responseTimes),
    statuses: statuses.counts(),
    failures: failuresOf(tally, words),
    moreFailures: 0,
    mapping: mappingOf(run),
    lookups: [...tally.lookups.values()].map(({ lacking, ...counts }) => ({ ...counts, lacking: Object.fromEntries(lacking) })),
    tokens: tokensOf(run),
    searches: searchesOf(run),
    joins: joinsOf(plan, tally),
    brokenRules: brokenRulesOf(plan, tally),
    credits: {
      spent: from.credits + credits,
      part: from.credits > 0 ? credits : undefined,
      saved: tally.creditsSaved,
      limit: options.maxCredits,
      allowance: end?.usage,
    },
    pauses: { totalMs: pauses.totalMs(), times: gates.reduce((sum, { times }) => sum + times, 0), gates },
    command: words?.command,
    next: end?.next ?? [],
  };
}

function endOf(
  { request: { words }, progress: { tally } }: ReportedRun,
  end: RunEnd | undefined,
): Pick<RunView, 'state' | 'ending' | 'reason'> {
  if (!end) return { state: 'running' };
  if (end.problem !== undefined) return { state: 'failed', ending: endings.failed, reason: end.problem };
  const { ending = 'interrupted', stop } = tally;
  const text = stop?.step ? `stopped: ${stop.step.node} can only fail` : endings[ending];
  return { state: ending === 'complete' ? 'finished' : 'stopped', ending: text, reason: stop && messageView(stop, words).text };
}

export function countsOf(run: ReportedRun): RecordCounts {
  const { tally } = run.progress;
  const { written, failed, filtered = 0, unchanged = 0, givenUp } = countsBefore(run);
  // The finished records of a pilot wait for the records before them.
  const [done, waiting] = run.request.pilot
    ? [{ written: 0, filtered: 0 }, tally.written + tally.filtered]
    : [{ written: tally.written, filtered: tally.filtered }, tally.parked];
  return {
    written: written + done.written,
    failed: failed + tally.failed,
    filtered: filtered + done.filtered,
    givenUp,
    passedThrough: tally.passedThrough,
    waiting,
    retries: tally.retries,
    cached: tally.cacheHits.cached + tally.cacheHits['in-flight'],
    unchanged: run.claim.memory && unchanged + tally.unchanged,
  };
}

/** Records that were finished before the run was resumed, or by the run that is retried. */
function countsBefore({ request: { retried }, claim: { from }, output, progress: { tally } }: ReportedRun): DoneCounts {
  const { written = 0, filtered = 0 } = retried?.counts ?? {};
  return {
    written: written + from.written,
    failed: from.failed,
    filtered: filtered + (from.filtered ?? 0),
    unchanged: from.unchanged,
    givenUp: retried && (givenUpOf(retried, tally.ending === 'complete' ? output.saved().records : retried.counts.failed) || undefined),
  };
}

function searchesOf({ request: { plan }, progress: { tally } }: ReportedRun): SearchView[] | undefined {
  const all = allSteps(plan.steps);
  return listed(tally.searches, ([node, { known, notFound, steps: counts }]) => {
    const ids = all.find(({ id }) => id === node)?.node.inner?.steps.map(({ id }) => id) ?? [...counts.keys()];
    const steps = ids.map((step) => {
      const { credits, cost, ...others } = counts.get(step) ?? notAsked;
      return { step, ...others, credits: rounded(credits), cost: cost === undefined ? undefined : rounded(cost) };
    });
    return { node, known, notFound, steps };
  });
}

/** The tokens of the whole run. Nodes that used tokens before the run was resumed come first. */
function tokensOf({ claim: { from }, progress: { tally } }: ReportedRun): TokensView[] {
  const before = new Map(Object.entries(from.tokens ?? {}).map(([node, counts]) => [node, { ...counts, cost: from.costs?.[node] }]));
  return [...new Set([...before.keys(), ...tally.tokens.keys()])].map((node) => {
    const [earlier, part = noTokens] = [before.get(node), tally.tokens.get(node)];
    return earlier ? { node, ...sumOfTokens(earlier, part), part } : { node, ...part };
  });
}

function sumOfTokens(one: TokenCounts, other: TokenCounts): TokenCounts {
  const costs = [one.cost, other.cost].filter((cost) => cost !== undefined);
  const cost = costs.length === 0 ? undefined : rounded(costs.reduce((sum, each) => sum + each, 0));
  const askedAgain = (one.askedAgain ?? 0) + (other.askedAgain ?? 0) || undefined;
  return { input: one.input + other.input, output: one.output + other.output, cost, askedAgain };
}

/** Undefined if there was no response. @internal */
export function responseTimesOf(times: ResponseTimes): ResponseTimesView | undefined {
  if (times.count === 0) return undefined;
  const [p50Ms, p95Ms, maxMs] = typicalMs(times);
  return { count: times.count, p50Ms, p95Ms, maxMs, buckets: times.bars() };
}

export function failuresOf({ failures }: Tally, words: RunTexts | undefined): FailureView[] {
  return [...failures.values()].map((group) => failureView(group, words));
}

const maxMessages = 3;

function failureView(group: FailureGroup, words: RunTexts | undefined): FailureView {
  const { node, class: kind, status, count, firstRecords, messages, coded } = group;
  const viewOf = (message: string) => messageView(coded.get(message) ?? { message }, words);
  const frequent = [...messages].sort(([, a], [, b]) => b - a).slice(0, maxMessages);
  return {
    ...{ node, class: kind, status, count, firstRecords, first: viewOf(group.message) },
    messages: frequent.map(([message, times]) => ({ ...viewOf(message), count: times })),
  };
}

function messageView(coded: CodedMessage, words: RunTexts | undefined): MessageView {
  return { message: coded.message, text: words?.message(coded) ?? coded.message };
}

function mappingOf({ request: { plan }, progress: { tally } }: ReportedRun): MappingView[] {
  const steps = allSteps(plan.steps);
  return [...tally.hits].flatMap(([node, hits]) => {
    const action = steps.find(({ id }) => id === node)?.node.action;
    return hits.map((hit, index) => {
      const field = action?.paths[index] === hit.path ? action.fields[index] : undefined;
      return { ...hit, field, isPaged: tally.paged.has(node) };
    });
  });
}

export function largestFirst(failures: readonly FailureView[]): FailureView[] {
  return [...failures].sort((a, b) => b.count - a.count);
}

/** Returns the summary of a run as JSON for programs. JSON leaves out the keys that are undefined. */
export function summaryJson(view: RunView): string {
  const { counts, part = counts, credits, ms, responseTimes: times, endedWorkers } = view;
  const json = {
    flow: view.flowFile,
    ending: view.endingCode,
    exit_code: view.exitCode,
    reason: view.reason,
    read: doneOf(part),
    written: part.written,
    failed: part.failed,
    filtered: part.filtered,
    unchanged: counts.unchanged === undefined ? undefined : part.unchanged,
    whole: {
      read: doneOf(counts),
      ...{ written: counts.written, failed: counts.failed, filtered: counts.filtered, unchanged: counts.unchanged },
      ...{ given_up: counts.givenUp, credits: rounded(credits.spent), tokens: tokensJson(view.tokens) },
    },
    kept: counts.passedThrough,
    waiting: counts.waiting,
    output_records: view.outputRecords,
    error_records: view.errorRecords,
    resumed_behind: view.resumedAfter ?? 0,
    retries: counts.retries,
    gone: view.gone && goneJson(view.gone),
    ...{ cached: counts.cached, cached_in_flight: view.cachedInFlight },
    ...answersJson(view),
    credits_saved: credits.saved,
    credits: credits.part ?? credits.spent,
    tokens: tokensJson(view.partTokens),
    allowance: credits.allowance,
    workers: endedWorkers && { most: endedWorkers.most, lost: endedWorkers.lost },
    maybe_spent: endedWorkers?.maybeSpent || undefined,
    concurrency: view.concurrency?.map(({ gate, worker, now, least, most }) => ({ gate, worker, end: now, least, most })),
    learned_rates: view.paces?.map(({ gate, rate, refusals }) => ({ gate, rate, refusals })),
    ms: Math.round(ms),
    response_ms: times && { p50: times.p50Ms, p95: times.p95Ms, max: times.maxMs },
    paused_ms: Math.round(view.pauses.totalMs),
    records_per_second: ms > 0 ? Math.round((doneOf(part) / ms) * 1000) : 0,
    input: view.input,
    output: view.output,
    errors: view.errors ?? null,
    failures: view.failures.map(failureJson),
    unanswered: view.unanswered?.map(({ origin, attempts, message }) => ({ origin, attempts, message })),
    mapped: view.mapping.map(({ node, path, found, of }) => ({ node, path, found, of })),
    more_pages: view.morePages,
    never_found: view.neverFound,
    named_columns: view.givenNames,
    input_notes: view.inputNotes,
    replaced: view.replaced,
    joins: view.joins,
    checks: view.brokenRules,
    lookups: view.lookups.length === 0 ? undefined : view.lookups.map(lookupJson),
    searches: view.searches?.map(searchJson),
    ...{ attributions: view.attributions, pilot: view.pilot && pilotJson(view.pilot) },
    next: view.next.map(({ command }) => command),
  };
  return `${JSON.stringify(json, null, 2)}\n`;
}

function answersJson({ answers }: RunView): object {
  if (!answers) return {};
  const { used, kept, secret, full, requests } = answers;
  return { answers: { used, kept, with_secret: secret, not_kept: full }, requests };
}

function tokensJson(tokens: readonly TokensView[] = []): object[] | undefined {
  if (tokens.length === 0) return undefined;
  return tokens.map(({ node, input, output, cost, askedAgain }) => ({
    ...{ node, input_tokens: input, output_tokens: output, cost: cost ?? null },
    asked_again: askedAgain,
  }));
}

function failureJson({ node, class: kind, status, count, firstRecords, first, messages }: FailureView): object {
  return {
    ...{ node: node ?? null, class: kind, status: status ?? null, count, first_records: firstRecords, message: first?.message },
    messages: messages.map(({ message, count: times }) => ({ message, count: times })),
  };
}

function pilotJson({ records, atRandom, paths, rest }: PilotView): object {
  const { cost = null, ms = null, ...counts } = rest;
  return {
    ...{ records, at_random: atRandom },
    paths: paths.map(({ expected: [least, most], ...found }) => ({ ...found, expected: { least, most } })),
    rest: { ...counts, cost, ms },
  };
}

function searchJson({ node, known, notFound, steps }: SearchView): object {
  return { node, known, not_found: notFound, steps: steps.map(({ cost, ...counts }) => ({ ...counts, cost: cost ?? null })) };
}

function goneJson({ records, of, file, repeated, unreadable }: NonNullable<RunView['gone']>): object {
  return { records, of, file, repeated_keys: repeated, unreadable };
}

function lookupJson({ lookup, node, of, matched, ambiguous, lacking = {}, ...counts }: LookupView): object {
  const { doubtful = 0, unknownCountries = 0, cutOff = 0, nearestUnknown = 0 } = counts;
  return {
    ...{ lookup, node, of, matched, ambiguous },
    first_ambiguous: counts.firstAmbiguous ?? null,
    ...(doubtful > 0 && { other_doubts: doubtful, first_other_doubt: counts.firstDoubtful ?? null }),
    ...(unknownCountries > 0 && { unknown_countries: unknownCountries, first_unknown_country: counts.firstUnknownCountry ?? null }),
    ...(cutOff > 0 && { cut_off: cutOff, cut_off_at: counts.cutOffAt ?? null }),
    nearest_unknown: nearestUnknown || undefined,
    without_value: Object.keys(lacking).length === 0 ? undefined : lacking,
  };
}
