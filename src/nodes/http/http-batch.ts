import { kindOf, type Mapping } from '../../core/answer/mapping.ts';
import { compilePath, pathTo, valueAt } from '../../core/answer/path.ts';
import { inQuotes } from '../../core/answer/response.ts';
import type { Batch, Room, Twin } from '../../core/batch.ts';
import { Failure, Unfinished } from '../../core/failure.ts';
import type { FieldUse, NodeContext } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import { type Fields, withFields } from '../../core/record.ts';
import { fieldOf, referencedFields, valueTemplate } from '../../core/template/template.ts';
import { jsonOf, textOf, type Value } from '../../core/value/value.ts';
import type { BatchOptions } from './http-batch-options.ts';
import type { Exchange } from './http-call.ts';

/** The name by which a body refers to the list. */
export const listField = 'items';

/** A record that shares a request with others. */
export interface Entry {
  readonly fields: Fields;
  readonly context: NodeContext;
  /** What it adds to the list. */
  readonly item: Value;
  /** What it is found by in the answer; absent where its position counts. */
  readonly key: string | undefined;
  /** Absent where its key alone says what it asks for. */
  readonly twin: Twin | undefined;
}

/** What a record gets of its batch's answer. */
export interface Share {
  readonly exchange: Exchange;
  /** Its elements; absent where the answer as a whole is everybody's. */
  readonly elements: readonly Value[] | undefined;
}

/** A compiled `batch`. */
export interface Batching {
  readonly options: BatchOptions;
  entry(fields: Fields, context: NodeContext): Entry;
  /** What a record adds to the list. Throws a Failure where nothing in an answer could be its own, and the record is to fail then. */
  item(fields: Fields): Value;
  /** Whether something in an answer can be the record's own: nothing is found by null. */
  canBeFound(fields: Fields): boolean;
  /** Absent where all that are found by the same value ask for the same. */
  readonly twinOf: ((fields: Fields) => Twin) | undefined;
  /** How much of a bounded body a record takes; absent where none is bounded. `request`: what it would send with such a list. */
  readonly roomOf: ((fields: Fields, request: Requesting) => Room) | undefined;
  /** How a record joins. `request`: what it would send with such a list. `isConstant`: whether that is the same for all records. */
  batch(request: Requesting, exchange: Exchanging, isConstant: boolean): Batch<Entry, Share>;
  /** What a record gets of an answer to it alone. Throws a Failure where the answer lacks it. */
  alone(exchange: Exchange, fields: Fields): Share['elements'];
}

/** What a record would send with such a list. */
type Requesting = (items: Value[]) => HttpRequest;

/** Asks for entries with one request. */
export type Exchanging = (entries: readonly Entry[], call: NodeContext['call']) => Promise<Exchange>;

/** The fields that `batch` reads. */
export function batchReads({ items, match }: BatchOptions): FieldUse[] {
  return [...itemReads(items), ...(match ? [{ field: match.field, at: ['batch', 'match', 'field'] }] : [])];
}

/** Compiles `batch`. Throws an Error that says what is wrong. */
export function compileBatching(options: BatchOptions, mapping: Mapping | undefined): Batching {
  const render = itemTemplate(options.items);
  const join = compileJoin(options, mapping);
  const { match, max_bytes: most } = options;
  const keyOf = (fields: Fields) => match && textOf(fieldOf(fields, match.field));
  const canBeFound = (fields: Fields) => !match || fieldOf(fields, match.field) !== null;
  const item = (fields: Fields) => {
    if (match && options.missing === 'error' && !canBeFound(fields)) throw unfindable(match.field);
    return render(fields);
  };
  const isOwnList = !match || options.items === `{{${match.field}}}`;
  return {
    options,
    entry(fields, context) {
      const key = keyOf(fields);
      const own = item(fields);
      const twin = isOwnList || key === undefined ? undefined : { key, mark: markOf(own) };
      return { fields, context, item: own, key, twin };
    },
    item,
    canBeFound,
    twinOf: isOwnList ? undefined : (fields) => ({ key: keyOf(fields) ?? '', mark: markOf(item(fields)) }),
    roomOf:
      most === undefined
        ? undefined
        : (fields, request) => {
            const { bytesOf, maxBytes } = bounded(most, request);
            return { takes: bytesOf({ item: item(fields) }), of: maxBytes };
          },
    alone(exchange, fields) {
      const [result] = join(exchange, [{ key: keyOf(fields) }]);
      if (result instanceof Error) throw result;
      return result?.elements;
    },
    batch(request, exchange, isConstant) {
      return {
        ...bounded(most, request),
        size: options.size,
        twinOf: ({ twin }) => twin,
        key: isConstant ? '' : batchKey(request([])),
        send: (entries, call) => halved(entries, async (part) => join(await exchange(part, call), part)),
      };
    },
  };
}

