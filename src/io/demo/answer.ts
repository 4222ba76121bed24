import type { IncomingMessage } from 'node:http';

/** What the demo API answers. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What is at a path of the demo API. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** `name` is what the path's group matched; empty when it has none. */
  answer(name: string, request: IncomingMessage): Answer | Promise<Answer>;
}

/** An answer that all is well. */
export function ok(body: object): Answer {
  return { status: 200, body: JSON.stringify(body) };
}

/** An answer that says what is wrong. */
export function error(status: number, message: string): Answer {
  return { status, body: JSON.stringify({ error: message }) };
}
