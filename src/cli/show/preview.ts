import type { ActionResponse } from '../../core/action.ts';
import { cleaned, excerpt } from '../../core/answer/response.ts';
import { durationText } from '../../core/duration.ts';
import type { Action } from '../../core/node.ts';
import { counted } from '../../core/text/number.ts';
import { textOf } from '../../core/value/value.ts';
import { type Preview, unreadReason } from '../../preview/preview.ts';
import { structureOf } from '../../preview/structure.ts';
import { requestText } from './request.ts';
import { tableText } from './table.ts';

/**
 * Returns the preview of a request as text. It shows the request, the structure of the response, and the values that the node's map finds
 * in it.
 */
export function previewText(preview: Preview, action: Action, curl?: string): string {
  const { request, response } = preview;
  const lines = request === undefined ? [] : curl === undefined ? requestText(request) : [curl];
  return [...lines, ...(response ? answerLines(preview, response, action) : [])].map(cleaned).join('\n');
}

function answerLines(preview: Preview, response: ActionResponse, action: Action): string[] {
  return ['', ...headLines(response, durationText(preview.ms ?? 0)), '', ...bodyLines(preview), ...mapLines(preview, action)];
}

function bodyLines({ body, unread, response }: Preview): string[] {
  if (response && 'saved' in response && response.saved) {
    const { path, bytes } = response.saved;
    return [`a run saves the body to ${path}: ${bytes} bytes; nothing was written here`];
  }
  if (unread) return [`${unreadReason(unread)}; as text:`, `  ${excerpt(textOf(body ?? ''))}`];
  const { rows, more } = structureOf(body);
  if (rows.length === 0) return ['the body is empty'];
  const table = tableText([['path', 'type', 'sample'], ...rows.map(({ path, type, sample }) => [path, type, sample])]);
  return more === 0 ? table : [...table, `and ${counted(more, 'more path')}; --json prints the whole body`];
}

function headLines(response: ActionResponse, time: string): string[] {
  if ('kind' in response) return [`${response.kind === 'tool' && response.isError ? 'isError' : 'answered'} in ${time}`];
  return [
    `${response.status} in ${time}, ${response.saved?.bytes ?? response.body.length} bytes`,
    ...Object.entries(response.headers).flatMap(([name, value]) => [value].flat().map((one) => `  ${name}: ${one}`)),
  ];
}

const shownRows = 3;

function mapLines({ rows, found }: Preview, action: Action): string[] {
  if (!rows) return [];
  if (action.fields.length === 0) return ['', 'without map, no field is added'];
  const shown = rows
    .slice(0, shownRows)
    .flatMap((row, index) => [
      ...(rows.length > 1 ? [`  record ${index + 1} of ${rows.length}`] : []),
      ...tableText(action.fields.map((name) => ['  ', name, excerpt(textOf(row.get(name) ?? null))])),
    ]);
  const lost = action.paths.filter((_, index) => found?.[index] === false);
  return ['', action.paths.length === 0 ? 'a run adds' : 'map yields', ...shown, ...lost.map((path) => `  ${path}: found nothing here`)];
}
