import type { IncomingMessage } from 'node:http';

/** An answer of the demo API. */
export interface DemoAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An endpoint of the demo API. */
export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** `name` is what the path's group matched; empty if it has none. */
  answer(name: string, request: IncomingMessage): DemoAnswer | Promise<DemoAnswer>;
}

/** An answer with an error message. */
export function refuse(status: number, message: string, headers: Readonly<Record<string, string>> = {}): DemoAnswer {
  return { status, headers, body: JSON.stringify({ error: message }) };
}

/** An answer with a body. */
export function answerWith(body: object, status = 200): DemoAnswer {
  return { status, body: JSON.stringify(body) };
}
