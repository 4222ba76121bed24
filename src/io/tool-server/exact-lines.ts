import { Transform, type TransformCallback } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { parseJson } from '../../core/value/json.ts';
import { orUndefined, type Value } from '../../core/value/value.ts';
import { plainOf } from './plain-values.ts';

/** A message of a client, as far as its answers are concerned. */
interface ClientMessage {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** Longest wait for the answers to a client that sends no more. */
const lastAnswersMs = 10_000;

/**
 * The lines of a client's messages, on their way from stdin to the SDK. Numbers that a double would change become texts. The end of the
 * stream waits until the requests before it are answered, for at most 10 s.
 */
export class ExactLines extends Transform {
  readonly #decoder = new StringDecoder('utf8');
  readonly #asked = new Set<string>();
  #rest = '';
  #answeredAll = () => {};

  /** Takes the id of an answer that was sent. */
  answered(id: unknown): void {
    this.#asked.delete(String(id));
    if (this.#asked.size === 0) this.#answeredAll();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() as string;
    done(null, lines.map((line) => `${this.#exact(line)}\n`).join(''));
  }

  override _flush(done: TransformCallback): void {
    if (this.#rest !== '') this.push(`${this.#exact(this.#rest)}\n`);
    if (this.#asked.size === 0) {
      done();
      return;
    }
    const timer = setTimeout(() => this.#answeredAll(), lastAnswersMs);
    this.#answeredAll = () => {
      clearTimeout(timer);
      this.#answeredAll = () => {};
      done();
    };
  }

  #exact(line: string): string {
    const message = orUndefined(() => plainOf(parseJson(line) as Value));
    if (typeof message !== 'object' || message === null) return line;
    this.#note(message as ClientMessage);
    return JSON.stringify(message);
  }

  #note({ id, method, params }: ClientMessage): void {
    if (method === 'notifications/cancelled') this.answered(params?.requestId);
    else if (id !== undefined && method !== undefined) this.#asked.add(String(id));
  }
}
