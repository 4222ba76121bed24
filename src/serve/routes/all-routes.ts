import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Hosts } from '../listening.ts';
import { addMcpRoute, refuseForeignOrigin } from '../mcp/mcp-route.ts';
import type { ServedTools } from '../mcp/served-tools.ts';
import { addOpenApi, addOpenApiRoute } from '../openapi.ts';
import { addPageFiles } from '../page/page-files.ts';
import type { PageOptions } from '../page/page-options.ts';
import { addPageRoutes } from '../page/page-routes.ts';
import { addProblemPages } from '../problem-pages.ts';
import type { Server } from '../server.ts';
import { addKeyDoor, callerOfKey } from './key-door.ts';
import { addOpenRoutes } from './open.ts';
import { addUiRoutes, type UiOptions } from './ui.ts';
import { addUsageRoute } from './usage.ts';
import { addFlowRoutes } from './v1.ts';

/** The settings of all routes. */
export interface RoutesOptions {
  readonly home: string;
  readonly sessions: UiOptions;
  /** Absent for a server without the page. */
  readonly page: PageOptions | undefined;
  isStopping(): boolean;
  /** Absent for a server without MCP. */
  readonly mcp: { readonly tools: ServedTools; readonly hosts: Hosts } | undefined;
}

/** Adds every route of the server: routes without a guard, routes that need a key, and routes that need a session. */
export async function addAllRoutes(app: FastifyInstance, server: Server, options: RoutesOptions): Promise<void> {
  const { home, sessions, page, isStopping, mcp } = options;
  await addOpenApi(app);
  addProblemPages(app);
  addOpenRoutes(app, isStopping);
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
