import type { Event } from '../../core/event.ts';
import { besideOutput } from '../../io/files/naming-errors.ts';
import { createStreamSink, openFileSink } from '../../io/output/sink.ts';
import type { Redactor } from '../../io/secrets/redact.ts';

/** The file of all events. */
export interface EventsFile {
  add(event: Event): void;
  /** Throws an AutomateError if an event could not be written. */
  close(): Promise<void>;
}

const flushEveryMs = 500;
const flushAt = 64 * 1024;

/** Opens the events file, with one JSON object per line; absent without `path`. A resumed run appends to the file. */
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
      // After a line that was written in part, no other could be read.
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
