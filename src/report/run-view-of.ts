import { basename, dirname } from 'node:path';
import { cleaned, excerpt } from '../core/answer/response.ts';
import { allSteps, type Plan } from '../core/plan.ts';
import { rounded } from '../core/spending.ts';
import type { Redactor } from '../credentials/redact.ts';
import type { ReportedRun, RunTexts } from './reported-run.ts';
import { doneOf, workOf } from './reported-run.ts';
import { type ResponseTimes, typicalMs } from './response-times.ts';
import type { FailureView, MappingView, ResponseTimesView, RunState, RunView } from './run-view.ts';
import { codedIn, endings, factsOf, frequentMessages, type SummaryFacts, sortedGroups, wholeCounts, wholeTokens } from './summary.ts';
import { type FailureGroup, noTokens, type Tally } from './tally.ts';

const maxRows = 60;

const maxGroups = 30;

const maxText = 160;

/** The first line of a message is the reason, the second is what to do. */
const maxLines = 2;

const maxCommand = 2000;

/** Returns the data that the report of a finished run shows. */
export function runViewOf(run: ReportedRun, facts: SummaryFacts, tally: Tally = run.progress.tally): RunView {
  const { request, progress } = run;
  const { rates, statuses, startedAtMs } = progress;
  const { plan, words } = request;
  const groups = sortedGroups(tally);
  return {
    flow: shortened(plan.name),
    ...endView(run, tally, facts),
    startedAt: new Date(startedAtMs).toISOString(),
    ms: tally.ms,
    ...placesOf(run, facts),
    counts: countsOf(tally, facts),
    earlier: doneOf(facts.before),
    total: workOf(run).total(),
    share: workOf(run).share()?.ofWhole,
    rates: rates.buckets(tally.ms),
    responseTimes: responseTimesOf(tally.responseTimes),
    statuses: statuses.counts().slice(0, maxRows),
    failures: groups.slice(0, maxGroups).map((group) => failureView(group, words)),
    moreFailures: Math.max(0, groups.length - maxGroups),
    mapping: mappingOf(plan, tally).slice(0, maxRows),
    lookups: [...tally.lookups.values()].slice(0, maxRows).map(({ node, matched, ambiguous, of }) => ({ node, matched, ambiguous, of })),
    tokens: [...wholeTokens(tally.tokens, facts.spentBefore.tokens)].slice(0, maxRows).map(([node, counts]) => ({
      ...{ node, ...counts },
      part: facts.spentBefore.tokens.has(node) ? (tally.tokens.get(node) ?? noTokens) : undefined,
    })),
    credits: {
      spent: rounded(facts.spentBefore.credits + facts.credits),
      part: facts.spentBefore.credits > 0 ? facts.credits : undefined,
      saved: tally.creditsSaved,
      limit: request.options.maxCredits,
      allowance: facts.usage,
    },
    pauses: pausesOf(run, facts),
    command: words && cutCommand(words.command),
    next: facts.next.map(({ why, command }) => ({ why: shortened(why), command: cutCommand(command) })),
  };
}

/** The data for the web page, with secrets masked. Leaves out the ending of a finished run, which the page shows elsewhere. */
export function liveViewOf(run: ReportedRun): RunView {
  const { tally, rates } = run.progress;
  const facts = { ...factsOf(run), usage: undefined, attributions: [], exitCode: 0, next: [] };
  const view = runViewOf(run, facts, { ...tally, ms: tally.ms || rates.ms });
  const { workers } = run.progress;
  const living = {
    state: 'running',
    ending: undefined,
    reason: undefined,
    workers: workers && { now: workers.now, units: workers.units },
  } as const;
  return { ...maskedView(view, run.session.redactor), ...living };
}

/** Replaces each secret by `***`, and removes control characters. */
export function maskedView(view: RunView, redactor: Pick<Redactor, 'text'>): RunView {
  return JSON.parse(JSON.stringify(view), (_, value) => (typeof value === 'string' ? cleaned(redactor.text(value)) : value));
}

/** Returns the paths of the run's files. For files in automate's home folder, returns only the names. */
function placesOf(
  { request: { files } }: ReportedRun,
  { input, output, errors, errorRecords }: SummaryFacts,
): Pick<RunView, 'input' | 'output' | 'errors'> {
  const shown = (path: string) => shortened(files.isOwn ? basename(path) : path);
  return { input: shown(input), output: shown(output), errors: errorRecords > 0 && errors !== undefined ? shown(errors) : undefined };
}

function endView(
  { request: { files } }: ReportedRun,
  tally: Tally,
  { problem, reason }: SummaryFacts,
): Pick<RunView, 'state' | 'ending' | 'reason'> {
  const { ending = 'interrupted' } = tally;
  const shown = (text: string) => (files.isOwn ? text.replaceAll(`${dirname(files.out)}/`, '') : text);
  if (problem !== undefined) return { state: 'failed', ending: 'ended by an error', reason: shortened(shown(problem), 500) };
  const state: RunState = ending === 'complete' ? 'finished' : 'stopped';
  return { state, ending: endings[ending], reason: reason === undefined ? undefined : shortened(reason) };
}

function countsOf(tally: Tally, facts: SummaryFacts): RunView['counts'] {
  const { written, failed, filtered, unchanged } = wholeCounts(tally, facts);
  const { passedThrough, parked: waiting, retries, cacheHits } = tally;
  return { written, failed, filtered, passedThrough, waiting, retries, cached: cacheHits.cached + cacheHits['in-flight'], unchanged };
}

function responseTimesOf(times: ResponseTimes): ResponseTimesView | undefined {
  if (times.count === 0) return undefined;
  const [p50Ms, p95Ms, maxMs] = typicalMs(times);
  return { count: times.count, p50Ms, p95Ms, maxMs, buckets: times.bars() };
}

function failureView(group: FailureGroup, words: RunTexts | undefined): FailureView {
  const { node, class: kind, status, count, firstRecords } = group;
  return { node, class: kind, status, count, firstRecords, messages: messagesOf(group, words) };
}

function pausesOf({ progress: { pauses } }: ReportedRun, { paused }: SummaryFacts): RunView['pauses'] {
  const gates = pauses.gates();
  return { totalMs: paused.ms, times: gates.reduce((sum, { times }) => sum + times, 0), gates };
}

function messagesOf(group: FailureGroup, words: RunTexts | undefined): FailureView['messages'] {
  const textOf = (message: string) => words?.message(codedIn(group, message)) ?? message;
  return frequentMessages(group).map(([message, count]) => ({ text: shortened(textOf(message)), count }));
}

function mappingOf(plan: Plan, tally: Tally): MappingView[] {
  const steps = allSteps(plan.steps);
  return [...tally.hits].flatMap(([node, hits]) => {
    const action = steps.find(({ id }) => id === node)?.node.action;
    return hits.map(({ path, found, of }, index) => {
      const field = action?.paths[index] === path ? action.fields[index] : undefined;
      return { node, field: field && shortened(field), path: shortened(path), found, of };
    });
  });
}

function shortened(long: string, length = maxText): string {
  return long
    .split('\n')
    .slice(0, maxLines)
    .map((line) => excerpt(line, length))
    .join('\n');
}

/** Unlike `excerpt`, keeps all spaces, because they can be part of an argument. */
function cutCommand(command: string): string {
  return command.length > maxCommand ? `${command.slice(0, maxCommand).toWellFormed()}...` : command;
}
