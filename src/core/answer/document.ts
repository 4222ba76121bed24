import { isObject, type JsonObject, type Value } from '../value/value.ts';
import type { Path } from './path.ts';

/** The kinds of documents besides JSON that an answer can be. */
export type DocumentKind = 'xml' | 'csv';

/** Parses the text of a document. Throws a DocumentError. */
export type ParseDocument = (text: string) => Value;

/** The parsers of documents. Each is loaded when the first answer needs it. */
export interface Documents {
  load(kind: DocumentKind): Promise<ParseDocument>;
}

/** The place of a mistake in a text, both 1-based. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** A text that is not the document it should be. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';

  /** `isCutOff`: the text ends too early, as if its end were missing. */
  constructor(
    message: string,
    readonly place: TextPlace,
    readonly isCutOff = false,
  ) {
    super(message);
  }
}

/** The way to a value. `each` stands for every element of a list. */
type Steps = readonly (string | number | typeof each)[];
const each = Symbol('each element');

/** The places that a path takes for lists: those in front of `[]` and `[0]`. `isList`: the path itself leads to a list. */
export function listsOn({ legs, root }: Path, isList = false): Steps[] {
  if (root !== 'body') return [];
  const steps = legs.flatMap((leg, index) => (index === 0 ? [...leg] : [each, ...leg]) as Steps);
  const places = steps.flatMap((step, index) => (typeof step === 'string' ? [] : [steps.slice(0, index)]));
  return isList ? [...places, steps] : places;
}

/** A document in which elements that stand alone are lists at these places: XML has no lists of one. Changes it in place. */
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
