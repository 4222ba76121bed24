import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { rounded, sumOfCredits } from '../../core/spending.ts';
import { formatCount } from '../../core/text/number.ts';
import { type Book, monthOf, type Spent } from '../../credits/book.ts';
import { heldCredits } from '../../credits/holds.ts';
import { sums } from '../../credits/rest.ts';
import { addRoutes } from '../app.ts';
import { Caller } from '../caller.ts';
import type { Server } from '../server.ts';
import { keyNames, withBook } from './key-routes.ts';
import type { PageOptions } from './page-options.ts';
import type { Billing } from './page-shapes.ts';

const allowanceBody = z.strictObject({ credits: z.int().min(0).nullable() });

export function addBillingRoutes(app: FastifyInstance, server: Server, { home, limits }: PageOptions): void {
  addRoutes(app, '/ui/billing', {
    GET: { handler: async () => withBook(home, (book) => billingOf(book, server, limits)) },
  });
  addRoutes(app, '/ui/billing/allowance', {
    PUT: {
      schema: { body: allowanceBody },
      handler: async (request, reply) => {
        const { credits } = request.body as z.output<typeof allowanceBody>;
        withBook(home, (book) => book.setLimit(credits ?? undefined));
        server.audit(new Caller(undefined), request, 'allowance.set', credits === null ? 'unlimited' : String(credits));
        return reply.code(204).send();
      },
    },
  });
}

function billingOf(book: Book, server: Server, limits: Billing['limits']): Billing {
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

/** The last twelve months; 0 for a month without credits. */
function monthsOf(book: Book): Billing['months'] {
  const spent = new Map(sums(book.spent(), 'month').map(({ month, credits }) => [month, credits]));
  const now = new Date();
  return Array.from({ length: 12 }, (_, index) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 11 + index, 1)).toISOString().slice(0, 7);
    return { month, credits: spent.get(month) ?? 0 };
  });
}

function sharesOf(spent: readonly Spent[], by: 'flow' | 'node' | 'connection' | 'env' | 'key'): Billing['by_flow'] {
  return sums(spent, by).map((sum) => ({ name: sum[by], credits: sum.credits }));
}

/**
 * Returns the credits that API keys have spent on each day of this month. They come from the server's usage counts, because the ledger only
 * counts months.
 */
function daysOf({ keys: { usageStore, usage } }: Server, month: string): Billing['days'] {
  const counts = [...usageStore.read({ month }), ...usage.pending()];
  const today = new Date().getUTCDate();
  return Array.from({ length: today }, (_, index) => {
    const day = `${month}-${String(index + 1).padStart(2, '0')}`;
    return { day, credits: rounded(counts.reduce((sum, count) => (count.day === day ? sum + count.credits : sum), 0)) };
  });
}
