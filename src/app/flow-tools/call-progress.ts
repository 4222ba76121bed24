import { durationText } from '../../core/duration.ts';
import type { Event } from '../../core/event.ts';
import type { Redactor } from '../../io/secrets/redact.ts';

/** A call that nothing happens in says so this often: clients give up a call that they hear nothing of. */
const beatMs = 5000;

/** Time between two messages about answers: a call may have thousands. */
const shortestMs = 250;

/** Tells the client of a call what happens in it. */
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

  /** Takes an event of the call. */
  readonly report = (event: Event, redactor: Redactor): void => {
    if (event.type === 'call-done' || event.type === 'cache-hit') this.#answered(event.node);
    else if (event.type === 'call-retried')
      this.#say(redactor.text(`${event.node}: ${event.message}; asks again after ${durationText(event.waitMs)}`));
    else if (event.type === 'gate-paused') this.#say(`waits ${durationText(event.waitMs)}, as the server wants`);
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
