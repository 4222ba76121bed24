import swagger from '@fastify/swagger';
import type { FastifyContextConfig, FastifyInstance, FastifySchema } from 'fastify';
import { createJsonSchemaTransform } from 'fastify-type-provider-zod';
import { version } from '../core/version.ts';
import type { ServedFlow } from '../run/flow-folder.ts';
import { addRoute } from './app.ts';
import { openVariables } from './flow-json.ts';
import { type ProblemName, ProblemResponse, problemNames, statusOf, titleOf } from './problem.ts';
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
  addRoute(app, 'GET', `${base}/openapi.json`, {
    schema: { summary: 'This description (OpenAPI 3.1)' },
    handler: async (request) => {
      const { flows } = await server.flows.list();
      const caller = callerOf(request);
      return withVariables(
        app.swagger() as ServerDescription,
        flows.filter(({ id }) => caller.sees(id)),
      );
    },
  });
}

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

const advice: Readonly<Record<ProblemName, string>> = {
  'bad-request': 'Correct what "detail" and "errors" describe. "pointer" is the place in the body or the query.',
  'key-in-query': 'URLs end up in logs. Send the key as "Authorization: Bearer KEY", and rotate this one: automate keys rotate NAME.',
  'key-missing': 'Send a key as "Authorization: Bearer KEY" or "X-API-Key: KEY". The operator makes one with automate keys create NAME.',
  'key-invalid': 'The key is unknown here, mistyped or revoked. Ask the operator for another.',
  'key-expired': 'The key was made for a limited time. Ask the operator for another.',
  'credits-used-up':
    'The credits of this month are used up. "of" is the key or the allowance that has none left, and "resets_at" is when new ones are available.',
  'scope-missing': 'The key does not have the scope in "scope". Ask the operator for a key that has it.',
  'cross-site': 'A page of a different site sent this request. Use the page of this server.',
  'session-missing': 'Open a new link to the page: automate serve login.',
  'not-found': 'Nothing with this name exists, or the key is not allowed to see it.',
  'method-not-allowed': 'The header Allow lists the methods of this address.',
  'flow-invalid': 'The flow is not valid: "errors" lists its problems. The operator sees them with automate validate.',
  'run-state': 'The current state of the run, which is in "state", does not allow this.',
  'call-in-progress': 'Wait for the answer of the first request, and repeat this one with the same Idempotency-Key.',
  'changed-meanwhile': 'The file was changed since it was read. Read it again, and repeat the change.',
  'too-large': 'Send less than "limit" bytes: split the records into several runs.',
  'media-type': 'Send one of the types in "expected", and give it in Content-Type.',
  'host-not-served': 'The operator can allow more hosts with --allow-host.',
  'record-failed':
    '"error" says which node failed and why. Send the record again only if the error might be temporary: the call costs credits again.',
  'input-unreadable': 'Correct the body at "line", and send it again.',
  'idempotency-key-reused': 'Use a new Idempotency-Key for a different body.',
  'rate-limited': 'Wait for the number of seconds in Retry-After.',
  internal: 'Please report it with the request id in "instance". The log of the server has the reason.',
  'queue-full': 'The server is busy. Send it again after the number of seconds in Retry-After.',
  'queue-away': 'The server cannot reach the Redis of its workers. Runs wait until it can: the operator has to start it.',
  stopping: 'The server is stopping or restarting. Send it again after the number of seconds in Retry-After.',
  'credential-missing': 'The flow needs the credential in "credential". The operator stores it with automate credentials set NAME.',
  'call-timeout': 'The flow took longer than the request waits: "Prefer: wait=60" waits longer, and a run has no time limit.',
  'disk-full': 'The operator has to free space, or to raise --max-disk.',
};

/** Adds the documentation pages to which the `type` URLs of problem responses lead. Anybody can read them. */
export function addProblemPages(app: FastifyInstance): void {
  addRoute(app, 'GET', '/problems/:name', {
    schema: { hide: true } as object,
    handler: async (request, reply) => {
      const { name } = request.params as { readonly name: string };
      const found = problemNames.find((one) => one === name);
      if (!found) throw new ProblemResponse('not-found', `there is no problem "${name}"`);
      return reply
        .type('text/html; charset=utf-8')
        .serializer((body: unknown) => body as string)
        .send(pageOf(found));
    },
  });
}

function pageOf(name: ProblemName): string {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(titleOf(name))} · automate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/page.css">
<main class="alone">
<p>automate</p>
<div class="panel">
<h1>${escaped(titleOf(name))}</h1>
<p class="dim"><code>${name}</code> · status ${statusOf(name)}</p>
<p>${escaped(advice[name])}</p>
</div>
</main>
</html>
`;
}
