import type { Server, ServerResponse } from 'node:http';

/** The answers of a web server that have begun and not ended, answers to uploads included. */
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

  /** Resolves once no answer is under way. */
  async settled(): Promise<void> {
    if (this.#answers.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#settled = resolve;
    });
  }
}
