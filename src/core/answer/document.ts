import { isObject, type JsonObject, type Value } from '../value/value.ts';
import type { Path } from './path.ts';

/** The formats of documents that a response can contain, besides JSON. */
export type DocumentKind = 'xml' | 'csv';

/** Parses the text of a document. Throws a DocumentError if the text is not a valid document. */
export type ParseDocument = (text: string) => Value;

/** The parsers for documents. Each parser is loaded when the first response needs it. */
export interface Documents {
  load(kind: DocumentKind): Promise<ParseDocument>;
}

/** The position of a mistake in a document. Line and column are 1-based. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** The error for text that is not a valid document. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';

  /** `isCutOff` is true if the text ends too early, so that the document is incomplete. */
  constructor(
    message: string,
    readonly place: TextPlace,
    readonly isCutOff = false,
  ) {
    super(message);
  }
}

/** The steps that lead to a value in a document. `each` stands for every element of a list. */
type Steps = readonly (string | number | typeof each)[];
const each = Symbol('each element');

/**
 * Returns the positions in the document at which a path expects a list, because `[]` or `[0]` follows. `isList` is true if the path itself
 * leads to a list.
 */
export function listsOn({ legs, root }: Path, isList = false): Steps[] {
  if (root !== 'body') return [];
  const steps = legs.flatMap((leg, index) => (index === 0 ? [...leg] : [each, ...leg]) as Steps);
  const places = steps.flatMap((step, index) => (typeof step === 'string' ? [] : [steps.slice(0, index)]));
  return isList ? [...places, steps] : places;
}

/**
 * Wraps the values at these positions in lists if they are not lists already. In XML, a list with one element looks like a single element.
 * Changes the document in place, and returns it.
 */
export function withLists(document: Value, places: readonly Steps[]): Value {
  const holder: JsonObject = { document };
  for (const place of [...places].sort((a, b) => a.length - b.length)) makeList(holder, 'document', place);
  return holder.document as Value;
}

function makeList(holder: JsonObject | Value[], key: string | number, [step, ...rest]: Steps): void {
  const inside = holder as JsonObject;
  const value = inside[key];
  if (value === undefined) return;
  if (step === undefined) {
    if (!Array.isArray(value)) inside[key] = [value];
  } else if (step === each) {
    if (Array.isArray(value)) for (const index of value.keys()) makeList(value, index, rest);
  } else if (Array.isArray(value) ? typeof step === 'number' : isObject(value) && Object.hasOwn(value, step)) {
    makeList(value as JsonObject | Value[], step, rest);
  }
}
