import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { rounded, sumOfCredits } from '../../core/spending.ts';
import { type Month, monthOf, openBook } from '../../credits/book.ts';
import { bookPath } from '../../credits/prices.ts';
import { restOf } from '../../credits/rest.ts';
import { addRoutes } from '../app.ts';
import type { LetInKey } from '../caller.ts';
import type { Server } from '../server.ts';
import { callerOfKey } from './key-door.ts';

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

export function addUsageRoute(app: FastifyInstance, server: Server, home: string): void {
  addRoutes(app, '/v1/usage', {
    GET: {
      schema: { summary: 'The usage of this key in this month', response: { 200: usageShape } },
      handler: async (request) => {
        const key = callerOfKey(request).key as LetInKey;
        const month = monthOf(Date.now());
        const { requests, records, credits } = server.usageOf(key.id, month.name);
        const figures = { requests, records, ...creditsOf({ key, month, home }, credits) };
        return { month: month.name, ...figures, resets_at: new Date(month.endMs).toISOString() };
      },
    },
  });
}

interface AskedUsage {
  readonly key: LetInKey;
  readonly month: Month;
  readonly home: string;
}

/** The larger of ledger and server counts: the ledger records calls late, and a crash can lose counts. */
function creditsOf({ key, month: { name: month }, home }: AskedUsage, counted: number) {
  const book = openBook(bookPath(home));
  try {
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
  } finally {
    book.close();
  }
}
