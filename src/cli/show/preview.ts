import type { Failure } from '../../core/failure.ts';
import type { Action, ActionRequest, ActionResponse } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { cleaned } from '../../core/response.ts';
import { textOf, type Value } from '../../core/value.ts';
import { curlText, requestText } from './request.ts';
import { structureOf, tableText } from './structure.ts';

/** One request of a flow: what was sent, what came back, or why nothing did. */
export interface Preview {
  /** Absent when a node before this one has failed. */
  readonly request?: ActionRequest;
  readonly response?: ActionResponse;
  readonly ms?: number;
  readonly body?: Value | undefined;
  /** What the map makes of it; absent when there is no success to map. */
  readonly rows?: readonly Fields[];
  /** Per path of the map, whether it led anywhere. */
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
  const structure = structureOf(preview.body).map(({ path, type, sample }) => [path, type, sample]);
  return [
    '',
    ...headLines(response, Math.round(preview.ms ?? 0)),
    '',
    ...(structure.length > 0 ? tableText([['path', 'type', 'sample'], ...structure]) : ['the body is empty']),
    ...mapLines(preview, action),
  ];
}

function headLines(response: ActionResponse, ms: number): string[] {
  if ('kind' in response) return [`${response.isError ? 'isError' : 'answered'} in ${ms} ms`];
  return [
    `${response.status} in ${ms} ms, ${response.body.length} bytes`,
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
      ...tableText(action.fields.map((name) => ['  ', name, textOf(row.get(name) ?? null)])),
    ]);
  const lost = action.paths.filter((_, index) => found?.[index] === false);
  return ['', 'map yields', ...shown, ...lost.map((path) => `  ${path}: found nothing here`)];
}

/** A preview for a program. */
export function previewValue({ request, response, ms, body, rows, failure }: Preview, action: Action, isCurl: boolean): Value {
  return {
    request: request ? requestValue(request) : null,
    ...(isCurl && request && !('kind' in request) ? { curl: curlText(request) } : {}),
    response: response ? responseValue(response, Math.round(ms ?? 0), body ?? null) : null,
    structure: response ? structureOf(body).map((row) => ({ ...row })) : null,
    map: rows ? rows.map((row) => Object.fromEntries(action.fields.map((name) => [name, row.get(name) ?? null]))) : null,
    failure: failure ? { node: failure.node ?? null, class: failure.kind, status: failure.status ?? null, message: failure.message } : null,
  };
}

function responseValue(response: ActionResponse, ms: number, body: Value): Value {
  if ('kind' in response) return { is_error: response.isError, ms, body };
  return { status: response.status, ms, headers: JSON.parse(JSON.stringify(response.headers)) as Value, body };
}

function requestValue(request: ActionRequest): Value {
  if ('kind' in request) return { connection: request.connection.name, tool: request.tool, arguments: request.arguments };
  const { method, origin, path, headers, auth, body } = request;
  return { method, url: origin + path, headers: { ...headers }, auth: auth?.type ?? null, body: body ?? null };
}
