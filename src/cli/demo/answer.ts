import type { IncomingMessage } from 'node:http';

/** A response of the demo API. */
export interface DemoAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An endpoint of the demo API. */
export interface DemoRoute {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /**
   * Creates the response. `name` is the part of the URL's path that the capture group in `path` has matched. It is empty if `path` has no
   * group.
   */
  answer(name: string, request: IncomingMessage): DemoAnswer | Promise<DemoAnswer>;
}

/** Creates a response with an error status and message. */
export function refuse(status: number, message: string, headers: Readonly<Record<string, string>> = {}): DemoAnswer {
  return { status, headers, body: JSON.stringify({ error: message }) };
}

/** Creates a response with a JSON body. */
export function answerWith(body: object, status = 200): DemoAnswer {
  return { status, body: JSON.stringify(body) };
}
