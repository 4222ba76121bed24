import { listsOn } from '../../core/answer/document.ts';
import { compileMapping, type Mapping } from '../../core/answer/mapping.ts';
import { morePagesFinder } from '../../core/answer/more-pages.ts';
import { compilePath } from '../../core/answer/path.ts';
import { neededCredentials, placedAuths } from '../../core/auth/auth.ts';
import { credentialFor } from '../../core/auth/auth-type.ts';
import { loginIn } from '../../core/auth/login-need.ts';
import { isSession } from '../../core/auth/session.ts';
import type { HttpConnection } from '../../core/connection.ts';
import {
  type Action,
  type BuildContext,
  type CallPolicy,
  type CredentialNeed,
  defineNode,
  type FieldUse,
  type Node,
} from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { payloadOf } from '../../core/template/body.ts';
import { isMapping, jsonOf, orUndefined, type Value } from '../../core/value/value.ts';
import { AnswerRules, ruleReads } from '../answer-rules.ts';
import { callPolicy, connectionOf, mappedColumns, tryOption } from '../call-policy.ts';
import { callBatches, callEach, readMapped } from '../calling.ts';
import { answerReader, type HttpAnswer } from './answer-reader.ts';
import { Batching, type BatchParts, batchReads, listField } from './batching.ts';
import { callPages } from './call-pages.ts';
import { answerModeOf, type HttpOptions, httpOptions } from './http-options.ts';
import { checkHttpOptions, checkList, needsJson } from './option-checks.ts';
import { compilePaging, type Paging, untilReads } from './paging.ts';
import { bodySecrets } from './request-body.ts';
import { compileRequest, fieldsIn } from './request-template.ts';
import { checkFileOptions, Saving, savedFields, usesFiles } from './saving.ts';

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
  build: buildHttp,
});

type HttpNodeConnection = HttpConnection | undefined | null;

type BaseAction = Omit<Action, 'prepare' | 'read' | 'maxCalls'>;

type Calling = Required<Pick<Node, 'run' | 'action' | 'streams'>>;

function buildHttp(options: HttpOptions, context: BuildContext): Node {
  const connection = connectionOf(options, context);
  const request = compileRequest(options, connection, context);
  const { origin, render } = request;
  const mapping = tryOption(context, ['map'], () => options.map && compileMapping(options.map, options.when_empty));
  const all = [...fieldsIn(options, connection), ...request.reads];
  const isList = ({ field, at }: FieldUse) => options.batch !== undefined && field === listField && at[0] === payloadOf(options)?.name;
  const uses = all.filter((use) => !isList(use));
  checkHttpOptions(options, mapping, context);
  if (options.batch) checkList(options, all.some(isList), context.problem);
  const { paginate, batch, raw = [] } = options;
  const rules = AnswerRules.of(options, batch !== undefined, context);
  const saving = tryOption(context, ['save', 'to'], () => Saving.of(options, rules));
  const base: BaseAction = {
    ...policyOf({ options, connection, mapping, rules }, context),
    credentials: credentialNeeds(options, connection, origin),
    ...mapped(mapping, saving),
    usesFiles: usesFiles(options),
    written: { method: options.method, url: writtenUrl(options.url, connection?.baseUrl) },
    unkept: options.save ? 'save' : request.usesNow ? 'now()' : undefined,
    morePages: saving || context.carried.length > 0 ? undefined : morePagesOf(options, mapping),
  };
  checkFileOptions(options, { mapping, rules, cost: base.cost }, context);
  const parts = { policy: base, mapping, render, isConstant: uses.length === 0 && request.named.every((field) => field === listField) };
  const paging = tryOption(context, ['paginate'], () => paginate && compilePaging(paginate, mapping?.array, context));
  const batching = tryOption(context, ['batch'], () => batch && new Batching(batch, parts));
  if (paginate?.until) context.warnOfCells(['paginate', 'until'], paginate.until);
  return {
    reads: [...uses, ...optionReads(options)],
    notes: raw.map((field) => `${context.id}: {{${field}}} is XML already (raw), and is sent without escaping`),
    ...columnsOf(mapping, saving),
    answered: connection && mapping ? { connection: connection.name, fields: mapping.fields } : undefined,
    ...(paging ? inPages(base, parts, paging) : batching ? inBatches(base, batching) : alone(base, parts, saving)),
  };
}

