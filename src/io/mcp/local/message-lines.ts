import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { orUndefined } from '../../../core/value/value.ts';

/** Maximum length of a message, in characters: more than any record can use. */
const maxLength = 10_000_000;

/** The error for a message above the maximum length. */
export const lineTooLong = `it sent a message of more than ${maxLength / 1e6} MB`;

/** Splits a server's stdout into messages. A message is a line of JSON; all other lines are skipped. */
export class MessageLines {
  readonly #decoder = new StringDecoder('utf8');
  /** Pieces of the line that has not ended yet. */
  #pieces: string[] = [];
  #length = 0;
  #skipped = '';

  /** The messages that this chunk completes. */
  read(chunk: Buffer): JSONRPCMessage[] {
    const [first = '', ...rest] = this.#decoder.write(chunk).split('\n');
    this.#pieces.push(first);
    this.#length += first.length;
    if (rest.length === 0) return [];
    const lines = [this.#pieces.join(''), ...rest];
    const unfinished = lines.pop() as string;
    this.#pieces = [unfinished];
    this.#length = unfinished.length;
    return lines.flatMap((line) => this.#parse(line) ?? []);
  }

  /** True once an unfinished message is too long. */
  get isTooLong(): boolean {
    return this.#length > maxLength;
  }

  /** The last line that is not a message; empty if every line was a message. */
  get skipped(): string {
    return this.#skipped;
  }

  #parse(line: string): JSONRPCMessage | undefined {
    if (line.trim() === '') return undefined;
    const found = orUndefined(() => JSON.parse(line) as unknown);
    if (typeof found === 'object' && found !== null && 'jsonrpc' in found) return found as JSONRPCMessage;
    this.#skipped = line;
    return undefined;
  }
}
