import type { MappedPart, Mapping } from '../../core/answer/mapping.ts';
import type { Batch, BatchEntry, BatchQuestion } from '../../core/call.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import { Failure } from '../../core/failure.ts';
import { type CallPolicy, type FieldUse, type RowsRead, Unasked } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import { type Fields, withFields, withNulls } from '../../core/record.ts';
import { fieldOf, referencedFields, valueTemplate } from '../../core/template/template.ts';
import { jsonOf, textOf, type Value } from '../../core/value/value.ts';
import { RequestCall, readMapped } from '../calling.ts';
import type { HttpAnswer } from './answer-reader.ts';
import { compileJoin, type Elements, type Join } from './batch-join.ts';
import type { BatchOptions } from './http-options.ts';

export const listField = 'items';

export function batchReads({ items, match }: BatchOptions): FieldUse[] {
  return [...itemReads(items), ...(match ? [{ field: match.field, at: ['batch', 'match', 'field'] }] : [])];
}

function itemReads(items: BatchOptions['items']): FieldUse[] {
  if (typeof items === 'string') return referencedFields(items).map((field) => ({ field, at: ['batch', 'items'] }));
  return Object.entries(items).flatMap(([name, text]) =>
    typeof text === 'string' ? referencedFields(text).map((field) => ({ field, at: ['batch', 'items', name] })) : [],
  );
}

export interface BatchParts {
  readonly policy: CallPolicy;
  readonly mapping: Mapping | undefined;
  /** Renders a request. `inBody` are the fields for the body, if they differ from those for the rest of the request. */
  render(fields: Fields, clock: EvaluationClock, inBody?: Fields): HttpRequest;
  /** True if all requests are the same except for the list of records. */
  readonly isConstant: boolean;
}

export class Batching {
  readonly #options: BatchOptions;
  readonly #parts: BatchParts;
  readonly #renderItem: (fields: Fields) => Value;
  readonly #join: Join;
  readonly #hasOwnList: boolean;
  #constant: HttpBatch | undefined;

  /** Throws an Error with the reason if the options are invalid. */
  constructor(options: BatchOptions, parts: BatchParts) {
    const { match } = options;
    this.#options = options;
    this.#parts = parts;
    this.#renderItem = itemTemplate(options.items);
    this.#join = compileJoin(options, parts.mapping);
    this.#hasOwnList = !match || options.items === `{{${match.field}}}`;
  }

  get size(): number {
    return this.#options.size;
  }

  /** True if any records can share a request, because their requests differ only in the list of records. */
  get isOpenToAll(): boolean {
    return this.#parts.isConstant && this.#hasOwnList && this.#options.max_bytes === undefined;
  }

  /** Returns the request for a batch that contains only this record. Throws a Failure if the request cannot be rendered. */
  prepare(fields: Fields, clock: EvaluationClock): HttpRequest | Unasked {
    const entry = this.entryOf(fields, clock);
    return entry instanceof Unasked ? entry : entry.batch.request([entry.item], clock);
  }

