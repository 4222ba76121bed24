import swagger from '@fastify/swagger';
import type { FastifyContextConfig, FastifyInstance, FastifySchema } from 'fastify';
import { createJsonSchemaTransform } from 'fastify-type-provider-zod';
import { version } from '../core/version.ts';
import type { ServedFlow } from '../run/flow-folder.ts';
import { addRoutes } from './app.ts';
import { openVariables } from './flow-json.ts';
import type { Audience } from './routes/key-door.ts';
import type { Server } from './server.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    headers?: readonly (keyof typeof requestHeaders)[];
  }
}

const text = (description: string) => ({ type: 'string', description });

const requestHeaders = {
  'Idempotency-Key': text('1 to 255 visible characters; a repeat within 24 hours gets the first answer and sends nothing'),
  Prefer: text('wait=N: waits up to N seconds (at most 60) for the call to finish'),
  'Content-Encoding': text('gzip for a compressed body'),
  'Last-Event-ID': text('continues after this event'),
} as const;

const header = (description: string) => ({ description, schema: { type: 'string' } });

/** Headers of every response to a request with an API key. */
const answerHeaders = {
  'X-Request-Id': header("the id of the request, which is also in the server's log; an id that you send is used"),
  'RateLimit-Policy': header('"key";q=600;w=60: 600 requests in 60 seconds'),
  RateLimit: header('"key";r=599;t=60: 599 more requests now'),
};

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'instance'],
  properties: {
    type: text('/problems/NAME: a page of this server that says what to do'),
    title: text('the same for all problems of this type'),
    status: { type: 'integer' },
    detail: text('what was expected, and what was found'),
    instance: text('/requests/ and the id of the request'),
    errors: {
      type: 'array',
      description: 'the places at fault: in the body or query (pointer), or in the flow (line, column)',
      items: {
        type: 'object',
        properties: { pointer: text('a JSON pointer'), detail: text('what was expected there'), line: { type: 'integer' } },
      },
    },
  },
};

const components = {
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer' },
    header: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  },
  schemas: { Problem: problemSchema },
  headers: answerHeaders,
  responses: {
    Problem: {
      description: 'A problem (RFC 9457)',
      headers: { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' }, 'Retry-After': header('seconds, with 429 and 503') },
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  },
} as const;

/** Describes `/v1` as OpenAPI 3.1, from the schemas that check requests. Must be called before the routes are added. */
export async function addOpenApi(app: FastifyInstance): Promise<void> {
  const transform = createJsonSchemaTransform({});
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'automate', description: 'Runs flows over records.', version },
      components: components as object,
      security: [{ bearer: [] }, { header: [] }],
    },
    transform: ({ schema, url, ...rest }) => {
      if (!url.startsWith('/v1/') || rest.route.method === 'HEAD') return { schema: { hide: true }, url };
      const described = transform({ schema: schema ?? {}, url, ...rest } as never);
      return { ...described, schema: { ...described.schema, ...requestParts(rest.route.config ?? {}) } as FastifySchema };
    },
    transformObject: (documents) => withAnswers((documents as { readonly openapiObject: ServerDescription }).openapiObject) as never,
  });
}

/** Describes the body and the headers of a request. If the server checks them without a schema, they come from the route's settings. */
function requestParts({ takes, headers }: FastifyContextConfig) {
  return {
    ...(takes && {
      consumes: takes,
      body: { description: 'records: a table with a header, an array of objects, or one object per line' },
    }),
    ...(headers && { headers: { type: 'object', properties: Object.fromEntries(headers.map((name) => [name, requestHeaders[name]])) } }),
  };
}

interface ServerDescription {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, ServedOperation>>>>;
}

interface ServedOperation {
  readonly responses?: Record<string, object>;
  readonly parameters?: readonly object[];
}

function withAnswers(api: ServerDescription): ServerDescription {
  const headers = Object.fromEntries(Object.keys(answerHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
  const problem = { $ref: '#/components/responses/Problem' };
  for (const { responses } of Object.values(api.paths ?? {}).flatMap((path) => Object.values(path))) {
    if (!responses) continue;
    for (const [status, answer] of Object.entries(responses)) responses[status] = { ...answer, headers };
    Object.assign(responses, { '4XX': problem, '5XX': problem });
  }
  return api;
}

export function addOpenApiRoute(app: FastifyInstance, server: Server, { base, callerOf }: Audience): void {
  addRoutes(app, `${base}/openapi.json`, {
    GET: {
      schema: { summary: 'This description (OpenAPI 3.1)' },
      handler: async (request) => {
        const { flows } = await server.flows.list();
        const caller = callerOf(request);
        return withVariables(
          app.swagger() as ServerDescription,
          flows.filter(({ id }) => caller.sees(id)),
        );
      },
    },
  });
}

/** Adds a parameter for each variable that callers may set in these flows. */
function withVariables(api: ServerDescription, flows: readonly ServedFlow[]): ServerDescription {
  const parameters = variableParameters(flows);
  if (parameters.length === 0) return api;
  const paths = Object.entries(api.paths ?? {}).map(([path, { post, ...others }]) => {
    if (!post || !path.startsWith('/v1/flows/{flow}/')) return [path, api.paths?.[path]];
    return [path, { ...others, post: { ...post, parameters: [...(post.parameters ?? []), ...parameters] } }];
  });
  return { ...api, paths: Object.fromEntries(paths) };
}

function variableParameters(flows: readonly ServedFlow[]): object[] {
  const uses = new Map<string, string[]>();
  for (const { id, plan } of flows)
    for (const { name, default: value } of plan ? openVariables(plan) : [])
      uses.set(name, [...(uses.get(name) ?? []), value === null ? `${id} (needed)` : id]);
  return [...uses].map(([name, ids]) => ({
    name: `var.${name}`,
    in: 'query',
    required: false,
    description: `the variable "${name}" of ${ids.join(', ')}`,
    schema: { type: 'string' },
  }));
}
