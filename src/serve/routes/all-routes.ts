import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addRoutes } from '../app.ts';
import type { Hosts } from '../listening.ts';
import { addOpenApi, addOpenApiRoute, addProblemPages } from '../openapi.ts';
import { addPageFiles, type PageOptions } from '../page/page-options.ts';
import { addPageRoutes } from '../page/page-routes.ts';
import { ProblemResponse } from '../problem.ts';
import { addMcpRoute, refuseForeignOrigin, type ServedTools } from '../served-tools.ts';
import type { Server } from '../server.ts';
import { addKeyDoor, callerOfKey } from './key-door.ts';
import { addUiRoutes, type UiOptions } from './ui.ts';
import { addUsageRoute } from './usage.ts';
import { addFlowRoutes } from './v1.ts';

interface RoutesOptions extends HealthOptions {
  readonly home: string;
  readonly sessions: UiOptions;
  /** Undefined for a server without a web page. */
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

interface HealthOptions {
  isStopping(): boolean;
  /** True while the server's queue in Redis cannot be reached. */
  isQueueAway(): boolean;
}

/** Adds the routes that need neither a key nor a session. They report the health of the server. */
function addOpenRoutes(app: FastifyInstance, { isStopping, isQueueAway }: HealthOptions): void {
  const hidden = { hide: true } as object;
  addRoutes(app, '/healthz', { GET: { schema: hidden, handler: async () => ({ status: 'ok' }) } });
  addRoutes(app, '/readyz', {
    GET: {
      schema: hidden,
      handler: async () => {
        if (isStopping()) throw new ProblemResponse('stopping', 'the server is stopping', {}, { 'retry-after': '10' });
        if (isQueueAway())
          throw new ProblemResponse('queue-away', 'the queue of the workers cannot be reached', {}, { 'retry-after': '10' });
        return { status: 'ok' };
      },
    },
  });
}
