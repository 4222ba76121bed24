import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { AutomateError } from '../../core/failure.ts';
import type { SpilledRows } from '../../core/item.ts';
import { syncFolder } from '../files/folder.ts';
import { fileError, namingErrors } from '../files/naming-errors.ts';
import { isLink } from '../files/stat.ts';
import type { Written } from '../output/sink.ts';
import { createKeptReader, type ParkedLine, type ParkedRecords, type ParkedRows, parkedLines } from './parked-records.ts';

/** What makes a run the same run: everything its output depends on, as texts that can be compared and told. */
export type Identity = Readonly<Record<string, string>>;

/** How far a run is on disk. Everything before it is whole; everything behind it is as if it never was. */
export interface Checkpoint {
  /** Records of the input that are done: all up to this number, */
  readonly records: number;
  /** ... and these ranges behind it, when records are written as they come. */
  readonly beyond: readonly (readonly [number, number])[];
  /** Where the input goes on: bytes and lines before it. */
  readonly offset: number;
  readonly line: number;
  readonly out: Written;
  /** Absent while nothing has failed. */
  readonly errors?: Written;
  readonly written: number;
  readonly failed: number;
  readonly rows: number;
  readonly credits: number;
}

/** A journal as it was found. */
export interface FoundJournal {
  /** The run's UUID, from which idempotency keys are made. */
  readonly run: string;
  readonly identity: Identity;
  /** The last one that is whole; absent when the run got no further than its beginning. */
  readonly checkpoint: Checkpoint | undefined;
  /** Records that had come to their end behind one that had not. */
  readonly kept: ParkedRecords<SpilledRows & ParkedRows>;
  /** So many bytes of the file are whole. */
  readonly validBytes: number;
}

/** The file that knows how far a run is. It is there while the run is not complete. */
export interface Journal {
  /** Adds a checkpoint and waits until the disk has it. Throws an AutomateError (`output`). */
  add(checkpoint: Checkpoint): Promise<void>;
  /** Adds records that wait for their turn, to those that it has. Throws an AutomateError (`output`). */
  keep(records: ParkedRecords): Promise<void>;
  close(): Promise<void>;
  /** The run is complete. */
  remove(): Promise<void>;
}

/** The journal's place: beside the output. */
export function journalPath(out: string): string {
  return `${out}.automate-run`;
}

/** Begins a journal, whole from the first moment on. Its first line says which run it is of. */
export async function createJournal(path: string, run: string, identity: Identity): Promise<Journal> {
  return namingErrors(path, 'written', async () => {
    const draft = `${path}.new`;
    await rm(draft, { force: true });
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.chmod(0o600);
      await append(handle, JSON.stringify({ run, identity }));
      await rename(draft, path);
      await syncFolder(path);
      return journalOf(path, handle);
    } catch (error) {
      await handle.close();
      await rm(draft, { force: true });
      throw error;
    }
  });
}

/** Goes on with a journal, without what a crash left half written at its end. */
export async function continueJournal(path: string, found: FoundJournal): Promise<Journal> {
  return namingErrors(path, 'written', async () => {
    const handle = await open(path, 'r+');
    await handle.truncate(found.validBytes);
    await handle.close();
    return journalOf(path, await open(path, 'a'));
  });
}

/** Reads a journal; absent when there is none. Throws an AutomateError when not even its first line is whole. */
export async function readJournal(path: string): Promise<FoundJournal | undefined> {
  refuseLink(path);
  let first: Pick<FoundJournal, 'run' | 'identity'> | undefined;
  let checkpoint: Checkpoint | undefined;
  const kept = createKeptReader(path, textIn);
  let validBytes = 0;
  try {
    for await (const bytes of linesOf(path)) {
      const line = contentOf(bytes.toString());
      if (line === undefined) break;
      if (!first) first = line as Pick<FoundJournal, 'run' | 'identity'>;
      else if (isKept(line)) kept.add(line, { at: validBytes, bytes: bytes.length });
      else checkpoint = line as Checkpoint;
      validBytes += bytes.length + 1;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileError(path, 'written', error);
  }
  if (!first)
    throw new AutomateError('output-exists', `${path} is damaged from its beginning: nothing can be resumed\nstart over with --force`);
  return { ...first, checkpoint, kept: kept.records, validBytes };
}

/** The lines that have an end. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]);
      begun = [];
      start = end + 1;
    }
    begun.push(chunk.subarray(start));
  }
}

function isKept(line: unknown): line is ParkedLine {
  return ['text', 'kept'].some((name) => Object.hasOwn(line as object, name));
}

/** A line was whole when the journal was read. */
function textIn(written: string): string {
  const line = contentOf(written) as { text: [number, number, string] } | undefined;
  if (line === undefined) throw new AutomateError('output', 'the journal was changed while it was in use');
  return line.text[2];
}

/** A link would let somebody else choose which file is cut and added to. */
function refuseLink(path: string): void {
  if (!isLink(path)) return;
  throw new AutomateError(
    'output-exists',
    `${path} is a symbolic link, which is refused for a journal\ntake it away, or name another file with --out`,
  );
}

function journalOf(path: string, handle: FileHandle): Journal {
  return {
    add: (checkpoint) => namingErrors(path, 'written', () => append(handle, JSON.stringify(checkpoint))),
    keep: (records) => namingErrors(path, 'written', () => appendKept(handle, records)),
    close: () => namingErrors(path, 'written', () => handle.close()),
    remove: () =>
      namingErrors(path, 'written', async () => {
        await handle.close();
        await rm(path);
        await syncFolder(path);
      }),
  };
}

/** A line is `CRC JSON`: one that a crash cut off, or a disk spoilt, is seen to be none. */
async function append(handle: FileHandle, text: string): Promise<void> {
  await handle.appendFile(lineOf(text));
  await handle.datasync();
}

async function appendKept(handle: FileHandle, records: ParkedRecords): Promise<void> {
  for await (const line of parkedLines(records)) await handle.appendFile(lineOf(JSON.stringify(line)));
  await handle.datasync();
}

function lineOf(text: string): string {
  return `${checksum(text)} ${text}\n`;
}

function contentOf(line: string): unknown {
  const text = line.slice(9);
  return line.slice(0, 9) === `${checksum(text)} ` ? JSON.parse(text) : undefined;
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