function unfindable(field: string): Failure {
  return new Failure('mapping', `"${field}" is null, and nothing in an answer is found by that (batch.match)`, { sent: false });
}

/** The same for records that can share a request. `request`: what one would send with an empty list. */
export function batchKey({ origin, path, headers, body }: HttpRequest): string {
  return jsonOf([origin, path, { ...headers }, body ?? null]);
}

/** How much records add to a body. Wherever the list stands in it, a record adds itself and a comma, but for the last. */
function bounded(most: number | undefined, request: Requesting): Pick<Batch<Pick<Entry, 'item'>, Share>, 'maxBytes' | 'bytesOf'> {
  if (most === undefined) return { maxBytes: Number.POSITIVE_INFINITY, bytesOf: () => 0 };
  const encoder = new TextEncoder();
  const bodyBytes = (items: Value[]) => encoder.encode(request(items).body ?? '').length;
  const without = bodyBytes([]);
  const comma = bodyBytes([0, 0]) - without - 2 * (bodyBytes([0]) - without);
  return { maxBytes: most - without + comma, bytesOf: ({ item }) => bodyBytes([item]) - without + comma };
}

/** Throws a Failure where a record has no room even in a body of its own. */
export function refuseTooLarge({ takes, of }: Room): void {
  if (takes <= of) return;
  throw new Failure('request', `the record alone makes the body ${takes - of} bytes larger than batch.max_bytes`, { sent: false });
}

/** What entries add to the list. Where they are told apart by a value, what is the same is asked for once. */
export function listOf(entries: readonly Entry[]): Value[] {
  const seen = new Set<string>();
  return entries.flatMap(({ key, twin, item }) => {
    if (key === undefined) return [item];
    const mark = twin ? jsonOf([key, twin.mark]) : key;
    if (seen.has(mark)) return [];
    seen.add(mark);
    return [item];
  });
}

/** Values that are the same text are the same: they are compared so in the answer. */
function markOf(item: Value): string {
  return typeof item === 'object' && item !== null ? jsonOf(item) : textOf(item);
}

/** What a body with the list is made of. */
export function withList(fields: Fields, items: Value[]): Fields {
  return withFields(fields, [[listField, items]]);
}

type Result = Share | Failure | Unfinished;

type Asking = (entries: readonly Entry[]) => Promise<readonly Result[]>;

/** What is refused is asked for in halves, until the record that is to blame stands alone. What comes of one half is nothing to the other. */
async function halved(entries: readonly Entry[], ask: Asking): Promise<readonly Result[]> {
  const wanted = entries.filter(({ context }) => !context.isLost());
  if (wanted.length < entries.length) return spread(entries, wanted, wanted.length === 0 ? [] : await halved(wanted, ask));
  try {
    return await ask(entries);
  } catch (error) {
    if (!(error instanceof Failure) && !(error instanceof Unfinished)) throw error;
    if (entries.length === 1 || !isOfRecords(error)) return entries.map(() => error);
    const middle = Math.ceil(entries.length / 2);
    const halves = [entries.slice(0, middle), entries.slice(middle)];
    return (await Promise.all(halves.map((half) => halved(half, ask)))).flat();
  }
}

/** Nothing came of those that nobody wants any more. */
function spread(entries: readonly Entry[], wanted: readonly Entry[], results: readonly Result[]): readonly Result[] {
  const found = new Map(wanted.map((entry, index) => [entry, results[index] as Result]));
  return entries.map((entry) => found.get(entry) ?? new Unfinished());
}

/** No record is to blame for who asks (401, 407), how often (429) or how slowly (408). */
const notOfRecords = new Set([401, 407, 408, 429]);

function isOfRecords(error: unknown): boolean {
  if (!(error instanceof Failure) || error.kind !== 'http' || error.status === undefined) return false;
  return error.status >= 400 && error.status <= 499 && !notOfRecords.has(error.status);
}

