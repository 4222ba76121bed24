import { durationText } from '../core/duration.ts';
import type { Event } from '../core/event.ts';
import type { Redactor } from '../credentials/masking/redact.ts';

/** If there is no event for this many ms, a progress message is sent anyway, because clients abort calls that send no messages. */
const beatMs = 5000;

/** Minimum time in ms between two progress messages that count answers, because one call can receive thousands of answers. */
const shortestMs = 250;

/** Sends progress messages about a call to the client that waits for it. */
export class CallProgress {
  readonly #tell: (message: string) => void;
  readonly #startedMs = performance.now();
  readonly #beat: NodeJS.Timeout;
  #toldMs = Number.NEGATIVE_INFINITY;
  #answers = 0;

  constructor(tell: (message: string) => void) {
    this.#tell = tell;
    this.#beat = setInterval(() => {
      const now = performance.now();
      if (now - this.#toldMs >= beatMs) this.#say(`waiting for ${durationText(Math.round((now - this.#startedMs) / 1000) * 1000)}`);
    }, beatMs);
  }

  /** Receives an event of the call. */
  readonly report = (event: Event, redactor: Redactor): void => {
    if (event.type === 'call-done' || event.type === 'cache-hit') this.#answered(event.node);
    else if (event.type === 'call-retried')
      this.#say(redactor.text(`${event.node}: ${event.message}; retries after ${durationText(event.waitMs)}`));
    else if (event.type === 'gate-paused') this.#say(`waits ${durationText(event.waitMs)}, because the server asked it to`);
    else if (event.type === 'tool-progress' && event.message !== undefined) this.#say(redactor.text(`${event.node}: ${event.message}`));
  };

  end(): void {
    clearInterval(this.#beat);
  }

  #answered(node: string): void {
    this.#answers++;
    if (performance.now() - this.#toldMs >= shortestMs)
      this.#say(`${node}: ${this.#answers === 1 ? '1 answer' : `${this.#answers} answers`}`);
  }

  #say(message: string): void {
    this.#toldMs = performance.now();
    this.#tell(message);
  }
}
