import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { nodeText, summaryOf } from '../../connections/tool-server.ts';
import { excerpt } from '../../core/answer/response.ts';
import { version } from '../../core/version.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { cachedServer } from '../../mcp/tool-cache.ts';
import { nodeTypes } from '../../run/node-types.ts';
import { addRoutes } from '../app.ts';
import { wholeNumber } from '../routes/key-door.ts';
import type { Server } from '../server.ts';
import { addBillingRoutes } from './billing-routes.ts';
import { addConnectionRoutes } from './connection-routes.ts';
import { addFlowTextRoutes } from './flow-text-routes.ts';
import { addKeyRoutes, keyNames } from './key-routes.ts';
import type { PageOptions } from './page-options.ts';
import type { AuditRow, NodeLibrary, ServerInfo } from './page-shapes.ts';

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

const perPage = 100;

const auditQuery = z.strictObject({ cursor: wholeNumber.optional() });

/** The newest entry comes first. Entries contain the names of API keys instead of the ids. */
function addAuditRoute(app: FastifyInstance, server: Server): void {
  addRoutes(app, '/ui/audit', {
    GET: {
      schema: { querystring: auditQuery },
      handler: async (request) => {
        const { cursor } = request.query as z.output<typeof auditQuery>;
        const { audit, store } = server.keys;
        const lines = audit.read({ limit: perPage, ...(cursor !== undefined && { before: cursor }) });
        const names = keyNames(store.list());
        const entries: AuditRow[] = lines.map(({ atMs, who, what, target, address, outcome }) => ({
          ...{ time: new Date(atMs).toISOString(), who: names.get(who) ?? who, what },
          ...{ on: names.get(target) ?? target, address, outcome },
        }));
        return { entries, next_cursor: lines.length < perPage ? null : String(lines.at(-1)?.id) };
      },
    },
  });
}

/** Returns the node types, and the tools of each MCP connection as of the last time they were fetched. */
function libraryOf(): NodeLibrary {
  return { node_types: nodeTypes.map(({ name, summary, example }) => ({ name, summary, yaml: example })), connections: connectionsOf() };
}

function connectionsOf(): NodeLibrary['connections'] {
  const saved = Object.entries(readConnections(process.env)).filter(([, { type }]) => type === 'mcp');
  return saved.map(([name, written]) => {
    const cached = cachedServer(process.env, name, written);
    if (!cached) return { name, problem: 'its tools are not fetched yet: test the connection', tools: [] };
    const tools = cached.server.tools.map((tool) => ({
      name: excerpt(tool.name, 80),
      summary: summaryOf(tool),
      yaml: nodeText(name, tool),
    }));
    return { name, problem: null, tools };
  });
}
