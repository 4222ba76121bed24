import { Failure } from '../../core/failure.ts';
import type { Session } from './session.ts';

/** Times that a local server is started again after it was lost. */
const maxRestarts = 1;

/** The session of one connection: opened at its first use, shared by all calls, and opened again after it was lost. */
export class SessionSlot {
  readonly #open: () => Promise<Session>;
  readonly #connection: string;
  readonly #isLocal: boolean;
  #opening: Promise<Session> | undefined;
  #restarts = 0;

  constructor(connection: string, isLocal: boolean, open: () => Promise<Session>) {
    this.#connection = connection;
    this.#isLocal = isLocal;
    this.#open = open;
  }

  /** The open session. Throws a Failure, a separate one for each caller. */
  async session(): Promise<Session> {
    this.#opening ??= this.#open();
    const opening = this.#opening;
    const session = await opening.catch((error: unknown) => this.#refuse(opening, error));
    const { lost } = session;
    if (!lost) return session;
    if (this.#opening === opening) this.#drop(session, lost);
    return this.session();
  }

  async close(): Promise<void> {
    await this.#opening?.then(
      (session) => session.close(),
      () => undefined,
    );
  }

  /** The next caller opens the session again, except after a failed restart: otherwise every record would start a server. */
  #refuse(opening: Promise<Session>, error: unknown): never {
    if (this.#opening === opening && this.#restarts === 0) this.#opening = undefined;
    throw error instanceof Failure ? error.withMessage(error.message) : error;
  }

  #drop(session: Session, lost: Failure): void {
    if (this.#isLocal) this.#restarts += 1;
    if (this.#restarts > maxRestarts) {
      const reason = `the server of "${this.#connection}" was started again once, and not a second time`;
      throw new Failure('network', `${lost.message}\n${reason}`, { sent: false });
    }
    this.#opening = undefined;
    void session.close();
  }
}