  /** Throws a Failure if no element of a response could match the record, or if the record is too large. */
  entryOf(fields: Fields, clock: EvaluationClock): HttpEntry | Unasked {
    const { match, missing } = this.#options;
    const value = match && fieldOf(fields, match.field);
    if (match && value === null) {
      if (missing === 'error') throw unfindable(match.field);
      return new Unasked(withNulls(fields, this.#parts.mapping?.fields ?? []));
    }
    const key = value === undefined ? undefined : textOf(value);
    const item = this.#renderItem(fields);
    const batch = this.#batchFor(fields, clock);
    const bytes = batch.bytesOf(item, clock);
    if (bytes > batch.maxBytes) throw batchTooLarge(bytes - batch.maxBytes);
    const question = this.#hasOwnList || key === undefined ? undefined : { key, text: comparedText(item) };
    return { batch, fields, clock, item, key, bytes, question };
  }

  /** Reads the response to a request for this record only. Throws a Failure if it has nothing for the record. */
  read(fields: Fields, answer: HttpAnswer): RowsRead {
    const { match } = this.#options;
    const key = match && textOf(fieldOf(fields, match.field));
    const [elements] = this.#join(answer, [{ key }]);
    if (elements instanceof Failure) throw elements;
    return readMapped(this.#parts.mapping, fields, answer, mappedPart(elements));
  }

  #batchFor(fields: Fields, clock: EvaluationClock): HttpBatch {
    if (this.#constant) return this.#constant;
    const batch = new HttpBatch(this.#options, this.#parts, this.#join, fields, clock);
    if (this.#parts.isConstant) this.#constant = batch;
    return batch;
  }
}

interface HttpEntry extends BatchEntry<RowsRead> {
  readonly batch: HttpBatch;
  readonly fields: Fields;
  readonly clock: EvaluationClock;
  readonly item: Value;
  /** The value by which the record is found in the response; undefined if it is found by its position. */
  readonly key: string | undefined;
  readonly question: BatchQuestion | undefined;
}

const utf8 = new TextEncoder();

class HttpBatch implements Batch<RowsRead> {
  readonly key: string;
  readonly size: number;
  readonly maxBytes: number;
  readonly #parts: BatchParts;
  readonly #join: Join;
  readonly #fields: Fields;
  /** Length of the body in bytes if the list is empty. */
  readonly #emptyBytes: number = 0;
  readonly #commaBytes: number = 0;

  constructor({ size, max_bytes: maxBytes }: BatchOptions, parts: BatchParts, join: Join, fields: Fields, clock: EvaluationClock) {
    this.#parts = parts;
    this.#join = join;
    this.#fields = fields;
    this.size = size;
    this.key = parts.isConstant ? '' : sharedKey(this.request([], clock));
    this.maxBytes = Number.POSITIVE_INFINITY;
    if (maxBytes === undefined) return;
    this.#emptyBytes = this.#bodyBytes([], clock);
    this.#commaBytes = this.#bodyBytes([0, 0], clock) - this.#emptyBytes - 2 * (this.#bodyBytes([0], clock) - this.#emptyBytes);
    // Each item is counted with a comma. The last item of a list has none, so the limit is raised by one comma.
    this.maxBytes = maxBytes - this.#emptyBytes + this.#commaBytes;
  }

  request(items: readonly Value[], clock: EvaluationClock): HttpRequest {
    return this.#parts.render(this.#fields, clock, withFields(this.#fields, [[listField, items as Value[]]]));
  }

  /** Returns the number of bytes that an item and its comma add to the body, which can contain the list several times. */
  bytesOf(item: Value, clock: EvaluationClock): number {
    return this.maxBytes === Number.POSITIVE_INFINITY ? 0 : this.#bodyBytes([item], clock) - this.#emptyBytes + this.#commaBytes;
  }

  callFor(entries: readonly HttpEntry[]): RequestCall {
    const { clock } = entries[0] as HttpEntry;
    return new RequestCall(this.#parts.policy, this.request(itemsOf(entries), clock));
  }

  resultsOf(entries: readonly HttpEntry[], answer: HttpAnswer): (RowsRead | Failure)[] {
    const { mapping } = this.#parts;
    return this.#join(answer, entries).map((elements, index) => {
      if (elements instanceof Failure) return elements;
      try {
        return readMapped(mapping, (entries[index] as HttpEntry).fields, answer, mappedPart(elements));
      } catch (error) {
        if (error instanceof Failure) return error;
        throw error;
      }
    });
  }

  #bodyBytes(items: Value[], clock: EvaluationClock): number {
    return utf8.encode(this.request(items, clock).body ?? '').length;
  }
}

function sharedKey({ origin, path, headers, body }: HttpRequest): string {
  return jsonOf([origin, path, { ...headers }, body ?? null]);
}

function unfindable(field: string): Failure {
  return new Failure('mapping', `"${field}" is null, so nothing in an answer can match it (batch.match)`, { sent: false });
}

function batchTooLarge(bytes: number): Failure {
  return new Failure('request', `a body with only this record is ${bytes} bytes larger than batch.max_bytes`, { sent: false });
}

/** Entries with the same key share one item. */
function itemsOf(entries: readonly HttpEntry[]): Value[] {
  const seen = new Set<string>();
  return entries.flatMap(({ key, item }) => {
    if (key === undefined) return [item];
    if (seen.has(key)) return [];
    seen.add(key);
    return [item];
  });
}

/** Items with the same text count as equal. */
function comparedText(item: Value): string {
  return typeof item === 'object' && item !== null ? jsonOf(item) : textOf(item);
}

/** A record without elements is kept, because `when_empty` applies only to empty lists within an element. */
function mappedPart(elements: Elements): MappedPart {
  if (!elements) return {};
  return elements.length === 0 ? { elements, whenEmpty: 'keep' } : { elements };
}

function itemTemplate(items: BatchOptions['items']): (fields: Fields) => Value {
  if (typeof items === 'string') return valueTemplate(items);
  const members = Object.entries(items).map(([name, text]) => ({
    name,
    value: typeof text === 'string' ? valueTemplate(text) : () => text,
  }));
  return (fields) => Object.fromEntries(members.map(({ name, value }) => [name, value(fields)]));
}
