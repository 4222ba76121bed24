import { setMaxListeners } from 'node:events';
import type { ToolServerEvent } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import { isRemote, type LocalServer, localOrigin, type McpConnection, type Tools } from '../../core/tools/tools.ts';
import { Tokens } from '../auth/oauth.ts';
import { hostRefusal, isAllowedHost, type Secret } from '../credentials/secret.ts';
import { createFetch, createGuardedFetch, type Fetch } from '../http/fetch.ts';
import { Routes } from '../http/routes.ts';
import { createLogin, type LoginPerson, type LoginSession } from './login.ts';
import { openSession, type Session } from './session.ts';
import type { Elicit, SessionTools } from './session-tools.ts';
import { signedFetch } from './signed-fetch.ts';

/** What the port of tools is made of. */
export interface McpTools {
  readonly version: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly cacert: string | undefined;
  /** Sends requests for access tokens. */
  readonly fetch: Fetch;
  readonly secrets: ReadonlyMap<string, Secret>;
  now(): number;
  wallNow(): number;
  /** A request that this credential signed has succeeded. */
  used(credential: string): void;
  /** A new secret that must never be written, such as an access token; it follows another one in its slot. */
  secret(text: string, slot?: string): void;
  /** What came of a login is kept as the secret of its credential, for that host. */
  storeLogin(credential: string, text: string, host: string): Promise<void>;
  /** Whoever can log in; absent where nobody is, as in a run. */
  readonly person?: LoginPerson | undefined;
  readonly elicit?: Elicit | undefined;
  report(event: ToolServerEvent): void;
}

/** So often a server that was started here and is lost is started again. */
const mostRestarts = 1;

/** The client of a connection, and what became of those before it. */
interface Slot {
  session: Promise<Session> | undefined;
  restarts: number;
}

/** Makes the port of tools: one client for each connection, opened when it is first needed. */
export function createTools(options: McpTools): Tools & { close(): Promise<void> } {
  const slots = new Map<string, Slot>();
  const aborting = new AbortController();
  // Every call listens to it.
  setMaxListeners(0, aborting.signal);
  const routes = new Routes(options);
  const userAgent = `automate/${options.version}`;
  const fetches = { fetch: createFetch(routes, userAgent), fetchNamed: createGuardedFetch(routes, userAgent) };
  const tokens = new Tokens({
    now: options.now,
    secret: options.secret,
    fetch: options.fetch,
    used: (auth) => options.used(auth.credential),
  });
  const sessionTools: SessionTools = {
    version: options.version,
    signal: aborting.signal,
    report: options.report,
    elicit: options.elicit,
    login: (connection) => loginOf(connection, options),
    fetch: (server) => signedFetch(fetches, server, { ...options, tokens }),
    variables: (server) => variablesOf(server, options),
  };
  return {
    async call(call, progressed) {
      const session = await sessionOf(call.connection);
      return session.call(call, progressed);
    },
    async server(connection) {
      return (await sessionOf(connection)).server;
    },
    abort: () => aborting.abort(new Error('the run has ended')),
    async close() {
      const open = [...slots.values()].flatMap(({ session }) => session ?? []);
      await Promise.all(
        open.map((session) =>
          session.then(
            ({ close }) => close(),
            () => undefined,
          ),
        ),
      );
      aborting.abort(new Error('the run has ended'));
      routes.destroy();
    },
  };

  /** Whoever comes while it is being opened waits for the same one. */
  async function sessionOf(connection: McpConnection): Promise<Session> {
    const slot = slots.get(connection.name) ?? { session: undefined, restarts: 0 };
    slots.set(connection.name, slot);
    const opening = slot.session ?? openIn(slot, connection);
    const session = await opening.catch((error: unknown) => {
      // One that could not even be started again is not tried for every record.
      if (slot.session === opening && slot.restarts === 0) slot.session = undefined;
      // Each record's failure is its own.
      throw error instanceof Failure ? error.retold(error.message) : error;
    });
    const lost = session.lost();
    if (!lost) return session;
    if (slot.session === opening) {
      if (!isRemote(connection.server) && ++slot.restarts > mostRestarts) throw lostAgain(connection, lost);
      slot.session = undefined;
      void session.close();
    }
    return sessionOf(connection);
  }

  function openIn(slot: Slot, connection: McpConnection): Promise<Session> {
    slot.session = openSession(connection, sessionTools);
    return slot.session;
  }
}

function lostAgain({ name }: McpConnection, { message }: Failure): Failure {
  return new Failure('network', `${message}\nthe server of "${name}" was started again once, and not a second time`, { sent: false });
}

/** Absent for a connection that needs none. */
function loginOf({ name, server }: McpConnection, { secrets, secret, storeLogin, person }: McpTools): LoginSession | undefined {
  if (!isRemote(server) || server.auth?.type !== 'oauth2_authorization_code') return undefined;
  const { auth } = server;
  const kept = secrets.get(auth.credential);
  const { origin, host } = new URL(server.url);
  if (kept && !isAllowedHost(origin, kept.hosts)) throw new Failure('request', hostRefusal(auth.credential, kept, origin), { sent: false });
  return createLogin({
    connection: name,
    auth,
    clientSecret: auth.clientCredential === undefined ? undefined : secrets.get(auth.clientCredential)?.text,
    kept: kept?.text,
    keep: (text) => storeLogin(auth.credential, text, host),
    secret,
    person,
  });
}

/** What a server that is started here sees: what is named, and nothing else of ours. */
function variablesOf({ passEnv, credentials }: LocalServer, { environment, secrets }: McpTools): Record<string, string> {
  const passed = passEnv.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]] as const]));
  const secret = Object.entries(credentials).map(([variable, credential]) => {
    const found = secrets.get(credential);
    if (!found) throw new Failure('request', `there is no credential "${credential}"`, { sent: false });
    if (!isAllowedHost(localOrigin, found.hosts)) {
      const refusal = `the credential "${credential}" may be sent to ${found.hosts?.join(', ')} only`;
      throw new Failure('request', `${refusal}: a server started here gets no secret that is bound to hosts`, { sent: false });
    }
    return [variable, found.text] as const;
  });
  return Object.fromEntries([...passed, ...secret]);
}
