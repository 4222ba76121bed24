import { setMaxListeners } from 'node:events';
import type { ToolServerEvent } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import { isRemote, type LocalServer, localOrigin, type McpConnection, serverCredentials, type Tools } from '../core/tools.ts';
import type { CommandSecrets } from '../credentials/command-secrets.ts';
import { isAllowedHost, refuseOtherHost, type Secret } from '../credentials/secret.ts';
import type { LoginPerson } from '../http/auth/browser.ts';
import { AccessTokens, type TokenTools } from '../http/auth/oauth.ts';
import { RequestSigners } from '../http/auth/signer-types.ts';
import type { ExtraAuthorities } from '../http/authorities.ts';
import { createFetch, createGuardedFetch } from '../http/fetch.ts';
import { Routes } from '../http/routes.ts';
import type { Elicit, SessionContext } from './connect.ts';
import { createLogin, type LoginSession } from './login.ts';
import { type McpSession, openSession } from './session.ts';
import { signedFetch } from './signed-fetch.ts';

export interface ToolsOptions extends TokenTools {
  readonly version: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly cacert: ExtraAuthorities | undefined;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly commands?: CommandSecrets;
  wallNow(): number;
  /** Stores the result of an OAuth login as the secret of its credential, which may then be sent only to `host`. */
  storeLogin(credential: string, text: string, host: string): Promise<void>;
  /** The user who can log in; undefined in a run, which has no user. */
  readonly person?: LoginPerson;
  readonly elicit?: Elicit;
  report(event: ToolServerEvent): void;
}

/** Creates the object that calls the tools of MCP servers. It has one session per connection, which is opened on first use. */
export function createTools(options: ToolsOptions): Tools & { close(): Promise<void> } {
  const slots = new Map<string, SessionSlot>();
  const aborting = new AbortController();
  // The limit on listeners is removed, because every call adds a listener to this signal.
  setMaxListeners(0, aborting.signal);
  const routes = new Routes(options);
  const userAgent = `automate/${options.version}`;
  const fetches = { fetch: createFetch(routes, userAgent), fetchNamed: createGuardedFetch(routes, userAgent) };
  const tokens = new AccessTokens(options);
  const signers = new RequestSigners(options);
  const context: SessionContext = {
    version: options.version,
    signal: aborting.signal,
    report: options.report,
    elicit: options.elicit,
    login: async (connection) => loginFor(connection, await withGiven(connection, options)),
    fetch: async (connection, server) => {
      // The credential's command runs here, before the server's start timeout begins, because it may take longer than that timeout.
      await withGiven(connection, options);
      return signedFetch(fetches, server, { ...options, tokens, signers });
    },
    variables: async (connection, server) => variablesFor(server, await withGiven(connection, options)),
  };
  const abort = () => aborting.abort(new Error('the run has ended'));
  return {
    call: async (call, progressed) => (await sessionOf(call.connection)).call(call, progressed),
    server: async (connection) => (await sessionOf(connection)).server,
    abort,
    async close() {
      await Promise.all([...slots.values()].map((slot) => slot.close()));
      abort();
      routes.destroy();
    },
  };

  function sessionOf(connection: McpConnection): Promise<McpSession> {
    const { name, server } = connection;
    const slot = slots.get(name) ?? new SessionSlot(name, !isRemote(server), () => openSession(connection, context));
    slots.set(name, slot);
    return slot.session();
  }
}

/** Runs the commands of the connection's credentials. Returns the options with the secrets that the commands have printed. */
async function withGiven(connection: McpConnection, options: ToolsOptions): Promise<ToolsOptions> {
  const { commands, secrets } = options;
  if (!commands) return options;
  return { ...options, secrets: new Map([...secrets, ...(await commands.find(serverCredentials(connection).map(({ name }) => name)))]) };
}

/** Undefined if no login is needed. Throws a Failure if the stored login may not be sent to the server's host. */
function loginFor({ name, server }: McpConnection, { secrets, secret, storeLogin, person }: ToolsOptions): LoginSession | undefined {
  if (!isRemote(server) || server.auth?.type !== 'oauth2_authorization_code') return undefined;
  const { auth } = server;
  const stored = secrets.get(auth.credential);
  const { origin, host } = new URL(server.url);
  refuseOtherHost(auth.credential, stored, origin);
  return createLogin({
    connection: name,
    auth,
    clientSecret: auth.clientCredential === undefined ? undefined : secrets.get(auth.clientCredential)?.text,
    stored: stored?.text,
    store: (text) => storeLogin(auth.credential, text, host),
    secret,
    person,
  });
}

/** Throws a Failure if a credential is missing or is restricted to certain hosts. */
function variablesFor({ passEnv, credentials }: LocalServer, { environment, secrets }: ToolsOptions): Record<string, string> {
  const passed = passEnv.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]] as const]));
  const secret = Object.entries(credentials).map(([variable, credential]) => {
    const found = secrets.get(credential);
    if (!found) throw new Failure('request', `there is no credential "${credential}"`, { sent: false });
    if (!isAllowedHost(localOrigin, found.hosts)) {
      const refusal = `the credential "${credential}" can be sent only to ${found.hosts?.join(', ')}`;
      throw new Failure('request', `${refusal}: a server that is started on this machine does not get a secret that is bound to hosts`, {
        sent: false,
      });
    }
    return [variable, found.text] as const;
  });
  return Object.fromEntries([...passed, ...secret]);
}

/** Maximum number of times that a local server is restarted after it has been lost. */
const maxRestarts = 1;

/** Manages the session of one connection. The session is opened on first use, shared by all calls, and reopened if it is lost. @internal */
export class SessionSlot {
  readonly #open: () => Promise<McpSession>;
  readonly #connection: string;
  readonly #isLocal: boolean;
  #opening: Promise<McpSession> | undefined;
  #restarts = 0;

  constructor(connection: string, isLocal: boolean, open: () => Promise<McpSession>) {
    this.#connection = connection;
    this.#isLocal = isLocal;
    this.#open = open;
  }

  /** Opens the session if necessary. If that fails, each caller gets its own copy of the Failure. */
  async session(): Promise<McpSession> {
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

  /** The next caller tries again, except after a restart: a failing server would otherwise be started for every record. */
  #refuse(opening: Promise<McpSession>, error: unknown): never {
    if (this.#opening === opening && this.#restarts === 0) this.#opening = undefined;
    throw error instanceof Failure ? error.withMessage(error.message) : error;
  }

  #drop(session: McpSession, lost: Failure): void {
    if (this.#isLocal) this.#restarts += 1;
    if (this.#restarts > maxRestarts) {
      const reason = `the server of "${this.#connection}" was restarted once, and is not restarted again`;
      throw new Failure('network', `${lost.message}\n${reason}`, { sent: false });
    }
    this.#opening = undefined;
    void session.close();
  }
}
