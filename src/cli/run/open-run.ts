import type { FlowSecrets } from '../../app/flow/flow-secrets.ts';
import { selectRecords } from '../../app/input/selected-records.ts';
import { failedListOf, oldOutput } from '../../app/output/failed-list-of.ts';
import { openOutput } from '../../app/output/open-output.ts';
import type { Claim } from '../../app/output/output-claim.ts';
import type { OutputPlan } from '../../app/output/output-plan.ts';
import { openRunLedger, pricesOf, statesPrice } from '../../app/ports/run-ledger.ts';
import { type WiredPorts, wire } from '../../app/ports/wire.ts';
import { earlyWarnings } from '../../app/progress/early-warnings.ts';
import { Pauses } from '../../app/progress/pauses.ts';
import { warnOfMany } from '../../app/progress/public-servers.ts';
import { countItems, type Reading } from '../../app/progress/reading.ts';
import { addToRates, RecordRates } from '../../app/progress/record-rates.ts';
import { Statuses } from '../../app/progress/statuses.ts';
import { addToTally, createTally, type Tally } from '../../app/progress/tally.ts';
import { beginReport } from '../../app/report/begin-report.ts';
import { type EventsFile, openEvents } from '../../app/report/events-file.ts';
import { beginSummary } from '../../app/report/summary-file.ts';
import type { Event } from '../../core/event.ts';
import type { Item } from '../../core/item.ts';
import type { Plan } from '../../core/plan.ts';
import type { Gates } from '../../engine/gates.ts';
import type { Run } from '../../engine/run.ts';
import type { Routes } from '../../io/http/routes.ts';
import type { FoundFailures } from '../../io/journal/failed-list.ts';
import type { Checkpoint } from '../../io/journal/journal.ts';
import type { PayingKey } from '../../io/ledger/rest.ts';
import type { RunLedger } from '../../io/ledger/run-ledger.ts';
import type { EndedOutput, FileOutput } from '../../io/output/output.ts';
import type { Source } from '../../io/records/readers/source.ts';
import { eventText } from '../show/run/attempts.ts';
import type { Terminal } from '../terminal.ts';
import type { RunRequest } from './run-options.ts';

/** A run that may start: its flow is checked, its output claimed, its input open. */
export interface ReadyRun {
  readonly request: RunRequest;
  readonly plan: Plan;
  readonly source: Source;
  readonly files: OutputPlan;
  readonly claim: Claim;
  readonly credentials: FlowSecrets;
  readonly terminal: Terminal;
  readonly host: RunHost;
  /** The failed records that a retry runs; absent for other runs. */
  readonly retried?: FoundFailures | undefined;
}

/** A run with everything that it reads, spends, reports and writes. */
export interface OpenRun extends ReadyRun {
  readonly input: AsyncIterable<readonly Item[]>;
  readonly output: FileOutput;
  readonly ports: WiredPorts;
  readonly ledger: RunLedger;
  readonly tally: Tally;
  readonly pauses: Pauses;
  readonly rates: RecordRates;
  readonly statuses: Statuses;
  /** Ms since 1970. */
  readonly startedAtMs: number;
  readonly reading: Reading;
  /** True if credits matter to the user: something limits them, or the flow states a price. */
  readonly showsCredits: boolean;
  /** Absent if no events file is wanted. */
  readonly events: EventsFile | undefined;
}

/** The process that a run takes place in: a command of its own, or a server with several runs. */
export interface RunHost {
  /** The gates of all runs of the process. */
  readonly gates: Gates;
  /** The connections of all runs of the process; absent for the run's own. */
  readonly routes?: Routes;
  /** The API key that pays; absent for a command. */
  readonly key?: PayingKey | undefined;
  /** Counts for each checkpoint, which a resumed run finds in its claim; absent for none. */
  readonly notes?: () => object;
  /** Takes every event; absent if nothing else watches the run. */
  report?(event: Event): void;
  /** Follows a run that is about to start. */
  follow(run: OpenRun): Promise<Follower>;
}

