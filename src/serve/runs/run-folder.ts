import { randomBytes } from 'node:crypto';
import { copyFile, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { orUndefined } from '../../core/value/value.ts';
import { makeFolder } from '../../files/folder.ts';
import { isNoFile, statOf } from '../../files/stat.ts';
import { writeDurably } from '../../files/state-file.ts';
import { type Checkpoint, journalPath, readJournal } from '../../output/journal/journal.ts';
import { formatKinds, textKinds } from '../../records/formats.ts';
import { doneOf } from '../../report/reported-run.ts';
import { flowId } from '../../run/flow-folder.ts';
import { runShape, runStates } from '../shapes.ts';
import { errorsFormatOf, noTotals, type StoredRun, type Totals } from './stored-run.ts';

export class RunFolder {
  readonly path: string;

  constructor(runs: string, id: string) {
    this.path = join(runs, id);
  }

  get flow(): string {
    return join(this.path, 'flow.yaml');
  }

  get events(): string {
    return join(this.path, 'events.ndjson');
  }

  get report(): string {
    return join(this.path, 'report.html');
  }

  /** Path of the data that the report shows, as JSON. */
  get view(): string {
    return join(this.path, 'view.json');
  }

  get summary(): string {
    return join(this.path, 'summary.json');
  }

  async flowFiles(): Promise<Readonly<Record<string, string>>> {
    const text = await readFile(this.#files, 'utf8').catch(() => '{}');
    return JSON.parse(text) as Record<string, string>;
  }

  /** Stores the flow of the run, which later changes of the flow do not affect. */
  async saveFlow(text: string, files: ReadonlyMap<string, string>): Promise<void> {
    await writeDurably(this.flow, text);
    if (files.size > 0) await writeDurably(this.#files, JSON.stringify(Object.fromEntries(files)));
  }

  async copyFlow(from: RunFolder): Promise<void> {
    await copyFile(from.flow, this.flow);
    if (statOf(from.#files)) await copyFile(from.#files, this.#files);
  }

  get #files(): string {
    return join(this.path, 'flow-files.json');
  }

  input(format: string): string {
    return join(this.path, `input.${format}`);
  }

  output(format: string): string {
    return join(this.path, `output.${format}`);
  }

  errors(format: string): string {
    return join(this.path, `errors.${errorsFormatOf(format)}`);
  }

  create(): void {
    makeFolder(this.path);
  }

  async save(run: StoredRun): Promise<void> {
    await writeDurably(join(this.path, 'run.json'), `${JSON.stringify(run, null, 2)}\n`);
  }

  async size(): Promise<number> {
    const names = await readdir(this.path).catch(() => []);
    return names.reduce((sum, name) => sum + (statOf(join(this.path, name))?.size ?? 0), 0);
  }

  async delete(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/**
 * Reads all runs in a folder, with the oldest first. Deletes a run without `run.json`, because the client disconnected during the upload.
 * Skips a run whose `run.json` cannot be read, and reports it to `say`.
 */
export async function readRuns(runs: string, say: (text: string) => void): Promise<StoredRun[]> {
  const ids = (await readdir(runs)).filter((name) => runId.test(name)).sort();
  const found: StoredRun[] = [];
  for (let at = 0; at < ids.length; at += readAtOnce)
    found.push(
      ...(await Promise.all(ids.slice(at, at + readAtOnce).map((id) => readRun(runs, id, say)))).filter((run) => run !== undefined),
    );
  return found;
}

const readAtOnce = 64;

async function readRun(runs: string, id: string, say: (text: string) => void): Promise<StoredRun | undefined> {
  // Only a run without this file is deleted. Any other error might be temporary.
  const path = join(runs, id, 'run.json');
  // If a pipe has this name, it is not read, because reading it might never end.
  const text = isNoFile(path) ? '' : await readFile(path, 'utf8').catch(({ code }) => (code === 'ENOENT' ? undefined : ''));
  const run = text === undefined ? undefined : orUndefined(() => JSON.parse(text) as unknown);
  if (text === undefined) await rm(join(runs, id), { recursive: true, force: true });
  else if (isStoredRun(run) && run.id === id) return run;
  else say(`${id} is left out: its run.json cannot be read`);
  return undefined;
}

export const runId = /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let lastMs = 0;
let sequence = 0;

/** `run_` and a UUIDv7 (RFC 9562, 5.7). Ids sort by time, even within a millisecond and when the clock is set back. */
export function newRunId(): string {
  const wallMs = Date.now();
  sequence = wallMs > lastMs ? 0 : sequence + 1;
  lastMs = Math.max(lastMs, wallMs) + (sequence > 0xfff ? 1 : 0);
  sequence &= 0xfff;
  const bytes = randomBytes(16);
  bytes.writeUIntBE(lastMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | sequence, 6);
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f);
  const hex = bytes.toString('hex');
  return `run_${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`;
}

/** The number of credits comes from the checkpoint itself instead of the notes in it. */
export function totalsAt({ notes, credits }: Checkpoint): Totals {
  return { ...noTotals, ...(notes as Partial<Totals> | undefined), credits };
}

/** From the journal of a run that is not complete. */
export async function checkpointOnDisk(folder: RunFolder, { format }: Pick<StoredRun, 'format'>): Promise<Checkpoint | undefined> {
  return (await readJournal(journalPath(folder.output(format))).catch(() => undefined))?.checkpoint;
}

/** From the last checkpoint in the journal of a run that a crash interrupted. */
export async function figuresOnDisk(folder: RunFolder, { format }: StoredRun): Promise<Pick<StoredRun, 'counts' | 'totals'> | undefined> {
  // A damaged journal is ignored here. If the user resumes the run, it will fail and report why.
  const found = await readJournal(journalPath(folder.output(format))).catch(() => undefined);
  if (!found?.checkpoint) return undefined;
  const { written, rows, failed, filtered, records } = found.checkpoint;
  const totals = totalsAt(found.checkpoint);
  const waiting = [...found.parked.keys()].filter((number) => number > records).length;
  return {
    totals,
    counts: {
      read: doneOf(found.checkpoint),
      written,
      rows,
      failed,
      filtered,
      retries: totals.retries,
      waiting,
    },
  };
}

const time = z.iso.datetime();

const storedKey = z.looseObject({ id: z.string(), name: z.string() });

/** Schema of those members of `run.json` that are used as paths, times, states and figures. A run whose file does not match is ignored. */
const storedShape = z.looseObject({
  flow: z.string().regex(flowId),
  key: storedKey.nullable(),
  payer: storedKey.nullable().optional(),
  options: z.looseObject({}),
  inputFormat: z.enum([...formatKinds, ...textKinds.map((kind) => `${kind}.gz` as const)]),
  format: runShape.shape.format,
  bytes: z.number(),
  createdAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  state: z.enum(runStates),
  resumable: z.boolean(),
  parts: z.number(),
  crashes: z.number(),
  counts: runShape.shape.counts,
  totals: z.looseObject({ failures: runShape.shape.failures, mapped: runShape.shape.mapped, retries: z.number(), credits: z.number() }),
  size: z.number().optional(),
  saved: z.number().optional(),
  counted: z.looseObject({ records: z.number(), credits: z.number() }),
});

function isStoredRun(found: unknown): found is StoredRun {
  return storedShape.safeParse(found).success;
}
