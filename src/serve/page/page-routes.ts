import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { nodeText, summaryOf } from '../../connections/tool-server.ts';
import { excerpt } from '../../core/answer/response.ts';
import { rounded, sumOfCredits } from '../../core/spending.ts';
import { formatCount } from '../../core/text/number.ts';
import { version } from '../../core/version.ts';
import { readConnections } from '../../credentials/connections-file.ts';
import { type Book, monthOf, type Spent } from '../../credits/book.ts';
import { heldCredits, withBook } from '../../credits/holds.ts';
import { sums } from '../../credits/rest.ts';
import { cachedServer } from '../../mcp/tool-cache.ts';
import { loadNodeTypes } from '../../run/node-types.ts';
import { addRoute } from '../app.ts';
import { Caller } from '../caller.ts';
import { wholeNumber } from '../routes/key-door.ts';
import type { Server } from '../server.ts';
import { addConnectionRoutes } from './connection-routes.ts';
import { addFlowTextRoutes } from './flow-text-routes.ts';
import { addKeyRoutes, keyNames } from './key-routes.ts';
import type { PageOptions } from './page-options.ts';

export interface ServerInfo {
  readonly version: string;
  readonly folder: string;
  readonly address: string;
  readonly edit: boolean;
  readonly flows: number;
  readonly running: number;
  readonly connections: number;
}

/** Adds the routes that only the web page uses. All of them need a session. */
export function addPageRoutes(app: FastifyInstance, server: Server, options: PageOptions): void {
  addRoute(app, 'GET', '/ui/server', {
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
  });
  addRoute(app, 'GET', '/ui/openapi.json', { handler: async () => app.swagger() });
  addRoute(app, 'GET', '/ui/library', { handler: async () => libraryOf() });
  addKeyRoutes(app, server, options.home);
  addBillingRoutes(app, server, options);
  addAuditRoute(app, server);
  addConnectionRoutes(app, server);
  addFlowTextRoutes(app, server, options);
}

const perPage = 100;

const auditQuery = z.strictObject({ cursor: wholeNumber.optional() });

export interface AuditRow {
  readonly time: string;
  readonly who: string;
  readonly what: string;
  readonly on: string;
  readonly address: string;
  readonly outcome: string;
}

/** The newest entry comes first. Entries contain the names of API keys instead of the ids. */
function addAuditRoute(app: FastifyInstance, server: Server): void {
  addRoute(app, 'GET', '/ui/audit', {
    schema: { querystring: auditQuery },
    handler: async (request) => {
      const { cursor } = request.query as z.output<typeof auditQuery>;
      const { audit, store } = server.keys;
      const lines = audit.read({ limit: perPage, before: cursor });
      const names = keyNames(store.list());
      const entries: AuditRow[] = lines.map(({ atMs, who, what, target, address, outcome }) => ({
        ...{ time: new Date(atMs).toISOString(), who: names.get(who) ?? who, what },
        ...{ on: names.get(target) ?? target, address, outcome },
      }));
      return { entries, next_cursor: lines.length < perPage ? null : String(lines.at(-1)?.id) };
    },
  });
}

/** Returns the node types, and the tools of each MCP connection as of the last time they were fetched. */
export async function libraryOf() {
  return {
    node_types: (await loadNodeTypes()).map(({ name, summary, example }) => ({ name, summary, yaml: example })),
    connections: connectionsOf(),
  };
}

function connectionsOf() {
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

const allowanceBody = z.strictObject({ credits: z.int().min(0).nullable() });

function addBillingRoutes(app: FastifyInstance, server: Server, { home, limits }: PageOptions): void {
  addRoute(app, 'GET', '/ui/billing', {
    handler: async () => withBook({ home, wallNow: Date.now }, (book) => billingOf(book, server, limits)),
  });
  addRoute(app, 'PUT', '/ui/billing/allowance', {
    schema: { body: allowanceBody },
    handler: async (request, reply) => {
      const { credits } = request.body as z.output<typeof allowanceBody>;
      withBook({ home, wallNow: Date.now }, (book) => book.setLimit(credits ?? undefined));
      server.audit(new Caller(undefined), request, 'allowance.set', credits === null ? 'unlimited' : String(credits));
      return reply.code(204).send();
    },
  });
}

/** The credits spent in a month, and the limits. Null stands for no limit. */
export function billingOf(book: Book, server: Server, limits: PageOptions['limits']) {
  const { name: month, endMs } = monthOf(Date.now());
  const [spent, allowance, held] = [book.spent(month), book.limit(), rounded(heldCredits(book, month))];
  const used = sumOfCredits(spent);
  const keys = server.keys.store.list();
  const names = keyNames(keys);
  return {
    ...{ month, used, held, allowance: allowance ?? null, resets_at: new Date(endMs).toISOString() },
    remaining: allowance === undefined ? null : Math.max(0, rounded(allowance - used - held)),
    by_flow: sharesOf(spent, 'flow'),
    by_node: sharesOf(spent, 'node'),
    by_connection: sharesOf(spent, 'connection'),
    by_environment: sharesOf(spent, 'env'),
    by_key: sharesOf(spent, 'key').map(({ name, credits }) => ({ name: names.get(name) ?? name, credits })),
    days: daysOf(server, month),
    months: monthsOf(book),
    limits: [
      ...limits,
      ...keys.flatMap(({ name, quota, revokedAtMs }) =>
        revokedAtMs === undefined
          ? [{ name: `credits of the key ${name}`, value: quota === undefined ? null : `${formatCount(quota)} a month` }]
          : [],
      ),
    ],
  };
}

function monthsOf(book: Book) {
  const spent = new Map(sums(book.spent(), 'month').map(({ month, credits }) => [month, credits]));
  const now = new Date();
  return Array.from({ length: 12 }, (_, index) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 11 + index, 1)).toISOString().slice(0, 7);
    return { month, credits: spent.get(month) ?? 0 };
  });
}

function sharesOf(spent: readonly Spent[], by: 'flow' | 'node' | 'connection' | 'env' | 'key') {
  return sums(spent, by).map((sum) => ({ name: sum[by], credits: sum.credits }));
}

/** The credits that API keys have spent on each day of this month, by the server's usage counts, because the ledger only counts months. */
function daysOf({ keys: { usageStore, usage } }: Server, month: string) {
  const counts = [...usageStore.read({ month }), ...usage.pending()];
  const today = new Date().getUTCDate();
  return Array.from({ length: today }, (_, index) => {
    const day = `${month}-${String(index + 1).padStart(2, '0')}`;
    return { day, credits: rounded(counts.reduce((sum, count) => (count.day === day ? sum + count.credits : sum), 0)) };
  });
}