/** A process that follows one of its runs. */
export interface Follower {
  /** The first records are under way. Advance the phase to end the run early. */
  started(run: Run): void;
  /** The signal that ended the run; absent if it ended by itself. */
  signal(): NodeJS.Signals | undefined;
  /** Every record has ended, and the output is closed. */
  recordsEnded(): void;
  /** A second call does nothing. */
  stop(): void;
}

/** Opens the files and the ledger of a run, and wires its ports. */
export async function openRun(ready: ReadyRun): Promise<OpenRun> {
  const { request, plan, source, files, claim, terminal } = ready;
  const { options } = request;
  if (options.report !== undefined) await beginReport(options.report);
  if (options.summary !== undefined) await beginSummary(options.summary);
  const tally = createTally();
  const pauses = new Pauses(() => ports.clock.now());
  const events = await openEvents(options.events, terminal.redactor, options.resume ?? false);
  const warn = (message: string) => options.quiet || terminal.warn(message);
  const ledger = await openLedger(ready, warn);
  const ports = wire({
    run: claim.run,
    credentials: ready.credentials,
    redactor: terminal.redactor,
    allowHttp: options.allowHttp ?? false,
    cacert: options.cacert,
    ledger,
    costs: claim.from.costs,
    env: options.env,
    routes: ready.host.routes,
    report(event) {
      addToTally(tally, event);
      events?.add(event);
      addToRates(rates, event);
      ready.host.report?.(event);
      if (event.type === 'gate-paused') pauses.add(event);
      for (const warning of earlyWarnings(event, tally)) warn(warning);
      const line = options.verbose ? eventText(event) : undefined;
      if (line !== undefined) terminal.say(line);
    },
    warn,
  });
  const rates = new RecordRates(ports.clock.now);
  const done = { ...claim.from, records: Math.max(claim.from.records, options.skip ?? 0) };
  const output = await openFiles(ready, done, ports);
  ports.report({ type: 'run-started', flow: plan.name, input: options.in, output: files.out, errors: files.errors ?? 'none' });
  const reading = { records: 0, bytesBefore: 0, isComplete: false };
  const records = selectRecords(source, {
    options,
    plan,
    format: files.format,
    done,
    skipped: (item) => output.skip(item),
    parked: claim.parked,
  });
  const showsCredits = ledger.isLimited || statesPrice(plan);
  const input = countItems(warnOfMany(records, plan, warn), source.readBytes, reading);
  const figures = { tally, pauses, rates, statuses: new Statuses(), startedAtMs: ports.clock.wallNow() };
  return { ...ready, ...figures, events, ledger, ports, output, reading, showsCredits, input };
}

function openLedger({ request, plan, claim, host }: ReadyRun, warn: (message: string) => void): Promise<RunLedger> {
  const { env, maxCredits } = request.options;
  return openRunLedger(pricesOf(plan, env), {
    run: claim.run,
    env,
    maxCredits,
    before: claim.from.credits,
    isFree: request.isFree,
    key: host.key,
    warn,
  });
}

async function openFiles(ready: ReadyRun, done: Checkpoint, ports: WiredPorts): Promise<FileOutput> {
  const { request, plan, source, files, claim, terminal, retried } = ready;
  const journal = await claim.begin();
  const { publish } = claim;
  const inputColumns = source.columns ?? [];
  return openOutput(claim.work, {
    inputFormat: source.format,
    inputColumns,
    outputColumns: plan.columns(inputColumns),
    redactor: terminal.redactor,
    csvSafe: request.options.csvSafe ?? false,
    journal,
    from: done,
    credits: () => done.credits + ports.credits(),
    costs: () => nonEmpty(ports.spending.totals()),
    notes: ready.host.notes,
    old: retried && oldOutput(files, retried),
    isComplete: claim.isComplete,
    ...(journal && publish && { publish: (ended: EndedOutput) => publish(journal, ended.saved, failedListOf(ready, ended)) }),
  });
}

function nonEmpty(costs: Readonly<Record<string, number>>): Readonly<Record<string, number>> | undefined {
  return Object.keys(costs).length > 0 ? costs : undefined;
}
