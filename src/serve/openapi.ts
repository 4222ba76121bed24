import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { createJsonSchemaTransform } from 'fastify-type-provider-zod';
import { version } from '../cli/version.ts';
import { addRoutes } from './app.ts';

/** Describes the routes of `/v1` as OpenAPI 3.1, from the schemas that check their requests. To be added before them. */
export async function addOpenApi(app: FastifyInstance): Promise<void> {
  const transform = createJsonSchemaTransform({});
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'automate', description: 'Runs flows over records.', version },
      components: {
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer' }, header: { type: 'apiKey', in: 'header', name: 'X-API-Key' } },
      },
      security: [{ bearer: [] }, { header: [] }],
    },
    transform: ({ schema, url, ...rest }) => {
      if (!url.startsWith('/v1/') || rest.route.method === 'HEAD') return { schema: { hide: true }, url };
      return transform({ schema: schema ?? {}, url, ...rest } as never);
    },
  });
}

/** Adds the description itself. */
export function addOpenApiRoute(app: FastifyInstance): void {
  addRoutes(app, '/v1/openapi.json', {
    GET: { schema: { summary: 'This description (OpenAPI 3.1)' }, handler: async () => app.swagger() },
  });
}
