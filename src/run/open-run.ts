import type { Event } from '../core/event.ts';
import { originsOf } from '../core/field-origins.ts';
import type { Item } from '../core/item.ts';
import { hideReadableSecrets, loadSecrets, noSecrets } from '../credentials/flow-secrets.ts';
import type { Messages } from '../credentials/messages.ts';
import { createClock } from '../files/clock.ts';
import type { OutputSpace } from '../files/folder.ts';
import { envOf } from '../files/home.ts';
import { fullPath } from '../files/stat.ts';
import type { RunFilesOptions } from '../http/transfers/run-files.ts';
import { failedListOf, oldOutput } from '../output/failed-records.ts';
import type { Checkpoint, Journal } from '../output/journal/journal.ts';
import { openOutput } from '../output/open-output.ts';
import type { EndedOutput, FileOutput } from '../output/output.ts';
import { answersPath } from '../output/output-plan.ts';
import { selectRecords } from '../output/selected-records.ts';
import { openRecordMemory, type RecordMemory } from '../output/update/record-memory.ts';
import { filesFolder, inputLabel, inputPaths, tellingNotes } from '../records/inputs.ts';
import { earlyWarnings, noteLateFields, warnOfMany } from '../report/early-warnings.ts';
import { countItems } from '../report/reading.ts';
import { beginReport, beginSummary, openEvents } from '../report/report-file.ts';
import { RunProgress } from '../report/run-progress.ts';
import { nextPathsSince, type Tally } from '../report/tally.ts';
import { reservedFiles, reservedPaths } from './reserved-paths.ts';
import type { ClaimedRun, OpenRun, RunRequest, RunSurroundings } from './run-request.ts';
import { openSession, type Session, useOf } from './session.ts';

/** If one step fails, closes everything opened before it. */
export async function openRun(claimed: ClaimedRun, surroundings: RunSurroundings): Promise<OpenRun> {
  const { request, claim } = claimed;
  const { plan, flow, options, isFree } = request;
  const { messages, routes, key, space, warn = messages.warn, noted } = surroundings;
  // In a run with a queue, only the workers send requests. This process needs no secrets, but masks the secrets that it can read.
  if (options.queue !== undefined) await hideReadableSecrets(plan, options.env, messages);
  const sendsHere = options.queue === undefined && !options.replay;
  const credentials = sendsHere ? await loadSecrets(plan, flow, options, vaultMessages(options, messages)) : noSecrets;
  if (options.report !== undefined) await beginReport(options.report);
  if (options.summary !== undefined) await beginSummary(options.summary);
  const progress = new RunProgress(createClock());
  const events = await openEvents(options.events, messages.redactor, options.resume ?? false);
  const written = request.pilot ? eventsOfPilot() : undefined;
  const report = (event: Event) => {
    progress.add(event);
    if (!written) events?.add(event);
    else for (const one of written(event)) events?.add(one);
    surroundings.event?.(event);
    for (const warning of earlyWarnings(event, progress.tally)) warn(warning);
  };
  const { credits, costs } = claim.from;
  const run = { id: claim.run, credits, costs, isFree };
  const parts = { credentials, routes, key, run, report, files: { ...(await filesOf(claimed)), space } };
  let session: Session | undefined;
  let answers: OpenRun['answers'];
  try {
    const use = useOf(plan, flow, options.env);
    answers = await answersOf(claimed, { ...messages, warn });
    session = await openSession(
      options.replay ? { ...use, credentials: [], certificates: [] } : use,
      options,
      { ...messages, warn },
      { ...parts, answers },
    );
    return {
      ...claimed,
      session,
      progress,
      events,
      answers,
      ...(await openRecords(claimed, session, progress, { warn, noted, space })),
    };
  } catch (error) {
    await session?.close().catch(() => undefined);
    await answers?.close().catch(() => undefined);
    await events?.close().catch(() => undefined);
    throw error;
  }
}

/**
 * The run that goes on after a pilot reports how its records ended, when it writes them, and what was passed through in those that succeeded.
 * Otherwise, a reader of the events, which are all in one file, would count these records twice.
 */
function eventsOfPilot(): (event: Event) => readonly Event[] {
  const passed = new Map<number, Event[]>();
  return (event) => {
    if (event.type === 'record-passed-through') {
      passed.set(event.record, [...(passed.get(event.record) ?? []), event]);
      return [];
    }
    if (event.type !== 'record-done' && event.type !== 'record-failed' && event.type !== 'record-filtered') return [event];
    const others = event.type === 'record-failed' ? (passed.get(event.record) ?? []) : [];
    return [...others, { type: 'record-parked', record: event.record, isNew: true }];
  };
}

const maxKeptBytes = 10e9;

async function answersOf({ request, claim }: ClaimedRun, { redactor, warn }: Messages): Promise<OpenRun['answers']> {
  const { options, files, retried } = request;
  const { keepAnswers, replay: isReplay = false, maxKept: maxBytes = maxKeptBytes, workers } = options;
  if (keepAnswers === undefined && !isReplay) return undefined;
  const { openAnswers } = await import('../http/answers/kept-answers.ts');
  return openAnswers({
    path: answersPath(files.out),
    flow: originsOf(request.plan),
    runs: [claim.run, ...(retried ? [retried.run] : [])],
    env: envOf(options.env),
    maxAgeMs: typeof keepAnswers === 'number' ? keepAnswers : undefined,
    maxBytes,
    isReplay,
    isShared: workers !== undefined,
    redactor,
    wallNow: Date.now,
    warn,
  });
}

/** Removes `findAsker` if workers open the vault, too: they cannot ask for the passphrase, so there is no use in asking for it here. */
function vaultMessages({ workers }: RunRequest['options'], messages: Messages): Messages {
  if (workers === undefined) return messages;
  const { findAsker, ...others } = messages;
  return others;
}

