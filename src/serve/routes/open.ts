import type { FastifyInstance } from 'fastify';
import { addRoutes } from '../app.ts';
import { Problem } from '../problem.ts';

/** Adds the routes that need no key and no session: the health of the server. */
export function addOpenRoutes(app: FastifyInstance, isStopping: () => boolean): void {
  const hidden = { hide: true } as object;
  addRoutes(app, '/healthz', { GET: { schema: hidden, handler: async () => ({ status: 'ok' }) } });
  addRoutes(app, '/readyz', {
    GET: {
      schema: hidden,
      handler: async () => {
        if (isStopping()) throw new Problem('stopping', 'the server is stopping', {}, { 'retry-after': '10' });
        return { status: 'ok' };
      },
    },
  });
}
