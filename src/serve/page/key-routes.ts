import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { AutomateError } from '../../core/failure.ts';
import { rounded, sumOfCredits } from '../../core/spending.ts';
import { monthOf } from '../../credits/book.ts';
import { withBook } from '../../credits/holds.ts';
import { messageForClient } from '../advice.ts';
import { addRoute, addRoutes } from '../app.ts';
import { keyChanges, keySettings, overlapOf } from '../keys/key-settings.ts';
import { ProblemResponse } from '../problem.ts';
import type { Server } from '../server.ts';
import { type ApiKey, apiKeyJson, isoTime } from '../store/api-key.ts';
import type { MadeKey } from '../store/keys.ts';
import { actorOf } from './page-options.ts';

const newKey = z.strictObject({
  name: z.string(),
  scopes: z.array(z.string()).optional(),
  flows: z.array(z.string()).optional(),
  rate: z.string().optional(),
  expires: z.string().optional(),
  credits: z.int().min(0).optional(),
});

/** A value of null removes the limit. */
const changedKey = z.strictObject({
  flows: z.array(z.string()).nullable().optional(),
  rate: z.string().optional(),
  expires: z.string().nullable().optional(),
  credits: z.int().min(0).nullable().optional(),
});

const params = z.object({ id: z.string() });

/** Number of days for which the web page shows the requests of an API key. */
const shownDays = 14;

export function addKeyRoutes(app: FastifyInstance, server: Server, home: string): void {
  const { store } = server.keys;
  addRoutes(app, '/ui/keys', {
    GET: { handler: async () => ({ keys: shownKeys(server, home) }) },
    POST: {
      schema: { body: newKey },
      handler: async (request, reply) => {
        const { name, ...options } = request.body as z.output<typeof newKey>;
        return reply.code(201).send(madeJson(refusing(() => store.create(keySettings(name, options), actorOf(request)))));
      },
    },
  });
  addRoute(app, 'PATCH', '/ui/keys/:id', {
    schema: { params, body: changedKey },
    handler: async (request) => {
      const changes = request.body as z.output<typeof changedKey>;
      return apiKeyJson(refusing(() => store.change(idOf(request), keyChanges(changes), actorOf(request))));
    },
  });
  addRoute(app, 'POST', '/ui/keys/:id/rotate', {
    schema: { params, body: z.strictObject({ overlap: z.string().optional() }) },
    handler: async (request) => {
      const { overlap } = request.body as { readonly overlap?: string };
      return madeJson(refusing(() => store.rotate(idOf(request), overlapOf(overlap), actorOf(request))));
    },
  });
  addRoute(app, 'POST', '/ui/keys/:id/revoke', {
    schema: { params, body: z.strictObject({ stop_runs: z.boolean().default(false) }) },
    handler: async (request, reply) => {
      const { stop_runs: stopRuns } = request.body as { readonly stop_runs: boolean };
      refusing(() => store.revoke(idOf(request), { stopRuns, by: actorOf(request) }));
      return reply.code(204).send();
    },
  });
}

function idOf({ params: found }: { readonly params: unknown }): string {
  return (found as z.output<typeof params>).id;
}

/** No other response contains the secret value. */
export function madeJson({ key, value }: MadeKey) {
  return { ...apiKeyJson(key, value), key: value };
}

/** Runs `act`. Turns the error for an invalid setting into a Problem (`bad-request`). */
function refusing<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (error instanceof AutomateError && error.kind === 'usage') throw new ProblemResponse('bad-request', messageForClient(error));
    throw error;
  }
}

export function shownKeys(server: Server, home: string) {
  const { store, usageStore, usage } = server.keys;
  const counts = [...usageStore.read(), ...usage.pending()];
  const lastUses = usageStore.lastUses();
  const { name: month } = monthOf(Date.now());
  const spent = withBook({ home, wallNow: Date.now }, (book) => book.spent(month));
  return store.list().map((key) => {
    const own = counts.filter((count) => count.key === key.id);
    const inLedger = sumOfCredits(spent.filter((account) => account.key === key.id));
    const pendingUse = usage.pending().findLast((count) => count.key === key.id)?.lastUsedAtMs;
    return {
      ...apiKeyJson(key),
      revoked_at: isoTime(key.revokedAtMs),
      last_used_at: isoTime(pendingUse ?? lastUses.get(key.id)),
      // The larger number is used, because the ledger counts a call a little later than the server does.
      credits: { used: rounded(Math.max(inLedger, server.usageOf(key.id, month).credits)), quota: key.quota ?? null },
      days: daysOf(own),
    };
  });
}

type DayCount = { readonly day: string; readonly requests: number; readonly refused: number };

/** The last days until today; 0 for a day without requests. */
function daysOf(counts: readonly DayCount[]): DayCount[] {
  const dayMs = 86_400_000;
  return Array.from({ length: shownDays }, (_, index) => {
    const day = new Date(Date.now() - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10);
    return dayOf(
      day,
      counts.filter((count) => count.day === day),
    );
  });
}

function dayOf(day: string, counts: readonly DayCount[]): DayCount {
  const sum = (what: 'requests' | 'refused') => counts.reduce((total, count) => total + count[what], 0);
  return { day, requests: sum('requests'), refused: sum('refused') };
}

export function keyNames(keys: readonly ApiKey[]): ReadonlyMap<string, string> {
  return new Map(keys.map(({ id, name }) => [id, name]));
}
