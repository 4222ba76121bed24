import type { FakeAnswer } from './fake-answer.ts';
import type { SentRequest } from './run-flow.ts';

/** The option `match` that finds records in the answer by their ids. */
export const byId = 'match: { field: id, path: "results[].id" }';

/** The option `map` that reads the name of each element. */
export const named = 'map: { name: "results[].name" }';

/** The options of a flow with a batch. */
export interface LookupParts {
  /** Additional options of `batch`. */
  readonly batch?: string;
  readonly items?: string;
  readonly body?: string;
  /** Additional options of the node. */
  readonly more?: string;
  readonly before?: string;
  readonly behind?: string;
}

/** Returns a flow that looks up many records with one request. */
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

/** Returns the list in the body of a request. */
export const listIn = ({ body }: { body?: string }): unknown[] => JSON.parse(body ?? '{}').ids ?? [];

/** Returns the lists in all requests that contain one. */
export const lists = ({ requests }: { requests: readonly SentRequest[] }): unknown[][] =>
  requests.filter(({ body }) => body !== undefined).map(listIn);

/** Returns the lengths of the lists in all requests. */
export const sizes = (result: { requests: readonly SentRequest[] }): number[] => lists(result).map(({ length }) => length);

/** Answers with a name for every id except the `unknown` ones, in reverse order. */
export const names =
  (unknown: readonly unknown[] = []) =>
  (request: SentRequest): FakeAnswer => {
    const known = listIn(request).filter((id) => !unknown.includes(id));
    return { body: { results: known.reverse().map((id) => ({ id, name: `name ${id}` })) } };
  };

/** Records with the ids r1, r2, and so on. */
export const records = (count: number): { id: string }[] => Array.from({ length: count }, (_, index) => ({ id: `r${index + 1}` }));

/** Returns the ids of rows. */
export const idsOf = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ id }) => id);
