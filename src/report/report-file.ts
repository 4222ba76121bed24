import { access, constants, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Event } from '../core/event.ts';
import { AutomateError } from '../core/failure.ts';
import { version } from '../core/version.ts';
import type { Redactor } from '../credentials/redact.ts';
import { besideOutput, namingErrors } from '../files/naming-errors.ts';
import { realFile, statOf } from '../files/stat.ts';
import { writeDurably } from '../files/state-file.ts';
import { createStreamSink, openFileSink } from '../output/sink.ts';
import { maskedView } from './page-view.ts';
import type { RunView } from './run-view.ts';

/** Masks secrets. The file is replaced atomically, so that a reader never sees half a report. */
export async function writeReport(path: string, view: RunView, redactor: Redactor): Promise<void> {
  // Loaded only now, because most commands write no report.
  const { reportHtml } = await import('../ui/report.tsx');
  const masked = maskedView(view, redactor);
  await writeDurably(realFile(path), reportHtml(masked, version), 'usual');
}

/** Checks before a run, without writing anything. Throws an AutomateError (`output`) if the report cannot be written. */
export async function beginReport(path: string): Promise<void> {
  const found = statOf(path);
  if (found?.isDirectory()) throw new AutomateError('output', `${path} cannot be written: it is a folder`);
  if (found && !found.isFile()) throw new AutomateError('output', `${path} cannot be written: expected a file, found a pipe or a device`);
  // With `/.`, the check also fails if the parent path is not a folder.
  await namingErrors(path, 'written', () => access(`${dirname(realFile(path))}/.`, constants.W_OK));
}

/** Empties the file, so that an earlier summary is not taken for this one. Throws an AutomateError (`output`) if it cannot be written. */
export async function beginSummary(path: string): Promise<void> {
  if (path === '-') return;
  const found = statOf(path);
  if (found?.isDirectory()) throw new AutomateError('output', `${path} cannot be written: it is a folder`);
  // With `/.`, the check also fails if the parent path is not a folder.
  await namingErrors(path, 'written', () => access(found ? path : `${dirname(path)}/.`, constants.W_OK));
  if (found?.isFile()) await namingErrors(path, 'written', () => truncate(path));
}

/** Writes the JSON summary to a file, or to stdout for `-`. Secrets are masked so that the JSON stays valid. */
export async function writeSummary(path: string, text: string, redactor: Redactor): Promise<void> {
  const masked = `${redactor.json(text.trimEnd(), 2)}\n`;
  // Does not use the terminal's print(), because it masks secrets as in plain text, which could make the JSON invalid.
  if (path === '-') return createStreamSink(process.stdout, 'stdout', { gzip: false }).write(masked);
  return namingErrors(path, 'written', () => writeFile(path, masked)).catch((error: unknown) => {
    throw besideOutput(path, error);
  });
}

export interface EventsFile {
  add(event: Event): void;
  /** Writes the remaining events. Throws an AutomateError if an event could not be written. */
  close(): Promise<void>;
}

const flushEveryMs = 500;
const flushAt = 64 * 1024;

/** Opens the events file, in which each line is a JSON object. Undefined without `path`. A resumed run appends to the file. */
export async function openEvents(path: string | undefined, redactor: Redactor, isResumed: boolean): Promise<EventsFile | undefined> {
  if (path === undefined) return undefined;
  const sink =
    path === '-'
      ? createStreamSink(process.stdout, 'stdout', { gzip: false })
      : await openFileSink(path, { gzip: path.endsWith('.gz'), appends: isResumed });
  let writing = Promise.resolve();
  let error: unknown;
  let waiting = '';
  const flush = () => {
    const text = waiting;
    waiting = '';
    writing = writing
      // Writes nothing after a failed write. That write may have left half a line, and the next line would become part of it.
      .then(() => (error === undefined ? sink.write(text) : undefined))
      .catch((reason: unknown) => {
        error = reason;
      });
  };
  const timer = setInterval(flush, flushEveryMs);
  timer.unref();
  return {
    add(event) {
      const ms = 'ms' in event ? { ms: Math.round(event.ms * 1000) / 1000 } : {};
      const text = JSON.stringify({ time: new Date().toISOString(), ...event, ...ms });
      waiting += `${redactor.json(text)}\n`;
      if (waiting.length >= flushAt) flush();
    },
    async close() {
      clearInterval(timer);
      flush();
      await writing;
      if (error !== undefined) throw path === '-' ? error : besideOutput(path, error);
      await sink.close();
    },
  };
}