type Join = (exchange: Exchange, entries: readonly Pick<Entry, 'key'>[]) => readonly Result[];

function compileJoin({ match, missing }: BatchOptions, mapping: Mapping | undefined): Join {
  const path = match && compilePath(match.path);
  if (path && path.legs.length !== 2) {
    throw new Error(`expected a path through one array, such as results[].id, found "${path.text}"`);
  }
  const array = path?.legs[0] ?? mapping?.array;
  if (path && mapping?.array && JSON.stringify(path.legs[0]) !== JSON.stringify(mapping.array)) {
    throw new Error(`"${path.text}" and the map go through different arrays`);
  }
  if (mapping && path) refuseShared(mapping, array as (string | number)[]);
  if (!array) return (exchange, entries) => entries.map(() => ({ exchange, elements: undefined }));
  const at = array.reduce<string>(pathTo, '');
  const name = `${at}[]`;
  return (exchange, entries) => {
    const { status } = exchange.response;
    const lacking = (reason: string) => new Failure('mapping', `the answer lacks this record: ${reason}`, { status });
    const elements = arrayIn(exchange, array, name);
    if (!path && elements.length !== entries.length) throw new Failure('mapping', otherCount(elements, entries, name), { status });
    const found = path ? byValue(elements, path.legs[1] as (string | number)[]) : byPosition(elements);
    return entries.map(({ key }, index) => {
      const own = found(key ?? '', index);
      if (own.length === 0 && missing === 'error') {
        return lacking(path ? `no "${path.text}" is ${inQuotes(key ?? '')}` : `"${pathTo(at, index)}" is null`);
      }
      return { exchange, elements: own };
    });
  };
}

/** A path to one element of the array that `match` goes through leads all records of a batch to that of one of them. */
function refuseShared({ paths }: Mapping, array: readonly (string | number)[]): void {
  for (const text of paths) {
    const { root, legs } = compilePath(text);
    const [leg = []] = legs;
    const isElement = array.every((part, index) => leg[index] === part) && typeof leg[array.length] === 'number';
    if (root !== 'body' || !isElement) continue;
    const own = leg.slice(array.length + 1).reduce<string>(pathTo, `${array.reduce<string>(pathTo, '')}[]`);
    throw new Error(`"${text}" is the same element for all records of a batch; "${own}" gives each its own`);
  }
}

function arrayIn({ response, body }: Exchange, array: readonly (string | number)[], name: string): readonly Value[] {
  const value = valueAt(body, array);
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null) return [];
  throw new Failure('mapping', `expected an array at "${name}", found ${kindOf(value)}`, { status: response.status });
}

type Finding = (key: string, index: number) => readonly Value[];

function byValue(elements: readonly Value[], path: readonly (string | number)[]): Finding {
  const found = new Map<string, Value[]>();
  for (const element of elements) {
    const value = valueAt(element, path);
    if (value === undefined || value === null) continue;
    const key = textOf(value);
    const others = found.get(key);
    if (others) others.push(element);
    else found.set(key, [element]);
  }
  return (key) => found.get(key) ?? [];
}

/** With one too few, nobody can tell whose it is. */
function otherCount(elements: readonly unknown[], entries: readonly unknown[], name: string): string {
  return `expected ${entries.length} elements in "${name}" for ${entries.length} records, found ${elements.length}; batch.match joins them by a value`;
}

function byPosition(elements: readonly Value[]): Finding {
  return (_key, index) => elements.slice(index, index + 1).filter((element) => element !== null);
}

type ItemTemplate = (fields: Fields) => Value;

function itemTemplate(items: BatchOptions['items']): ItemTemplate {
  if (typeof items === 'string') return valueTemplate(items);
  const members = Object.entries(items).map(([name, text]) => ({
    name,
    value: typeof text === 'string' ? valueTemplate(text) : () => text,
  }));
  return (fields) => Object.fromEntries(members.map(({ name, value }) => [name, value(fields)]));
}

function itemReads(items: BatchOptions['items']): FieldUse[] {
  if (typeof items === 'string') return referencedFields(items).map((field) => ({ field, at: ['batch', 'items'] }));
  return Object.entries(items).flatMap(([name, text]) =>
    typeof text === 'string' ? referencedFields(text).map((field) => ({ field, at: ['batch', 'items', name] })) : [],
  );
}
