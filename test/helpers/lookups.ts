import type { FakeAnswer } from './fake-answer.ts';
import type { SentRequest } from './run-flow.ts';

/** Joins by the id. */
export const byId = 'match: { field: id, path: "results[].id" }';

/** Maps the name of each element. */
export const named = 'map: { name: "results[].name" }';

/** The parts of a flow with a batch. */
export interface LookupParts {
  /** Options of `batch`, besides items. */
  readonly batch?: string;
  readonly items?: string;
  readonly body?: string;
  /** Options of the node. */
  readonly more?: string;
  readonly before?: string;
  readonly behind?: string;
}

/** A flow that looks many records up with one request. */
export function lookup({
  batch = byId,
  items = '"{{id}}"',
  body = '{ ids: "{{items}}" }',
  more = named,
  before = '',
  behind = '',
}: LookupParts = {}): string {
  return `nodes:
${before}  - { id: ask, type: http, method: POST, url: "https://api.example.com/lookup", batch: { ${batch}, items: ${items} }, body: ${body}, ${more} }
${behind}`;
}

/** The list in a request's body. */
export const listIn = ({ body }: { body?: string | undefined }): unknown[] => JSON.parse(body ?? '{}').ids ?? [];

/** The lists of all requests that have one. */
export const lists = ({ requests }: { requests: readonly SentRequest[] }): unknown[][] =>
  requests.filter(({ body }) => body !== undefined).map(listIn);

/** The lengths of those lists. */
export const sizes = (result: { requests: readonly SentRequest[] }): number[] => lists(result).map(({ length }) => length);

/** Answers a name for every id, in reverse order, without those that are `unknown`. */
export const names =
  (unknown: readonly unknown[] = []) =>
  (request: SentRequest): FakeAnswer => {
    const known = listIn(request).filter((id) => !unknown.includes(id));
    return { body: { results: known.reverse().map((id) => ({ id, name: `name ${id}` })) } };
  };

/** Records with the ids r1, r2, and so on. */
export const records = (count: number): { id: string }[] => Array.from({ length: count }, (_, index) => ({ id: `r${index + 1}` }));

/** The ids of rows. */
export const idsOf = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ id }) => id);
