import type { ActionRequest, ActionResponse } from '../core/action.ts';
import type { AnswerFacts } from '../core/answer/facts.ts';
import type { Found } from '../core/answer/mapping.ts';
import { shownSignature } from '../core/auth/auth.ts';
import type { Signature } from '../core/auth/auth-type.ts';
import { detailsOf } from '../core/error-code.ts';
import type { MorePages } from '../core/event.ts';
import type { Failure } from '../core/failure.ts';
import type { LookupRequest } from '../core/lookup.ts';
import type { Action } from '../core/node.ts';
import type { HttpRequest } from '../core/ports.ts';
import type { Fields } from '../core/record.ts';
import { withQuery } from '../core/template/url.ts';
import { lowerCaseName } from '../core/text/words.ts';
import type { FormPart } from '../core/transfer.ts';
import type { Value } from '../core/value/value.ts';
import { structureOf } from './structure.ts';

export interface Preview {
  /** The request. Undefined if an earlier node failed, or if a run would not send the request. */
  readonly request?: ActionRequest;
  readonly response?: ActionResponse;
  readonly ms?: number;
  /** Undefined if the response does not report success, and for a lookup. */
  readonly facts?: AnswerFacts;
  /** The parsed body from which the node's map reads. If the body could not be parsed, it is a string. */
  readonly body?: Value;
  readonly unread?: Failure;
  /** Undefined if the response does not report success. */
  readonly rows?: readonly Fields[];
  /** For each path in the map: true if the response has a value at this path. */
  readonly found?: readonly Found[];
  /** Set if the answer is only the first page of a list, and the node does not read the others. */
  readonly morePages?: MorePages;
  readonly failure?: Failure;
}

/** `curl` is the request as a curl command line. */
export function previewValue(preview: Preview, action: Action, curl?: string): Value {
  const { request, response, body, unread, rows, morePages, failure } = preview;
  const structure = response && structureOf(unread ? undefined : body);
  return {
    request: request ? requestValue(request) : null,
    ...(curl !== undefined && { curl }),
    response: response ? responseValue(response, preview) : null,
    structure: structure ? structure.rows.map((row) => ({ ...row })) : null,
    ...(structure && structure.more > 0 && { more_paths: structure.more }),
    map: rows ? rows.map((row) => Object.fromEntries(action.fields.map((name) => [name, row.get(name) ?? null]))) : null,
    ...(morePages && { more_pages: { ...morePages } }),
    failure: failure ? { node: failure.node ?? null, class: failure.kind, status: failure.status ?? null, message: failure.message } : null,
  };
}

function responseValue(response: ActionResponse, { ms: exactMs = 0, body = null, unread, facts }: Preview): Value {
  const ms = Math.round(exactMs);
  const shownFacts = facts && { facts: { ...facts } as Value };
  if ('kind' in response) return response.kind === 'tool' ? { is_error: response.isError, ms, body, ...shownFacts } : { ms, body };
  const headers = JSON.parse(JSON.stringify(response.headers)) as Value;
  return {
    ...{ status: response.status, ms, headers, body },
    ...(response.httpVersion && { http_version: response.httpVersion }),
    ...(response.saved && { saved: { ...response.saved } }),
    ...shownFacts,
    ...(unread && { unread: unreadReason(unread) }),
  };
}

/** Returns the type of a request's auth, or a list if there are several. */
function authTypes(auth: HttpRequest['auth']): Value {
  const types = (auth ?? []).map(({ type }) => type);
  return types.length > 1 ? types : (types[0] ?? null);
}

/** Returns a request as JSON, with `***` instead of its secrets. */
export function requestValue(request: ActionRequest): Value {
  if ('kind' in request) {
    if (request.kind === 'lookup') return { source: sourceOf(request), lookup: request.lookup, query: lookupQuestion(request) };
    return { connection: request.connection.name, tool: request.tool, arguments: request.arguments };
  }
  const { method, origin, path, headers, auth, body, form, save } = request;
  const signed: Signature = auth ? shownSignature(auth) : { headers: {} };
  return {
    ...{ method, url: origin + withQuery(path, signed.query), headers: { ...headers, ...signed.headers } },
    ...{ auth: authTypes(auth), body: body ?? null },
    ...(form && { form: form.map(partValue) }),
    ...(save && { save: { to: save.to, replace: save.replace } }),
  };
}

function partValue(part: FormPart): Value {
  if (!('file' in part)) return { ...part };
  const { name, file, fileName, contentType } = part;
  return {
    name,
    file,
    ...(fileName !== undefined && { file_name: fileName }),
    ...(contentType !== undefined && { content_type: contentType }),
  };
}

/** Returns a Failure's message without the excerpt of the body, and without the advice on its next lines. */
export function unreadReason(failure: Failure): string {
  const notJson = detailsOf(failure, 'not-json');
  return notJson ? `the body is ${notJson.reason}` : (failure.message.split('\n', 1)[0] as string);
}

/** Shown in place of a URL if a lookup uses the data embedded in automate. */
export const embedded = 'embedded data';

export function sourceOf(request: LookupRequest): string {
  return request.lookup === 'points' ? 'a file' : embedded;
}

/** Each part has the name of the node's option. */
export function lookupQuestion({ query }: LookupRequest): Record<string, Value> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [lowerCaseName(name, '_'), value as Value]));
}
