import type { Action } from '../../core/action.ts';
import type { Mapping } from '../../core/answer/mapping.ts';
import { Failure } from '../../core/failure.ts';
import type { Node, NodeContext } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import type { Fields } from '../../core/record.ts';
import { type Accepted, RequestCall, readMapped } from '../calling.ts';
import type { HttpAnswer } from './answer-reader.ts';
import { onPage, type Page, type Paging } from './paging.ts';

/** Runs a node that makes one call for each page: the records of a page are emitted as it arrives. If no page has any, the record goes on as it would with a single answer. */
export function callPages(action: Action, mapping: Mapping | undefined, paging: Paging): Node['run'] {
  return async (fields, context) => {
    const first = action.prepare(fields) as HttpRequest;
    const ask = (request: HttpRequest, number: number): Promise<Accepted> =>
      context.call(new RequestCall(action, request, number === 1 ? undefined : `page ${number}`));
    const reader = new PageReader(mapping, paging, fields, context);
    for await (const page of paging.pages(first, ask as (request: HttpRequest, number: number) => Promise<HttpAnswer>)) {
      await reader.emit(page);
    }
    return reader.rest();
  };
}

/** Reads the pages of one record. */
class PageReader {
  #withoutRows: HttpAnswer | undefined;
  #hasRows = false;

  constructor(
    private readonly mapping: Mapping | undefined,
    private readonly paging: Paging,
    private readonly fields: Fields,
    private readonly context: NodeContext,
  ) {}

  async emit(page: Page): Promise<void> {
    if (page.short) this.context.report({ type: 'page-short', ...page.short });
    if (!this.mapping) return;
    const rows = await onPage(page.number, () => this.#rowsOn(page));
    if (rows.length === 0) this.#withoutRows ??= page.answer;
    else {
      this.#hasRows = true;
      await this.context.emit(rows);
    }
  }

  /** The record itself, if no page had records and the map says so. */
  rest(): readonly Fields[] {
    if (!this.mapping) return [this.fields];
    return !this.#hasRows && this.#withoutRows ? this.#read(this.#withoutRows) : [];
  }

  #rowsOn({ number, answer, isEmpty }: Page): readonly Fields[] {
    if (!isEmpty) return this.#read(answer, 'drop');
    if (number === 1) this.#refuseMissingItems(answer);
    return [];
  }

  #read(answer: HttpAnswer, whenEmpty?: 'drop'): readonly Fields[] {
    const { mapping, paging, context } = this;
    const { rows, found } = readMapped(mapping, this.fields, answer, whenEmpty && { whenEmpty });
    // A page without records shows nothing about paths.
    if (rows.length === 0 && whenEmpty) return rows;
    const { paths = [] } = mapping ?? {};
    const { sought } = paging;
    if (sought) context.report({ type: 'mapped', paths: [...paths, sought.name], found: [...found, sought.isOn(answer)] });
    else context.report({ type: 'mapped', paths, found });
    return rows;
  }

  /** A missing items array ends the paging. If the map still finds records on the page, `paginate.items` is wrong and later pages would be lost. */
  #refuseMissingItems(answer: HttpAnswer): void {
    const { mapping, paging } = this;
    if (!mapping?.array || !paging.sought || paging.sought.isOn(answer)) return;
    const { length } = readMapped(mapping, this.fields, answer, { whenEmpty: 'drop' }).rows;
    if (length === 0) return;
    throw new Failure('mapping', `the map finds ${length} on the page, but there is no ${paging.sought.name}`, { status: answer.status });
  }
}
