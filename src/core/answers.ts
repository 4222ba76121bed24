import type { ActionRequest, ActionResponse } from './action.ts';
import type { Auth } from './auth/auth.ts';
import { neededCredentials } from './auth/auth.ts';
import type { Value } from './value/value.ts';

/** A request whose answer is kept for later runs, and the record that sends it. */
export interface KeptQuestion {
  /** Equal for equal requests. */
  readonly key: string;
  readonly record: number;
  /** The record's row, and the pass of each loop around it. For requests inside a poll, it is the place of the poll. */
  readonly place: string;
  readonly node: string;
  /** The number of times that an answer is used: `once`; `last` is once, and a poll keeps only its last answer; `always` for a node with a cache. */
  readonly use: 'once' | 'last' | 'always';
}

/** The circumstances of an answer, which are kept with it. */
export interface AnswerFacts {
  /** When it arrived, as ms since 1970, UTC. */
  readonly at: number;
  /** Duration of the whole call in ms, with its waits and retries. */
  readonly ms: number;
  readonly attempts: number;
}

export interface KeptAnswer extends AnswerFacts {
  readonly response: ActionResponse;
  /** What the call knows about its answer besides the response, such as the tokens of a conversation. */
  readonly extra?: Value;
}

export interface FoundAnswer extends KeptAnswer {
  readonly number: number;
}

/** `secret`: a secret would have to be masked in it. `full`: the file has reached its maximum size, or cannot be written. */
export type Keeping = 'kept' | 'secret' | 'full';

/** The answers that earlier runs have kept for an output, and those that this run keeps for later runs. Nothing that this run keeps is found by it. */
export interface Answers {
  /** True if the run sends nothing: a request without a kept answer fails. */
  readonly isReplay: boolean;
  /** Uses an answer up. */
  find(question: KeptQuestion): FoundAnswer | undefined;
  /** The response must be a successful one. */
  keep(question: KeptQuestion, answer: KeptAnswer): Keeping;
  /** Resolves when everything that was kept so far is in the file; undefined if it is. */
  written(): Promise<void> | undefined;
  /** Drops an answer that the flow no longer accepts. */
  forget(answer: FoundAnswer): void;
  /** Keeps the last answers to the requests inside a poll, which has ended. */
  endPoll(record: number, place: string): void;
  /** Identifies the contents of files that a request sends. Throws a Failure (`request`) if one cannot be read. */
  contentOf(files: readonly string[]): Promise<string>;
}

/** What a request is compared by, without everything that authentication adds when it is sent, and without a generated idempotency key. */
export function requestKey(request: ActionRequest, type: string, connection = ''): string {
  const asker = `${type}\n${connection}\n`;
  if ('kind' in request) {
    if (request.kind === 'lookup') throw new Error('a lookup is answered from local data');
    const { tool, auth } = request;
    return `${asker}${tool}\n${auth ? namesIn(auth) : ''}\n${JSON.stringify(request.arguments)}`;
  }
  const { method, origin, path, headers, body, form, auth, secretBody } = request;
  let key = `${asker}${method} ${origin}${path}`;
  const names = Object.keys(headers);
  if (names.length > 1) names.sort();
  for (const name of names) key += `\n${name.toLowerCase()}: ${headers[name]}`;
  for (const one of auth ?? []) key += `\nauth ${namesIn(one)}`;
  if (secretBody) key += `\nsecrets ${secretBody.credentials.join(' ')}`;
  if (form) key += `\nform ${JSON.stringify(form)}`;
  return body === undefined ? key : `${key}\n\n${body}`;
}

const namesByAuth = new WeakMap<Auth, string>();

/** The names of its credentials. All requests of a node share the object. */
function namesIn(auth: Auth): string {
  let names = namesByAuth.get(auth);
  if (names === undefined) {
    names = neededCredentials(auth, undefined)
      .map(({ name }) => name)
      .join(' ');
    namesByAuth.set(auth, names);
  }
  return names;
}

/** The request for messages, such as `GET https://api.example.com/users/7`. */
export function requestText(request: ActionRequest): string {
  if ('origin' in request && 'method' in request) return `${request.method} ${request.origin}${request.path}`;
  return 'kind' in request && request.kind === 'tool' ? `the tool "${request.tool}" of ${request.connection.name}` : 'a lookup';
}