function mapped(mapping: Mapping | undefined, saving: Saving | undefined): Pick<Action, 'expands' | 'paths' | 'fields'> {
  const fields = [...(saving ? savedFields : []), ...(mapping?.fields ?? [])];
  return { expands: mapping?.expands ?? false, paths: mapping?.paths ?? [], fields };
}

function optionReads(options: HttpOptions): FieldUse[] {
  const { batch, paginate } = options;
  return [...(batch ? batchReads(batch) : ruleReads(options)), ...(paginate ? untilReads(paginate) : [])];
}

function writtenUrl(url: string, base: string | undefined): string {
  return base === undefined || /^(?:https?:|\{\{)/i.test(url) ? url : `${base.replace(/\/+$/, '')}/${url.replace(/^\/+/, '')}`;
}

/** Returns the function that looks for further pages. A sign that the map itself reads is no news to the user. */
function morePagesOf(options: HttpOptions, mapping: Mapping | undefined): Action['morePages'] {
  if (options.paginate !== undefined || options.batch || !mapping) return undefined;
  if (mapping.lists.length === 0 || mapping.paths.some((path) => /^\$headers\.link$/i.test(path))) return undefined;
  const find = morePagesFinder(mapping.lists, (path) => mapping.paths.includes(path));
  const hasJsonBody = payloadOf(options)?.name === 'body';
  return (answer, request) => {
    const { path, body } = request as HttpRequest;
    return find(answer, { path, body, hasJsonBody });
  };
}

function alone(base: BaseAction, { mapping, render }: BatchParts, saving: Saving | undefined): Calling {
  const action: Action = {
    ...base,
    prepare: saving ? (fields, clock) => saving.prepare(fields, render(fields, clock), clock) : render,
    read: (fields, answer) => readMapped(mapping, saving ? saving.fieldsWith(fields, answer as HttpAnswer) : fields, answer),
    maxCalls: 1,
  };
  return { action, run: callEach(action), streams: false };
}

function inPages(base: BaseAction, { mapping, render }: BatchParts, paging: Paging): Calling {
  const action: Action = {
    ...base,
    prepare: (fields, clock) => paging.first(render(fields, clock)),
    read: (fields, answer) => readMapped(mapping, fields, answer),
    maxCalls: paging.max,
  };
  return { action, run: callPages(action, mapping, paging), streams: true };
}

function inBatches(base: BaseAction, batching: Batching): Calling {
  const action: Action = {
    ...base,
    prepare: (fields, clock) => batching.prepare(fields, clock),
    read: (fields, answer) => batching.read(fields, answer as HttpAnswer),
    batchSize: batching.size,
    ...(batching.isOpenToAll ? {} : { entryOf: (fields, clock) => batching.entryOf(fields, clock) }),
    // A refused batch of n records is halved down to single records. This takes at most 2n - 1 requests, so at most 2 for each record.
    maxCalls: batching.size > 1 ? 2 : 1,
  };
  return { action, run: callBatches(action, batching), streams: false };
}

interface PolicyParts {
  readonly options: HttpOptions;
  readonly connection: HttpNodeConnection;
  readonly mapping: Mapping | undefined;
  readonly rules: AnswerRules | undefined;
}

function policyOf({ options, connection, mapping, rules }: PolicyParts, context: BuildContext): CallPolicy {
  const policy = callPolicy(options, connection, context);
  const { cache: maxAgeMs } = options;
  return {
    ...policy,
    accept: answerReader(options, { mapping, needsJson: needsJson(options), lists: listsIn(options, mapping), cost: policy.cost, rules }),
    responseMode: answerModeOf(options),
    readsFacts: mapping?.readsFacts,
    judgesAnswers: options.fail_when !== undefined,
    hasIdempotencyKey: options.idempotency_key === true,
    ...(maxAgeMs !== undefined && {
      cache: {
        maxAgeMs,
        key: (request: HttpRequest, record?: Fields) => httpCacheKey(request, options, rules?.names('record') ? record : undefined),
      },
    }),
  };
}

/** Returns the columns after a node. The fields of the file that it saves come first, then the fields of its map. */
function columnsOf(mapping: Mapping | undefined, saving: Saving | undefined): Pick<Node, 'typedFields' | 'columns' | 'mapped'> {
  const { typedFields = [], columns, mapped = [] } = mappedColumns(mapping);
  if (!saving) return { typedFields, columns, mapped };
  return { typedFields: [...savedFields, ...typedFields], mapped, columns: (before) => columns([...new Set([...before, ...savedFields])]) };
}

/** Returns the positions in the body that the paths of the node treat as lists. */
function listsIn({ paginate, batch, error_message: message }: HttpOptions, mapping: Mapping | undefined): ReturnType<typeof listsOn> {
  const within = (text: string | undefined, isList = false) =>
    text === undefined ? [] : (orUndefined(() => listsOn(compilePath(text), isList)) ?? []);
  const pagePath = paginate && 'path' in paginate ? paginate.path : undefined;
  return [
    ...(mapping?.paths ?? []).flatMap((path) => within(path)),
    ...[message, pagePath, batch?.match?.path].flatMap((path) => within(path)),
    ...within(paginate?.items?.replace(/\[\]$/, ''), true),
  ];
}

/**
 * Names the credential, but contains no secret. Omits the idempotency key, which differs for every record. Includes the rules for success,
 * because a response that is successful for one node can be a failure for another.
 */
function httpCacheKey(
  { method, origin, path, headers, body, secretBody, auth, followAny, clientCert }: HttpRequest,
  options: HttpOptions,
  record: Fields | undefined,
): string {
  const { success, fail_when: failWhen, retry_when: retryWhen } = options;
  const named = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value])
    .filter(([name]) => typeof options.idempotency_key !== 'string' || name !== 'idempotency-key');
  const rules = failWhen || retryWhen ? [failWhen?.source ?? null, retryWhen?.source ?? null, jsonOf([...(record ?? [])] as Value)] : [];
  const signers = (auth ?? []).map((one) =>
    Object.entries(one)
      .map(([name, value]) => [name, isMapping(value) || isSession(one) ? String(JSON.stringify(value)) : String(value)])
      .sort(),
  );
  const secrets = secretBody ? [[...secretBody.credentials, ...secretBody.sessions]] : [];
  const certificate = clientCert ? [[clientCert.cert, clientCert.key]] : [];
  return jsonOf([method, origin + path, named.sort(), body ?? null, signers, followAny, success, ...secrets, ...certificate, ...rules]);
}

function credentialNeeds(options: HttpOptions, connection: HttpNodeConnection, origin: string | undefined): CredentialNeed[] {
  const isOwn = options.auth !== undefined;
  const signing = placedAuths(isOwn ? options.auth : connection?.auth).flatMap(({ auth, at: entry }) => {
    const at = isOwn ? ['auth', ...entry, isSession(auth) ? 'login' : 'credential'] : ['connection'];
    return neededCredentials(auth, origin).map((need) => ({ ...need, ...loginIn(need, connection), at }));
  });
  const inBody = bodySecrets(options, ['credential']).map(({ name, at }) => ({
    ...credentialFor(name, origin),
    at,
  }));
  return [...signing, ...inBody].map(({ name: field, ...need }) => ({ field, ...need }));
}
