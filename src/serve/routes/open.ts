import type { FastifyInstance } from 'fastify';
import { addRoutes } from '../app.ts';
import { Problem } from '../problem.ts';

/** Functions that report the state of the server to health checks. */
export interface HealthOptions {
  isStopping(): boolean;
  /** True while the server's queue in Redis cannot be reached. */
  isQueueAway(): boolean;
}

/** Adds the routes that need neither a key nor a session. They report the health of the server. */
export function addOpenRoutes(app: FastifyInstance, { isStopping, isQueueAway }: HealthOptions): void {
  const hidden = { hide: true } as object;
  addRoutes(app, '/healthz', { GET: { schema: hidden, handler: async () => ({ status: 'ok' }) } });
  addRoutes(app, '/readyz', {
    GET: {
      schema: hidden,
      handler: async () => {
        if (isStopping()) throw new Problem('stopping', 'the server is stopping', {}, { 'retry-after': '10' });
        if (isQueueAway()) throw new Problem('queue-away', 'the queue of the workers cannot be reached', {}, { 'retry-after': '10' });
        return { status: 'ok' };
      },
    },
  });
}
