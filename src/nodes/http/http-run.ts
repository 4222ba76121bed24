import type { MappedPart } from '../../core/answer/mapping.ts';
import { Failure } from '../../core/failure.ts';
import type { Node, NodeContext } from '../../core/node.ts';
import type { HttpResponse } from '../../core/ports.ts';
import { type Fields, withFields } from '../../core/record.ts';
import type { Value } from '../../core/value/value.ts';
import { type Batching, type Entry, listOf, refuseTooLarge, withList } from './http-batch.ts';
import { bodyOf, type CallContext, type Compiled, type Exchange, exchange, rowsOf } from './http-call.ts';
import { onPage, type PageWalk, type Paging, type Sought } from './http-pages.ts';

/** How a record passes: with a request of its own, with one for each page, or with one for many records. `isConstant`: whether all batches would send the same, but for the list. */
export function runnerOf(compiled: Compiled, paging: Paging | undefined, batching: Batching | undefined, isConstant: boolean): Node['run'] {
  if (paging) return (fields, context) => runPages(compiled, paging, fields, context);
  if (batching) return createBatchRunner(compiled, batching, isConstant);
  return (fields, context) => runAlone(compiled, fields, context);
}

async function runAlone(compiled: Compiled, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  return mapped(compiled, fields, await exchange(compiled, compiled.request(fields), context), context);
}

/** What is looked for: in which part of the answer, and besides the map's paths. */
interface Looking {
  readonly part?: MappedPart;
  readonly sought?: Sought | undefined;
}

function mapped({ mapping }: Compiled, fields: Fields, answer: Exchange, context: NodeContext, looking: Looking = {}): readonly Fields[] {
  if (!mapping) return [fields];
  const { part, sought } = looking;
  const found: boolean[] = [];
  const rows = rowsOf(mapping, fields, answer, found, part);
  // A page without records says nothing of where paths lead.
  if (rows.length === 0 && part?.whenEmpty === 'drop') return rows;
  if (sought) context.mapped([...mapping.paths, sought.name], [...found, sought.isOn(answer)]);
  else context.mapped(mapping.paths, found);
  return rows;
}

/** The records of all pages, handed on as they come. Where no page has any, the record passes as it would with a single answer. */
async function runPages(compiled: Compiled, paging: Paging, fields: Fields, context: NodeContext): Promise<readonly Fields[]> {
  const walk = paging.walk(compiled.request(fields));
  let withoutRows: Exchange | undefined;
  let count = 0;
  for (;;) {
    const { answer, rows, isEmpty } = await pageOf(compiled, paging, walk, fields, context);
    if (!isEmpty) {
      const short = walk.shortPage();
      if (short) context.fellShort(short);
      walk.check(answer);
    }
    if (rows.length === 0) withoutRows ??= answer;
    else if (compiled.mapping) await context.emit(rows);
    count += rows.length;
    if (isEmpty || !walk.turn(answer)) break;
  }
  if (!compiled.mapping) return [fields];
  return count === 0 && withoutRows ? mapped(compiled, fields, withoutRows, context, { sought: paging.sought }) : [];
}

/** An answer, and the records on it. */
interface Page {
  readonly answer: Exchange;
  readonly rows: readonly Fields[];
  readonly isEmpty: boolean;
}

async function pageOf(compiled: Compiled, paging: Paging, walk: PageWalk, fields: Fields, context: NodeContext): Promise<Page> {
  try {
    const answer = await exchange(compiled, walk.request, context, walk.page === 1 ? undefined : `page ${walk.page}`);
    const isEmpty = walk.isEmpty(answer);
    if (isEmpty && walk.page === 1) refuseMissing(compiled, paging, fields, answer);
    const looking: Looking = { part: { whenEmpty: 'drop' }, sought: paging.sought };
    return { answer, isEmpty, rows: isEmpty ? [] : mapped(compiled, fields, answer, context, looking) };
  } catch (error) {
    throw onPage(walk.page, error);
  }
}

/** An array that is not there is as good as empty, but not where the map finds records all the same: there would be more on other pages. */
function refuseMissing({ mapping }: Compiled, { sought }: Paging, fields: Fields, answer: Exchange): void {
  if (!mapping?.array || !sought || sought.isOn(answer)) return;
  const { length } = rowsOf(mapping, fields, answer, [], { whenEmpty: 'drop' });
  if (length === 0) return;
  const message = `the map finds ${length} on the page, but there is no ${sought.name}`;
  throw new Failure('mapping', message, { status: answer.response.status });
}

function createBatchRunner(compiled: Compiled, batching: Batching, isConstant: boolean): Node['run'] {
  let constant: NodeBatch | undefined;
  return (fields, context) => {
    const unasked = unaskedOf(compiled, batching, fields);
    if (unasked) return Promise.resolve([unasked]);
    const entry = batching.entry(fields, context);
    constant ??= isConstant ? batchOf(fields) : undefined;
    const batch = constant ?? batchOf(fields);
    refuseTooLarge({ takes: batch.bytesOf(entry), of: batch.maxBytes });
    return context
      .gather(entry, batch)
      .then(({ exchange: answer, elements }) => mapped(compiled, fields, answer, context, { part: sharePart(elements) }));
  };

  function batchOf(fields: Fields): NodeBatch {
    return batching.batch((items) => compiled.request(fields, withList(fields, items)), ask, isConstant);
  }

  /** The key is the same whenever the same records share a request. */
  function ask(entries: readonly Entry[], call: NodeContext['call']): Promise<Exchange> {
    const { context } = entries[0] as Entry;
    const key = compiled.options.idempotency_key ? entries.map((entry) => entry.context.idempotencyKey()).join(' ') : undefined;
    const together: CallContext = {
      http: context.http,
      call,
      cached: (...cached) => context.cached(...cached),
      idempotencyKey: (part) => context.idempotencyKey(part),
    };
    const { fields } = entries[0] as Entry;
    return exchange(compiled, compiled.request(fields, withList(fields, listOf(entries))), together, key);
  }
}

/** What becomes of a record of a batch that nothing in an answer could belong to; absent where something could. */
export function unaskedOf({ mapping }: Compiled, batching: Batching, fields: Fields): Fields | undefined {
  if (batching.options.missing === 'error' || batching.canBeFound(fields)) return undefined;
  return withFields(
    fields,
    (mapping?.fields ?? []).map((field) => [field, null]),
  );
}

type NodeBatch = ReturnType<Batching['batch']>;

/** A record that the answer lacks is kept, whatever is said of empty arrays: those are arrays in its element. */
function sharePart(elements: readonly Value[] | undefined): MappedPart {
  if (!elements) return {};
  return elements.length === 0 ? { elements, whenEmpty: 'keep' } : { elements };
}

/** What a record gets of an answer to it alone. */
export function previewed(
  compiled: Compiled,
  fields: Fields,
  response: HttpResponse,
  { batching, found }: { batching: Batching | undefined; found: boolean[] },
): readonly Fields[] {
  const answer = { response, body: bodyOf(compiled, response) };
  const elements = batching?.alone(answer, fields);
  return compiled.mapping ? rowsOf(compiled.mapping, fields, answer, found, sharePart(elements)) : [fields];
}
