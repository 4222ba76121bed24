import { Failure } from '../core/failure.ts';
import type { Session } from './session.ts';

/** Maximum number of times that a local server is restarted after it has been lost. */
const maxRestarts = 1;

/** Manages the session of one connection. The session is opened on first use, shared by all calls, and reopened if it is lost. */
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

  /**
   * Returns the session, and opens it first if necessary. If it cannot be opened, throws a Failure. Each caller gets its own copy of the
   * Failure.
   */
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

  /**
   * Throws the error of a session that could not be opened. The next caller then tries to open the session again, but not after a restart
   * of the server. A server that fails after a restart would otherwise be started again for every record.
   */
  #refuse(opening: Promise<Session>, error: unknown): never {
    if (this.#opening === opening && this.#restarts === 0) this.#opening = undefined;
    throw error instanceof Failure ? error.withMessage(error.message) : error;
  }

  #drop(session: Session, lost: Failure): void {
    if (this.#isLocal) this.#restarts += 1;
    if (this.#restarts > maxRestarts) {
      const reason = `the server of "${this.#connection}" was restarted once, and is not restarted again`;
      throw new Failure('network', `${lost.message}\n${reason}`, { sent: false });
    }
    this.#opening = undefined;
    void session.close();
  }
}
