import type { Server, ServerResponse } from 'node:http';

/** Keeps track of the responses of an HTTP server that are not complete yet, including responses to uploads. */
export class AnswersUnderWay {
  readonly #answers = new Set<ServerResponse>();
  #settled = () => {};

  constructor(server: Server) {
    server.on('request', (_, response) => {
      this.#answers.add(response);
      response.once('close', () => {
        this.#answers.delete(response);
        if (this.#answers.size === 0) this.#settled();
      });
    });
  }

  /** Resolves when all responses are complete. */
  async settled(): Promise<void> {
    if (this.#answers.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
  }
}
