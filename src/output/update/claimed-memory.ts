import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { AutomateError } from '../../core/failure.ts';
import { dataFilesOf, type Plan } from '../../core/plan.ts';
import type { RunOptions } from '../../core/run-options.ts';
import { envOf } from '../../files/home.ts';
import { realFile, statOf } from '../../files/stat.ts';
import { createWriter } from '../../records/formats.ts';
import type { FoundJournal } from '../journal/journal.ts';
import type { EndedOutput } from '../output.ts';
import type { OutputPlan } from '../output-plan.ts';
import { retriedTruth, truthPart } from '../replace.ts';
import { isRegularFile, refuseChangedWhole } from '../sink.ts';
import {
  entriesOf,
  type FoundMemory,
  type FoundTruth,
  type MemoryFacts,
  type RememberedRows,
  readTruth,
  TruthLog,
  truthPath,
} from '../truth-file.ts';
import type { RetryClaim } from '../unfinished-run.ts';
import type { GoneRecords } from './gone-records.ts';
import { type OfRun, type OldFiles, openRecordMemory, type RecordMemory } from './record-memory.ts';

/** The records that `update` remembers, for an output that a run has claimed. */
export interface ClaimedMemory {
  /** The earlier output to reuse; undefined if every record has to run. */
  readonly old: OldFiles | undefined;
  /** Undefined if nobody asks for the records that are gone. */
  readonly gone?: GoneRecords;
  /** Creates the file, or continues a resumed run's. */
  open(): Promise<TruthLog>;
  /** Returns the log with all records that the next run can reuse, and what their rows depend on. */
  finish(log: TruthLog, ended: EndedOutput): Promise<{ readonly log: TruthLog; readonly facts: MemoryFacts }>;
}

/** The rows that a run with `update` would reuse; undefined if every record would run. */
export async function lookForOld(run: Omit<OfRun, 'key' | 'old' | 'log'>): Promise<RecordMemory | undefined> {
  const old = run.options.runsAll ? undefined : await findOldFiles(run.plan, run.options, run.files);
  return old && openRecordMemory({ ...run, key: old.memory.key, old });
}

interface ClaimingRun {
  readonly options: RunOptions;
  readonly plan: OutputPlan;
  /** The journal of the run's earlier part; undefined for a new run. */
  readonly found: FoundJournal | undefined;
  readonly retry: RetryClaim | undefined;
}

export async function claimMemory(flow: Plan, run: ClaimingRun): Promise<ClaimedMemory | undefined> {
  const { options, plan, retry } = run;
  if (retry) return claimRetried(flow, run, retry);
  if (!options.update) return undefined;
  const old = options.runsAll ? undefined : await findOldFiles(flow, options, plan);
  return {
    old,
    gone: await findGone(flow, options, plan),
    open: () => openTruthLog(truthPart(plan.out), run, old?.memory.key),
    finish: async (log, { out, firstRow }) => ({ log, facts: factsOf(plan, makersIn(flow, options), { out, firstRow }) }),
  };
}

/** Does not need the old rows to be reusable, so a run of every record does not miss the records that are gone. */
export async function findGone(flow: Plan, options: RunOptions, plan: OutputPlan): Promise<GoneRecords | undefined> {
  if (!plan.gone) return undefined;
  const memory = memoryIn(await readTruth(truthPath(realFile(plan.out))).catch(() => undefined));
  const isOfOutput = memory !== undefined && statOf(plan.out)?.size === memory.out.bytes;
  const { GoneRecords } = await import('./gone-records.ts');
  return GoneRecords.open(flow, options, plan, isOfOutput ? memory : undefined);
}

/** Undefined if the output has no memory file, or if nodes or options that determine the rows have changed. */
async function claimRetried(flow: Plan, run: ClaimingRun, { list }: RetryClaim): Promise<ClaimedMemory | undefined> {
  const { plan, options } = run;
  const memory = memoryIn(await readTruth(truthPath(realFile(plan.out))).catch(() => undefined));
  const makers = makersIn(flow, options);
  if (!memory || memory.out.crc !== list.output.crc || memory.out.bytes !== list.output.bytes) return undefined;
  if (Object.keys({ ...memory.makers, ...makers }).some((name) => memory.makers[name] !== makers[name])) return undefined;
  return {
    old: undefined,
    open: () => openTruthLog(retriedTruth(plan.out), run, memory.key),
    async finish(log, { out, firstRow }) {
      const merged = await TruthLog.create(truthPart(plan.out), memory.key);
      const between = Buffer.byteLength(createWriter(plan.format, []).between);
      const records = mergedRecords(entriesOf(memory), log.entries(), firstRow, between);
      for await (const some of inGroupsOfRecords(records)) await merged.add(some);
      await log.close();
      return { log: merged, facts: factsOf(plan, makers, { out, firstRow }) };
    },
  };
}

function factsOf({ format }: OutputPlan, makers: MemoryFacts['makers'], written: Pick<EndedOutput, 'out' | 'firstRow'>): MemoryFacts {
  const { out, firstRow } = written;
  return { at: new Date().toISOString(), format, makers, out, firstRow };
}

