import { rm } from 'node:fs/promises';
import type { Plan } from '../../core/plan.ts';
import type { RunOptions } from '../../core/run-options.ts';
import { realFile } from '../../files/stat.ts';
import { createWriter } from '../../records/writer.ts';
import type { FoundJournal } from '../journal/journal.ts';
import type { EndedOutput } from '../output.ts';
import type { OutputPlan } from '../output-plan.ts';
import { memoryPart, retriedMemory } from '../replace.ts';
import type { RetryClaim } from '../unfinished-run.ts';
import { entriesOf, MemoryLog, memoryPath, type RememberedRows, readMemory } from './memory-file.ts';
import { mergedRecords } from './merged-memory.ts';
import { findOldFiles, makersIn } from './old-memory.ts';
import { type OfRun, type OldFiles, openRecordMemory, type RecordMemory } from './record-memory.ts';

/** The memory file (the records that `update` remembers) of an output that a run has claimed. */
export interface ClaimedMemory {
  /** The earlier output whose rows may be reused; undefined if every record has to run. */
  readonly old: OldFiles | undefined;
  /** Creates the memory file, or continues the file of a resumed run. */
  open(): Promise<MemoryLog>;
  /** Completes and closes the memory file. Returns true, because the file now exists. */
  finish(log: MemoryLog, ended: EndedOutput): Promise<true>;
}

/** Opens the rows of an earlier output that a run with `update` would reuse. Returns undefined if every record would run. */
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

/**
 * Returns the memory file that a run writes, together with the earlier output whose rows the run can reuse. Returns undefined for a run
 * without a memory file.
 */
export async function claimMemory(flow: Plan, run: ClaimingRun): Promise<ClaimedMemory | undefined> {
  const { options, plan, retry } = run;
  if (retry) return claimRetried(flow, run, retry);
  if (!options.update) return undefined;
  const old = options.runsAll ? undefined : await findOldFiles(flow, options, plan);
  return {
    old,
    open: () => openMemoryLog(memoryPart(plan.out), run, old?.memory.key),
    async finish(log, { out, firstRow }) {
      await log.finish({ at: new Date().toISOString(), format: plan.format, makers: makersIn(flow, options), out, firstRow });
      return true;
    },
  };
}

/**
 * Returns the memory file of the output into which a retry inserts rows. Undefined if the output has no memory file, or if nodes or options
 * that determine the rows have changed.
 */
async function claimRetried(flow: Plan, run: ClaimingRun, { list }: RetryClaim): Promise<ClaimedMemory | undefined> {
  const { plan, options } = run;
  const memory = await readMemory(memoryPath(realFile(plan.out))).catch(() => undefined);
  const makers = makersIn(flow, options);
  if (!memory || memory.out.crc !== list.output.crc || memory.out.bytes !== list.output.bytes) return undefined;
  if (Object.keys({ ...memory.makers, ...makers }).some((name) => memory.makers[name] !== makers[name])) return undefined;
  return {
    old: undefined,
    open: () => openMemoryLog(retriedMemory(plan.out), run, memory.key),
    async finish(log, { out, firstRow }) {
      const merged = await MemoryLog.create(memoryPart(plan.out), memory.key);
      const between = Buffer.byteLength(createWriter(plan.format, []).between);
      const records = mergedRecords(entriesOf(memory), log.entries(), { firstRow, between });
      for await (const some of inGroupsOfRecords(records)) await merged.add(some);
      await log.close();
      await merged.finish({ at: new Date().toISOString(), format: plan.format, makers, out, firstRow });
      await rm(retriedMemory(plan.out), { force: true });
      return true;
    },
  };
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

function openMemoryLog(path: string, { found }: ClaimingRun, key: Buffer | undefined): Promise<MemoryLog> {
  const count = found?.checkpoint?.remembered;
  return count === undefined ? MemoryLog.create(path, key) : MemoryLog.continue(path, count);
}
