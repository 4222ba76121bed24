import type { Event } from '../core/event.ts';
import type { Redactor } from '../credentials/masking/redact.ts';
import { besideOutput } from '../files/naming-errors.ts';
import { createStreamSink, openFileSink } from '../output/sink.ts';

/** The file to which all events of a run are written. */
export interface EventsFile {
  add(event: Event): void;
  /** Writes the remaining events and closes the file. Throws an AutomateError if an event could not be written. */
  close(): Promise<void>;
}

const flushEveryMs = 500;
const flushAt = 64 * 1024;

/**
 * Opens the events file, in which each line is a JSON object. Returns undefined if there is no `path`. A resumed run appends to the file.
 */
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