function memoryIn(truth: FoundTruth | undefined): FoundMemory | undefined {
  const { path, key, count, memory } = truth ?? {};
  return path !== undefined && key && count !== undefined && memory ? { ...memory, path, key, count } : undefined;
}

async function* inGroupsOfRecords(records: AsyncIterable<RememberedRows>): AsyncGenerator<RememberedRows[]> {
  let group: RememberedRows[] = [];
  for await (const record of records) {
    group.push(record);
    if (group.length < 1024) continue;
    yield group;
    group = [];
  }
  yield group;
}

function openTruthLog(path: string, { found }: ClaimingRun, key: Buffer | undefined): Promise<TruthLog> {
  const count = found?.checkpoint?.remembered;
  return count === undefined ? TruthLog.create(path, key) : TruthLog.continue(path, count);
}

/**
 * Yields the output's entries in order. `old` have the positions in the earlier output, and `inserted` have their new positions. `firstRow`
 * is the position of the output's first row, and `between` the size in bytes of the separator that precedes every other row.
 */
async function* mergedRecords(
  old: AsyncIterable<RememberedRows>,
  inserted: AsyncIterable<RememberedRows>,
  firstRow: number,
  between: number,
): AsyncGenerator<RememberedRows> {
  const more = inserted[Symbol.asyncIterator]();
  const next = async () => (await more.next()).value as RememberedRows | undefined;
  let shift = 0;
  /** A row was inserted before the first old row, which now needs a separator. This shifts all rows after it. */
  let separates = false;
  let insert = await next();
  for await (const entry of old) {
    if (separates && entry.start > firstRow) {
      shift += between;
      separates = false;
    }
    for (; insert && insert.start - shift <= entry.start; insert = await next()) {
      if (insert.start === firstRow && insert.end > firstRow) separates = true;
      shift += insert.end - insert.start;
      yield insert;
    }
    const start = entry.start + shift;
    if (separates && entry.end > firstRow) {
      shift += between;
      separates = false;
    }
    yield { ...entry, start, end: entry.end + shift };
  }
  for (; insert; insert = await next()) yield insert;
}

/** Hashes of what determines a record's rows besides its fields, such as nodes and options. Messages show the keys. */
function makersIn(plan: Plan, { env, set = [], csvSafe = false }: RunOptions): Readonly<Record<string, string>> {
  const dataFiles = dataFilesOf(plan).map((file) => [`the data file ${file}`, `${statOf(file)?.size} ${statOf(file)?.mtimeMs}`]);
  return Object.fromEntries([
    ...[...plan.makers].map(([id, written]) => [`the node ${id}`, makerHash(written)]),
    ...[...plan.files].map(([file, text]) => [`the file ${file}`, makerHash(text)]),
    ...[...plan.variables.values].map(([name, value]) => [`the variable ${name}`, makerHash(value)]),
    ['the environment', makerHash(envOf(env))],
    ['the list of set fields', makerHash(JSON.stringify(set))],
    ['the way cells are made safe', String(csvSafe)],
    ...(plan.names.isEmpty ? [] : [['the list of columns', makerHash(JSON.stringify([...plan.names.entries()]))]]),
    ...dataFiles,
  ]);
}

function makerHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * The output whose rows `update` reuses, if it exists. Throws an AutomateError (`output-exists`) if it has no memory file, was changed, or
 * was made with a different flow or different options.
 */
async function findOldFiles(plan: Plan, options: RunOptions, { out, format }: OutputPlan): Promise<OldFiles | undefined> {
  if (!isRegularFile(out)) return undefined;
  const path = truthPath(realFile(out));
  const truth = await readTruth(path);
  const memory = memoryIn(truth);
  if (!memory) {
    const why = truth ? 'the run that wrote it did not remember its records' : `${path} is missing`;
    throw updateRefused(`${out} exists, but it is not known which records its rows belong to, because ${why}`);
  }
  try {
    await refuseChangedWhole(out, memory.out);
  } catch (error) {
    throw error instanceof AutomateError ? updateRefused(error.message) : error;
  }
  const makers = makersIn(plan, options);
  const changed = Object.keys({ ...memory.makers, ...makers }).filter((name) => memory.makers[name] !== makers[name]);
  if (!isDeepStrictEqual(memory.format, format)) changed.push('the format of the output');
  // The kept answers make it cheap to run all records again.
  if (changed.length > 0 && options.keepAnswers !== undefined) return undefined;
  if (changed.length > 0) {
    const lines = changed.map((name) => `${name} ${wayOfChange(memory.makers[name], makers[name])}`);
    throw updateRefused(`the rows of ${out} cannot be reused, because they were made in a different way:\n${lines.join('\n')}`);
  }
  return { memory, out, maxAge: options.maxAge };
}

function wayOfChange(before: string | undefined, now: string | undefined): string {
  if (before === undefined && now !== undefined) return 'is new';
  return before !== undefined && now === undefined ? 'is gone' : 'has changed';
}

function updateRefused(message: string): AutomateError {
  return new AutomateError('output-exists', message, { code: 'update-refused', details: {} });
}
