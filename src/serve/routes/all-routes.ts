import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { rounded, sumOfCredits } from '../../core/spending.ts';
import { monthOf } from '../../credits/book.ts';
import { withBook } from '../../credits/holds.ts';
import { restOf } from '../../credits/rest.ts';
import { addRoute } from '../app.ts';
import type { LetInKey } from '../caller.ts';
import type { Hosts } from '../listening.ts';
import { addOpenApi, addOpenApiRoute, addProblemPages } from '../openapi.ts';
import { addPageFiles, type PageOptions } from '../page/page-options.ts';
import { addPageRoutes } from '../page/page-routes.ts';
import { ProblemResponse } from '../problem.ts';
import { addMcpRoute, refuseForeignOrigin, type ServedTools } from '../served-tools.ts';
import type { Server } from '../server.ts';
import { addKeyDoor, callerOfKey } from './key-door.ts';
import { addUiRoutes, type UiOptions } from './ui.ts';
import { addFlowRoutes } from './v1.ts';

interface RoutesOptions {
  isStopping(): boolean;
  /** True while the server's queue in Redis cannot be reached. */
  isQueueAway(): boolean;
  readonly home: string;
  readonly sessions: UiOptions;
  readonly page: PageOptions | undefined;
  /** The flows as MCP tools; undefined for a server that provides none. */
  readonly mcp: { readonly tools: ServedTools; readonly hosts: Hosts } | undefined;
}

/** Adds all routes of the server. Some are open to everybody, some need an API key, and some need a session. */
export async function addAllRoutes(app: FastifyInstance, server: Server, options: RoutesOptions): Promise<void> {
  const { home, sessions, page, mcp } = options;
  await addOpenApi(app);
  addProblemPages(app);
  addOpenRoutes(app, options);
  addKeyDoor(app, { prefix: '/v1' }, server.keys, (guarded) => {
    const audience = { base: '/v1', callerOf: callerOfKey };
    addOpenApiRoute(guarded, server, audience);
    addUsageRoute(guarded, server, home);
    addFlowRoutes(guarded, server, audience);
  });
  if (mcp) {
    const door = { prefix: '/mcp', before: (request: FastifyRequest) => refuseForeignOrigin(request, mcp.hosts) } as const;
    addKeyDoor(app, door, server.keys, (guarded) => addMcpRoute(guarded, server, mcp.tools));
  }
  if (!page) return;
  addUiRoutes(app, server, sessions, (guarded) => addPageRoutes(guarded, server, page));
  addPageFiles(app, page.files);
}

/** Adds the routes that need neither a key nor a session. They report the health of the server. */
function addOpenRoutes(app: FastifyInstance, { isStopping, isQueueAway }: Pick<RoutesOptions, 'isStopping' | 'isQueueAway'>): void {
  const hidden = { hide: true } as object;
  addRoute(app, 'GET', '/healthz', { schema: hidden, handler: async () => ({ status: 'ok' }) });
  addRoute(app, 'GET', '/readyz', {
    schema: hidden,
    handler: async () => {
      if (isStopping()) throw new ProblemResponse('stopping', 'the server is stopping', {}, { 'retry-after': '10' });
      if (isQueueAway()) throw new ProblemResponse('queue-away', 'the queue of the workers cannot be reached', {}, { 'retry-after': '10' });
      return { status: 'ok' };
    },
  });
}

const allowance = z.object({
  limit: z.number().nullable(),
  spent: z.number(),
  held: z.number(),
  remaining: z.number().nullable(),
});

const usageShape = z.object({
  month: z.string(),
  requests: z.int(),
  records: z.int(),
  credits: z.number(),
  quota: z.number().nullable(),
  remaining: z.number().nullable(),
  resets_at: z.iso.datetime(),
  allowance: allowance.optional(),
});

function addUsageRoute(app: FastifyInstance, server: Server, home: string): void {
  addRoute(app, 'GET', '/v1/usage', {
    schema: { summary: 'The usage of this key in this month', response: { 200: usageShape } },
    handler: async (request) => {
      const key = callerOfKey(request).key as LetInKey;
      const month = monthOf(Date.now());
      const { requests, records, credits } = server.usageOf(key.id, month.name);
      const figures = { requests, records, ...creditsOf(home, month.name, key, credits) };
      return { month: month.name, ...figures, resets_at: new Date(month.endMs).toISOString() };
    },
  });
}

/** The larger of ledger and server counts: the ledger records calls late, and a crash can lose counts. */
function creditsOf(home: string, month: string, key: LetInKey, counted: number) {
  return withBook({ home, wallNow: Date.now }, (book) => {
    const own = book.spent(month).filter((spent) => spent.key === key.id);
    const all = restOf(book, 'allowance', { month, key });
    const credits = rounded(Math.max(counted, sumOfCredits(own)));
    const remaining = [...(key.quota === undefined ? [] : [Math.max(0, key.quota - credits)]), ...(all ? [all.remaining] : [])];
    const spent = sumOfCredits(book.spent(month));
    const held = book.holds().filter((hold) => hold.month === month);
    return {
      credits,
      quota: key.quota ?? null,
      remaining: remaining.length > 0 ? rounded(Math.max(0, Math.min(...remaining))) : null,
      ...(key.scopes.includes('read') && {
        allowance: {
          limit: all?.limit ?? null,
          spent,
          held: all?.held ?? sumOfCredits(held),
          remaining: all?.remaining ?? null,
        },
      }),
    };
  });
}
