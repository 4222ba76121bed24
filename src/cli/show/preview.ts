import type { ActionRequest, ActionResponse } from '../../core/action.ts';
import { cleaned, excerpt } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import type { Failure } from '../../core/failure.ts';
import type { Action } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { textOf, type Value } from '../../core/value/value.ts';
import { curlText, lookupQuestion, requestText, sourceOf } from './request.ts';
import { structureOf, tableText } from './structure.ts';

/** One request of a flow, and its answer or failure. */
export interface Preview {
  /** Absent if an earlier node failed, or if a run sends none. */
  readonly request?: ActionRequest;
  readonly response?: ActionResponse;
  readonly ms?: number;
  /** As the map sees it; as a text if it could not be read. */
  readonly body?: Value | undefined;
  /** The reason why the body could not be read; absent if it could. */
  readonly unread?: Failure;
  /** The output records; absent if there is no success to map. */
  readonly rows?: readonly Fields[];
  /** For each path of the map, true if it was found. */
  readonly found?: readonly boolean[];
  readonly failure?: Failure;
}

/** A preview for a person: the request, the answer's structure, and what the map yields. */
export function previewText(preview: Preview, action: Action, isCurl: boolean): string {
  const { request, response } = preview;
  const lines = request === undefined ? [] : isCurl && !('kind' in request) ? [curlText(request)] : requestText(request);
  return [...lines, ...(response ? answerLines(preview, response, action) : [])].map(cleaned).join('\n');
}

function answerLines(preview: Preview, response: ActionResponse, action: Action): string[] {
  return ['', ...headLines(response, durationText(preview.ms ?? 0)), '', ...bodyLines(preview), ...mapLines(preview, action)];
}

function bodyLines({ body, unread }: Preview): string[] {
  if (unread) return [`${unreadReason(unread)}; as a text:`, `  ${excerpt(textOf(body ?? ''))}`];
  const structure = structureOf(body).map(({ path, type, sample }) => [path, type, sample]);
  return structure.length > 0 ? tableText([['path', 'type', 'sample'], ...structure]) : ['the body is empty'];
}

/** The message of a Failure without its excerpt of the body. */
function unreadReason({ message }: Failure): string {
  if (message.startsWith('the body ')) return message;
  return `the body is ${/nested more than \d+ deep$/.exec(message)?.[0] ?? 'not valid JSON'}`;
}

function headLines(response: ActionResponse, time: string): string[] {
  if ('kind' in response) return [`${response.kind === 'tool' && response.isError ? 'isError' : 'answered'} in ${time}`];
  return [
    `${response.status} in ${time}, ${response.body.length} bytes`,
    ...Object.entries(response.headers).flatMap(([name, value]) => [value].flat().map((one) => `  ${name}: ${one}`)),
  ];
}

const shownRows = 3;

function mapLines({ rows, found }: Preview, action: Action): string[] {
  if (!rows) return [];
  if (action.paths.length === 0) return ['', 'without map no field is added'];
  const shown = rows
    .slice(0, shownRows)
    .flatMap((row, index) => [
      ...(rows.length > 1 ? [`  record ${index + 1} of ${rows.length}`] : []),
      ...tableText(action.fields.map((name) => ['  ', name, excerpt(textOf(row.get(name) ?? null))])),
    ]);
  const lost = action.paths.filter((_, index) => found?.[index] === false);
  return ['', 'map yields', ...shown, ...lost.map((path) => `  ${path}: found nothing here`)];
}

/** A preview for a program. */
export function previewValue(preview: Preview, action: Action, isCurl: boolean): Value {
  const { request, response, body, unread, rows, failure } = preview;
  return {
    request: request ? requestValue(request) : null,
    ...(isCurl && request && !('kind' in request) ? { curl: curlText(request) } : {}),
    response: response ? responseValue(response, preview) : null,
    structure: response ? structureOf(unread ? undefined : body).map((row) => ({ ...row })) : null,
    map: rows ? rows.map((row) => Object.fromEntries(action.fields.map((name) => [name, row.get(name) ?? null]))) : null,
    failure: failure ? { node: failure.node ?? null, class: failure.kind, status: failure.status ?? null, message: failure.message } : null,
  };
}

function responseValue(response: ActionResponse, { ms: exactMs = 0, body = null, unread }: Preview): Value {
  const ms = Math.round(exactMs);
  if ('kind' in response) return response.kind === 'tool' ? { is_error: response.isError, ms, body } : { ms, body };
  const headers = JSON.parse(JSON.stringify(response.headers)) as Value;
  return { status: response.status, ms, headers, body, ...(unread && { unread: unreadReason(unread) }) };
}

/** The type of a request's auth; a list of several. */
function authTypes(auth: HttpRequest['auth']): Value {
  const types = (auth ?? []).map(({ type }) => type);
  return types.length > 1 ? types : (types[0] ?? null);
}

/** A request as JSON, without its secrets. */
export function requestValue(request: ActionRequest): Value {
  if ('kind' in request) {
    if (request.kind === 'lookup') return { source: sourceOf(request), lookup: request.lookup, query: lookupQuestion(request) };
    return { connection: request.connection.name, tool: request.tool, arguments: request.arguments };
  }
  const { method, origin, path, headers, auth, body } = request;
  return { method, url: origin + path, headers: { ...headers }, auth: authTypes(auth), body: body ?? null };
}
