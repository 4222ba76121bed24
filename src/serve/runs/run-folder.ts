import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { orUndefined } from '../../core/value/or-undefined.ts';
import { makeFolder } from '../../io/files/folder.ts';
import { statOf } from '../../io/files/stat.ts';
import { writeDurably } from '../../io/files/state-file.ts';
import { runId } from './run-id.ts';
import type { StoredRun } from './stored-run.ts';

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
    return join(this.path, `errors.${format.replace(/\.gz$/, '')}`);
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
  const found: StoredRun[] = [];
  for (const id of (await readdir(runs)).filter((name) => runId.test(name)).sort()) {
    // Only a run without the file is deleted: another error may be temporary.
    const text = await readFile(join(runs, id, 'run.json'), 'utf8').catch(({ code }) => (code === 'ENOENT' ? undefined : ''));
    const run = text === undefined ? undefined : orUndefined(() => JSON.parse(text) as Partial<StoredRun> | null);
    if (text === undefined) await rm(join(runs, id), { recursive: true, force: true });
    else if (run?.id === id && run.counts && run.totals && run.counted) found.push(run as StoredRun);
    else say(`${id} is left out: its run.json cannot be read`);
  }
  return found;
}
