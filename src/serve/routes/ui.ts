import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { addGuarded, addRoutes } from '../app.ts';
import { Caller } from '../caller.ts';
import { FailedAttempts } from '../keys/authenticator.ts';
import { ProblemResponse } from '../problem.ts';
import type { Server } from '../server.ts';
import type { Sessions } from '../sessions.ts';
import type { Links } from '../store/links.ts';
import { addFlowRoutes } from './v1.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for the one route that needs no session, because it is the login. */
    opensSession?: boolean;
  }
}

export interface UiOptions {
  readonly sessions: Sessions;
  readonly links: Links;
  readonly isTls: boolean;
  /** The name of the session cookie contains the port. */
  port(): number;
}

const page = new Caller(undefined);

/** The routes for the web page: those of `/v1` for all flows, those that `add` adds, and the login, which opens a session. */
export function addUiRoutes(app: FastifyInstance, server: Server, options: UiOptions, add: (guarded: FastifyInstance) => void): void {
  const letIn = (request: FastifyRequest) => {
    if (!request.routeOptions.config.opensSession) requireSession(request, options);
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseOtherSites(request, options.isTls);
  };
  addGuarded(app, '/ui', letIn, (guarded) => {
    addSessionRoutes(guarded, server, options);
    addFlowRoutes(guarded, server, { base: '/ui', callerOf: () => page });
    add(guarded);
  });
}

function addSessionRoutes(app: FastifyInstance, server: Server, options: UiOptions): void {
  const { sessions, links, isTls } = options;
  // Limits the audit entries for refused logins to one per minute and IP address.
  const refused = new FailedAttempts({ now: () => performance.now() });
  addRoutes(app, '/ui/session', {
    POST: {
      config: { opensSession: true },
      schema: { hide: true, body: z.strictObject({ token: z.string() }) } as object,
      handler: async (request, reply) => {
        if (!links.spend((request.body as { token: string }).token)) {
          if (refused.add(request.ip).isFirst) server.audit(page, request, 'session.open', '', 'session-missing');
          throw new ProblemResponse('session-missing', 'the link was used, or has expired: automate serve login prints a new one');
        }
        server.audit(page, request, 'session.open', '');
        const proofs = sessions.open();
        const secure = isTls || request.protocol === 'https' ? '; Secure' : '';
        const cookie = `${cookieName(options)}=${proofs.cookie}; HttpOnly; SameSite=Strict; Path=/${secure}`;
        return reply.header('set-cookie', cookie).send({ page_token: proofs.pageToken });
      },
    },
    DELETE: {
      handler: async (request, reply) => {
        sessions.close(cookieOf(request, options) ?? '');
        server.audit(page, request, 'session.close', '');
        return reply.code(204).send();
      },
    },
  });
}

function requireSession(request: FastifyRequest, options: UiOptions): void {
  const cookie = cookieOf(request, options);
  const pageToken = request.headers['x-automate-page'];
  if (cookie !== undefined && typeof pageToken === 'string' && options.sessions.use({ cookie, pageToken })) return;
  throw new ProblemResponse('session-missing', 'expected a session: automate serve login prints a link that opens one');
}

/** A web page of another site could make the user's browser change something on the server (CSRF). */
function refuseOtherSites({ headers, protocol }: FastifyRequest, isTls: boolean): void {
  const { origin, host } = headers;
  const scheme = isTls ? 'https' : protocol;
  const isOwn = origin === undefined ? headers['sec-fetch-site'] === 'same-origin' : origin === `${scheme}://${host}`;
  if (!isOwn) throw new ProblemResponse('cross-site', 'expected a request from the page of this server');
}

function cookieName({ port }: UiOptions): string {
  return `automate_session_${port()}`;
}

function cookieOf({ headers: { cookie = '' } }: FastifyRequest, options: UiOptions): string | undefined {
  const prefix = `${cookieName(options)}=`;
  return cookie
    .split(/;\s*/)
    .find((pair) => pair.startsWith(prefix))
    ?.slice(prefix.length);
}
