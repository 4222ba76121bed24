import { StringDecoder } from 'node:string_decoder';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { orUndefined } from '../../core/value/value.ts';

/** Maximum length of a server's message in characters. A longer message would not be useful in a record. */
const maxLength = 10_000_000;

/** The error message for a server that has sent a message over the maximum length. */
export const lineTooLong = `it sent a message of more than ${maxLength / 1e6} MB`;

/** Splits the stdout of an MCP server into messages. A message is a line of JSON; all other lines are skipped. */
export class MessageLines {
  readonly #decoder = new StringDecoder('utf8');
  /** The chunks of the last line, whose end has not arrived yet. */
  #pieces: string[] = [];
  #length = 0;
  #skipped = '';

  /** Adds a chunk of the server's output. Returns the messages that are now complete. */
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

  /** True if the message that is still arriving exceeds the maximum length. */
  get isTooLong(): boolean {
    return this.#length > maxLength;
  }

  /** The last line of output that was not a message; empty if every line was a message. */
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
