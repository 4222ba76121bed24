import { compileMapping, type Mapping } from '../../core/answer/mapping.ts';
import { readBody } from '../../core/answer/response.ts';
import { neededCredentials } from '../../core/auth/auth.ts';
import type { Sharing } from '../../core/batch.ts';
import { type BuildContext, type CredentialNeed, defineNode, type Node } from '../../core/node.ts';
import type { Auth, HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import type { Value } from '../../core/value/value.ts';
import { costPath, limitsOf, policyOf } from '../call-policy.ts';
import { type Batching, batchKey, batchReads, compileBatching, listField, refuseTooLarge, withList } from './http-batch.ts';
import { type Compiled, costOf, refusal } from './http-call.ts';
import { type HttpOptions, httpOptions } from './http-options.ts';
import { compilePaging } from './http-pages.ts';
import { compileRequest, fieldsIn, fieldsWithin, tried } from './http-request.ts';
import { previewed, runnerOf, unaskedOf } from './http-run.ts';

/** The HTTP Request node: one request per record. */
export const http = defineNode({
  name: 'http',
  summary: 'HTTP Request: sends one request per record and maps the answer into fields',
  example: `- type: http
  method: GET
  url: https://api.example.com/users/{{user_id}}
  auth: { type: bearer, credential: crm-token }
  retry: { max: 3, on: [429, 5xx, timeout, network], backoff: 1s }
  map: { name: data.user.name, value: "results[0].value" }`,
  options: httpOptions,
  build,
});

function build(options: HttpOptions, context: BuildContext): Node {
  const connection = options.connection === undefined ? undefined : (context.connection(options.connection) ?? null);
  if (options.body !== undefined && (options.method === 'GET' || options.method === 'DELETE')) {
    context.problem(['body'], `a ${options.method} request has no body; expected method POST, PUT or PATCH`);
  }
  const { origin, render } = compileRequest(options, connection, context);
  const mapping = tried(context, ['map'], () => options.map && compileMapping(options.map, options.when_empty));
  for (const option of options.response === 'text' ? lookingInto(options, mapping) : []) {
    context.warn([option], 'the answer is read as text: only $body, $status and $headers.NAME find something in it');
  }
  const { allowHttp, allowHosts } = context;
  const paging = tried(context, ['paginate'], () => options.paginate && compilePaging(options.paginate, { allowHttp, allowHosts }));
  const batching = tried(context, ['batch'], () => options.batch && compileBatching(options.batch, mapping));
  const uses = fieldsIn(options, connection).filter(({ field, at }) => !options.batch || field !== listField || at[0] !== 'body');
  refuseOddities(options, context);
  const auth = options.auth === undefined ? connection?.auth : options.auth;
  const compiled: Compiled = {
    options,
    request: paging ? (fields) => paging.first(render(fields)) : render,
    mapping,
    needsJson: (mapping?.needsJson ?? false) || needsJson(options),
    ...limitsOf(options, connection, context),
    retry: policyOf(options.retry),
    cost: tried(context, ['cost'], () => costPath(options.cost ?? connection?.cost)),
  };
  const sharing = batching && sharingOf(batching, render);
  return {
    reads: [...uses, ...(options.batch ? batchReads(options.batch) : [])],
    typedFields: mapping?.fields ?? [],
    columns: (before) => [...new Set([...before, ...(mapping?.fields ?? [])])],
    ...(paging ? { streams: true } : {}),
    run: runnerOf(compiled, paging, batching, uses.length === 0),
    action: {
      concurrency: compiled.limit.max,
      intervalMs: compiled.intervalMs,
      price: { credits: options.credits ?? connection?.credits ?? 1, connection: connection?.name },
      credentials: auth ? credentialsOf(auth, options, origin) : [],
      request(fields) {
        const request = compiled.request(fields, batching && withList(fields, [batching.item(fields)]));
        if (sharing?.roomOf) refuseTooLarge(sharing.roomOf(fields));
        return request;
      },
      body: (response) => readBody(response, options.response, false),
      rows: (fields, response, found) => previewed(compiled, fields, response, { batching, found }),
      expands: mapping?.expands ?? false,
      batchSize: batching?.options.size,
      ...(batching && { unasked: (fields) => unaskedOf(compiled, batching, fields) }),
      ...(sharing && (uses.length > 0 || sharing.twinOf || sharing.roomOf) ? { sharing } : {}),
      // Of those that were refused together there are at most as many requests again as records.
      mostCalls: paging?.max ?? (batching && batching.options.size > 1 ? 2 : 1),
      isCached: options.cache !== undefined,
      paths: mapping?.paths ?? [],
      fields: mapping?.fields ?? [],
      refusal: (response) => refusal(options, response),
      cost: (response) => costOf(compiled, { response, body: undefined }),
    },
  };
}

function sharingOf({ twinOf, roomOf }: Batching, render: (fields: Fields, bodyFields: Fields) => HttpRequest): Sharing {
  const request = (fields: Fields) => (items: Value[]) => render(fields, withList(fields, items));
  return {
    key: (fields) => batchKey(request(fields)([])),
    twinOf,
    roomOf: roomOf && ((fields) => roomOf(fields, request(fields))),
  };
}

/** The options that look for something within the body. */
function lookingInto({ paginate, batch }: HttpOptions, mapping: Mapping | undefined): string[] {
  const isPaged = paginate !== undefined && ('items' in paginate || ('path' in paginate && !paginate.path.startsWith('$')));
  return [...(mapping?.needsJson ? ['map'] : []), ...(isPaged ? ['paginate'] : []), ...(batch?.match ? ['batch'] : [])];
}

/** Whether something besides the map looks into the body. */
function needsJson({ paginate, batch }: HttpOptions): boolean {
  return batch?.match !== undefined || (paginate !== undefined && paginate.type !== 'link_header');
}

function refuseOddities(options: HttpOptions, { problem, warn }: BuildContext): void {
  const { paginate, batch, body, cache, map } = options;
  if (paginate && !map) warn(['paginate'], 'without a map nothing is taken from the pages');
  warnOfReplaced(options, warn);
  if (!batch) return;
  if (paginate) problem(['paginate'], 'a batch has one answer for all its records; leave paginate or batch out');
  if (cache !== undefined) problem(['cache'], 'a batch is hardly ever the same again; leave cache or batch out');
  if (body === undefined) problem(['batch'], 'a batch needs a method such as POST and a body with {{items}}, the list of its records');
  else if (!fieldsWithin(body).includes(listField)) problem(['body'], 'expected {{items}} in the body, the list of the records in a batch');
}

/** Pages are counted from where `paginate` says, and not from where the URL does. */
function warnOfReplaced({ url, paginate }: HttpOptions, warn: BuildContext['warn']): void {
  if (!paginate || !('items' in paginate)) return;
  const { param } = paginate;
  const start = paginate.type === 'page' ? paginate.start : 0;
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  const written = query.split('&').filter((part) => decoded(part).startsWith(`${param}=`));
  if (written.length === 0 || (written.length === 1 && decoded(written[0] as string) === `${param}=${start}`)) return;
  const mend =
    paginate.type === 'page' ? 'under paginate, start says which page is the first' : 'the first item is the first that there is';
  warn(['url'], `paginate replaces ${written.join('&')} by ${param}=${start}\n${mend}`);
}

/** A part of a query as a server reads it. */
function decoded(part: string): string {
  const [[name, value] = ['', '']] = [...new URLSearchParams(part)];
  return `${name}=${value}`;
}

function credentialsOf(auth: Auth, options: HttpOptions, origin: string | undefined): CredentialNeed[] {
  const at = options.auth === undefined ? ['connection'] : ['auth', 'credential'];
  return neededCredentials(auth, origin).map(({ name, isPair, origins }) => ({ field: name, at, isPair, origins }));
}
