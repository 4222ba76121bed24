import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { addRoutes } from '../app.ts';
import { wholeNumber } from '../routes/audience.ts';
import type { Server } from '../server.ts';
import { keyNames } from './key-routes.ts';
import type { AuditEntry } from './page-shapes.ts';

const perPage = 100;

const auditQuery = z.strictObject({ cursor: wholeNumber.optional() });

/** Adds the route that returns the audit log, with the newest entry first. Entries contain the names of API keys instead of the ids. */
export function addAuditRoute(app: FastifyInstance, server: Server): void {
  addRoutes(app, '/ui/audit', {
    GET: {
      schema: { querystring: auditQuery },
      handler: async (request) => {
        const { cursor } = request.query as z.output<typeof auditQuery>;
        const { audit, store } = server.keys;
        const lines = audit.read({ limit: perPage, ...(cursor !== undefined && { before: cursor }) });
        const names = keyNames(store.list());
        const entries: AuditEntry[] = lines.map(({ atMs, who, what, target, address, outcome }) => ({
          ...{ time: new Date(atMs).toISOString(), who: names.get(who) ?? who, what },
          ...{ on: names.get(target) ?? target, address, outcome },
        }));
        return { entries, next_cursor: lines.length < perPage ? null : String(lines.at(-1)?.id) };
      },
    },
  });
}
