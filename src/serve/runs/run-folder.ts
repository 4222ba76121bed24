import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { doneOf } from '../../app/report/run-figures.ts';
import { orUndefined } from '../../core/value/value.ts';
import { makeFolder } from '../../io/files/folder.ts';
import { isNoFile, statOf } from '../../io/files/stat.ts';
import { writeDurably } from '../../io/files/state-file.ts';
import { type Checkpoint, journalPath, readJournal } from '../../io/journal/journal.ts';
import { errorsFormatOf, noTotals, type StoredRun, type Totals } from './stored-run.ts';
import { isStoredRun } from './stored-shape.ts';

/** The files of one run. */
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

  /** The page of the run as a file. */
  get report(): string {
    return join(this.path, 'report.html');
  }

  /** The figures of that page. */
  get view(): string {
    return join(this.path, 'view.json');
  }

  get summary(): string {
    return join(this.path, 'summary.json');
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

  /** The bytes of its files. */
  async size(): Promise<number> {
    const names = await readdir(this.path).catch(() => []);
    return names.reduce((sum, name) => sum + (statOf(join(this.path, name))?.size ?? 0), 0);
  }

  async delete(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/**
 * The runs of a folder, oldest first. A run whose upload broke off has no `run.json`: it is deleted. A run whose `run.json` cannot be read
 * is left as it is, and `say` takes a line about that run.
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
  // Only a run without the file is deleted: another error may be temporary.
  const path = join(runs, id, 'run.json');
  // Reading a pipe might never end.
  const text = isNoFile(path) ? '' : await readFile(path, 'utf8').catch(({ code }) => (code === 'ENOENT' ? undefined : ''));
  const run = text === undefined ? undefined : orUndefined(() => JSON.parse(text) as unknown);
  if (text === undefined) await rm(join(runs, id), { recursive: true, force: true });
  else if (isStoredRun(run) && run.id === id) return run;
  else say(`${id} is left out: its run.json cannot be read`);
  return undefined;
}

/** The shape of a run's id. */
export const runId = /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let lastMs = 0;
let sequence = 0;

/** A new id: `run_` and a UUIDv7 (RFC 9562, 5.7), which sorts by time, even within a millisecond and when the clock is set back. */
export function newRunId(wallMs = Date.now()): string {
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

/** The totals at a checkpoint. Its credits replace the credits in the notes of the process. */
export function totalsAt({ notes, credits }: Checkpoint): Totals {
  return { ...noTotals, ...(notes as Partial<Totals> | undefined), credits };
}

/** The figures of a run that a crash has interrupted, from the last checkpoint in its journal; absent without a checkpoint. */
export async function figuresOnDisk(folder: RunFolder, { format }: StoredRun): Promise<Pick<StoredRun, 'counts' | 'totals'> | undefined> {
  // A damaged journal stops the resumption, with its reason.
  const found = await readJournal(journalPath(folder.output(format))).catch(() => undefined);
  if (!found?.checkpoint) return undefined;
  const { written, failed, filtered, records } = found.checkpoint;
  const totals = totalsAt(found.checkpoint);
  const waiting = [...found.parked.keys()].filter((number) => number > records).length;
  return {
    totals,
    counts: {
      read: doneOf(found.checkpoint),
      written,
      failed,
      ...(filtered !== undefined && { filtered }),
      retries: totals.retries,
      waiting,
    },
  };
}