export async function filesOf({ request, claim }: ClaimedRun): Promise<RunFilesOptions> {
  const { plan, flow, options, files, retried, reserved = [] } = request;
  const { events, summary, report, gone, cacert } = options;
  const inputs = [...inputPaths(options), ...(retried?.identity.inputs.map(({ path }) => path) ?? [])];
  const own = [...inputs, files.out, files.errors, events, summary, report, gone].flatMap((path) =>
    path === undefined || path === '-' ? [] : fullPath(path),
  );
  const all = [...reservedFiles(own, "one of the run's own files"), ...reserved];
  return { folder: filesFolder(options), log: claim.saved, reserved: await reservedPaths(plan, { flow, cacert, reserved: all }) };
}

/** Selects the records that no earlier part of the run has finished. */
async function openRecords(
  claimed: ClaimedRun,
  session: Session,
  { reading, tally, lateFields }: RunProgress,
  {
    warn,
    noted,
    space,
  }: Pick<RunSurroundings, 'noted'> & { readonly warn: (message: string) => void; readonly space: OutputSpace | undefined },
): Promise<Pick<OpenRun, 'input' | 'output'>> {
  const { request, claim, source } = claimed;
  const { plan, options, files, pilot } = request;
  const done = { ...claim.from, records: Math.max(claim.from.records, options.skip ?? 0) };
  const journal = await claim.begin(space);
  const memory = await openMemory(claimed, session, tally);
  const output = await openFiles(claimed, done, session, { tally, journal, memory, space });
  session.ports.report({
    type: 'run-started',
    flow: plan.name,
    input: options.moreIn ? inputLabel(options) : options.in,
    output: files.out,
    errors: files.errors ?? 'none',
  });
  const skipped = (item: Item) => output.skip(item);
  const records = selectRecords(noted ? tellingNotes(source, noted) : source, {
    options,
    plan,
    format: files.format,
    done,
    skipped,
    parked: claim.parked,
    passed: ({ number: record }, failures) => {
      for (const failure of failures) session.ports.report({ type: 'record-passed-through', record, ...failure });
    },
    only: pilot?.records,
    // The records of a pilot are known to have changed. Without the records before them, they could be taken for others.
    takeOver: pilot ? undefined : memory && ((item) => memory.takeOver(item)),
  });
  const first = source.firstFields ?? [];
  const checked = source.header ? records : noteLateFields(records, { plan, flow: request.flow }, lateFields, { first, warn });
  return { output, input: countItems(warnOfMany(checked, plan, warn), source, reading) };
}

interface RunFileParts {
  readonly tally: Tally;
  readonly journal: Journal | undefined;
  readonly space: OutputSpace | undefined;
  readonly memory: RecordMemory | undefined;
}

/** A run with `update` stores its records in this file for the next run. Undefined for a run without a memory file. */
async function openMemory({ claim, request, source }: ClaimedRun, { redactor }: Session, tally: Tally): Promise<RecordMemory | undefined> {
  if (!claim.memory) return undefined;
  const { plan, options, files } = request;
  const log = await claim.memory.open();
  const { old } = claim.memory;
  const isPassedThrough = (record: number) => tally.undecided.has(record);
  return openRecordMemory({ plan, options, files, source, redactor, log, key: log.key, old, isPassedThrough });
}

async function openFiles(
  { request, source, claim }: ClaimedRun,
  done: Checkpoint,
  session: Session,
  { tally, journal, memory, space }: RunFileParts,
): Promise<FileOutput> {
  const { plan, files, retried, options, notes, pilot } = request;
  const { ports, redactor } = session;
  const { publish, settle } = claim;
  const inputColumns = source.columns ?? [];
  const listed = { request, columns: inputColumns, redactor };
  return openOutput(claim.work, {
    inputFormat: source.format,
    columns: { input: inputColumns, output: plan.columns(inputColumns) },
    redactor,
    names: plan.names,
    csvSafe: options.csvSafe ?? false,
    journal,
    space,
    from: done,
    credits: () => done.credits + ports.credits(),
    byNode: () => ({
      ...nonEmpty('costs', ports.spending.totals()),
      ...nonEmpty('tokens', tokensSince(done, tally)),
      ...nonEmpty('nextPaths', nextPathsSince(done, tally)),
    }),
    notes,
    old: retried && oldOutput(files, retried),
    isComplete: claim.isComplete,
    settle,
    memory,
    passedFailures: (record) => [...(tally.undecided.get(record)?.values() ?? [])],
    ...(pilot && { pilot: (item, outcome) => pilot.finished(item, outcome) }),
    ...(journal && publish && { publish: (ended: EndedOutput) => publish(journal, ended, failedListOf(listed, ended)) }),
  });
}

function nonEmpty<Name extends string, Values extends object>(name: Name, values: Values): { readonly [_ in Name]?: Values } {
  return (Object.keys(values).length > 0 ? { [name]: values } : {}) as { readonly [_ in Name]?: Values };
}

/** The tokens of each node in the whole run, including the parts before it was resumed. */
function tokensSince({ tokens: before = {} }: Checkpoint, { tokens }: Tally): NonNullable<Checkpoint['tokens']> {
  const sums = [...tokens].map(([node, { input, output, askedAgain = 0 }]) => {
    const earlier = before[node] ?? { input: 0, output: 0 };
    const again = (earlier.askedAgain ?? 0) + askedAgain;
    return [node, { input: earlier.input + input, output: earlier.output + output, askedAgain: again || undefined }] as const;
  });
  return { ...before, ...Object.fromEntries(sums) };
}
