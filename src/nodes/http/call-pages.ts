import type { Mapping } from '../../core/answer/mapping.ts';
import { Failure } from '../../core/failure.ts';
import type { Action, Node, NodeContext, RowsRead } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { mappedEvent, RequestCall, readMapped } from '../calling.ts';
import type { HttpAnswer } from './answer-reader.ts';
import { onPage, type Page, type Paging } from './paging.ts';
import { withPageKey } from './request-template.ts';

/** Emits the records of each page as it arrives. If no page has records, the input continues as after one empty response. */
export function callPages(action: Action, mapping: Mapping | undefined, paging: Paging): Node['run'] {
  const paths = [...action.paths, ...(paging.sought ? [paging.sought.name] : [])];
  return async (fields, context) => {
    const ask = (request: HttpRequest, number: number): Promise<HttpAnswer> =>
      context.call(pageCall(action, request, fields, number)) as Promise<HttpAnswer>;
    let withoutRows: HttpAnswer | undefined;
    let hasRows = false;
    const { clock } = context;
    const pages = paging.pages(action.prepare(fields, clock) as HttpRequest, fields, clock, ask);
    for await (const page of pages) {
      if (page.short) context.report({ type: 'page-short', ...page.short });
      reportNextPath(paging, page, context);
      if (!mapping) continue;
      const { rows, found } = await onPage(page.number, () => readPage(mapping, paging, fields, page));
      // A page without records does not show whether the paths of the map are correct, so nothing is reported about them.
      if (rows.length === 0) withoutRows ??= page.answer;
      else {
        hasRows = true;
        context.report({ ...mappedEvent(paths, found), isPage: true });
        await context.emit(rows);
      }
    }
    if (!mapping) return [fields];
    if (hasRows || !withoutRows) return [];
    const { rows, found } = readMapped(mapping, fields, withoutRows);
    context.report({ ...mappedEvent(paths, [...found, ...soughtOn(paging, withoutRows)]), isPage: true });
    return rows;
  };
}

function reportNextPath({ nextPath }: Paging, { hasNextPath }: Page, context: NodeContext): void {
  if (nextPath === undefined || hasNextPath === undefined) return;
  context.reportOnce(() => ({ type: 'next-path', path: nextPath, found: hasNextPath }), hasNextPath ? 'next path' : 'no next path');
}

function pageCall(action: Action, request: HttpRequest, fields: Fields, page: number): RequestCall {
  return page === 1
    ? new RequestCall(action, request, fields)
    : new RequestCall(action, withPageKey(request, page), fields, `page ${page}`);
}

function readPage(mapping: Mapping, paging: Paging, fields: Fields, { number, answer, isEmpty }: Page): RowsRead {
  if (isEmpty && number === 1) refuseMissingItems(mapping, paging, fields, answer);
  if (isEmpty) return { rows: [], found: [] };
  const { rows, found } = readMapped(mapping, fields, answer, { whenEmpty: 'drop' });
  return { rows, found: [...found, ...soughtOn(paging, answer)] };
}

function soughtOn({ sought }: Paging, answer: HttpAnswer): boolean[] {
  return sought ? [sought.isOn(answer)] : [];
}

/** Throws a Failure if the page lacks `paginate.items` but the map finds records: a missing list ends the paging and loses later pages. */
function refuseMissingItems(mapping: Mapping, { sought }: Paging, fields: Fields, answer: HttpAnswer): void {
  if (!mapping.array || !sought || sought.isOn(answer)) return;
  const { length } = readMapped(mapping, fields, answer, { whenEmpty: 'drop' }).rows;
  if (length === 0) return;
  throw new Failure('mapping', `the map finds records on the page (${length}), but the page has no ${sought.name}`, {
    status: answer.status,
  });
}
