import type { FastifyInstance } from 'fastify';
import { version } from '../../core/version.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { addRoutes } from '../app.ts';
import type { Server } from '../server.ts';
import { addAuditRoute } from './audit-route.ts';
import { addBillingRoutes } from './billing-routes.ts';
import { addConnectionRoutes } from './connection-routes.ts';
import { addFlowTextRoutes } from './flow-text-routes.ts';
import { addKeyRoutes } from './key-routes.ts';
import { libraryOf } from './library.ts';
import type { PageOptions } from './page-options.ts';
import type { ServerInfo } from './page-shapes.ts';

/** Adds the routes that only the web page uses. All of them need a session. */
export function addPageRoutes(app: FastifyInstance, server: Server, options: PageOptions): void {
  addRoutes(app, '/ui/server', {
    GET: {
      handler: async (request) => {
        const { flows } = await server.flows.list();
        return {
          version,
          folder: options.folder,
          address: `${request.protocol}://${request.headers.host}`,
          edit: options.edit,
          flows: flows.length,
          running: server.runs.all().filter(({ isOpen, stored }) => isOpen && stored.state !== 'queued').length,
          connections: Object.keys(readConnections(process.env)).length,
        } satisfies ServerInfo;
      },
    },
  });
  addRoutes(app, '/ui/openapi.json', { GET: { handler: async () => app.swagger() } });
  addRoutes(app, '/ui/library', { GET: { handler: async () => libraryOf() } });
  addKeyRoutes(app, server, options.home);
  addBillingRoutes(app, server, options);
  addAuditRoute(app, server);
  addConnectionRoutes(app, server);
  addFlowTextRoutes(app, server, options);
}
