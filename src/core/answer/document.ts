import { formatCount } from '../text/number.ts';
import { isObject, type Value } from '../value/value.ts';
import type { Path } from './path.ts';

/** `rows` is CSV without a header, whose last row might be cut off. */
export type DocumentKind = 'xml' | 'csv' | 'rows' | 'ndjson';

/** The parsers for documents. Each parser is loaded when the first response needs it. */
export interface Documents {
  /** Takes linear time, and yields in between. Rejects with a DocumentError if the text is invalid or has more than `maxParts` parts. */
  parse(kind: DocumentKind, text: string): Promise<Value>;
}

/** Maximum number of elements or cells in a document. A hostile document of 10 MB could otherwise use gigabytes of memory. */
export const maxParts = 1_000_000;

export function tooManyParts(parts: string): DocumentError {
  const advice = 'request less at once, for example with paginate or with a filter in the URL';
  return new DocumentError(`the answer has more than ${formatCount(maxParts)} ${parts}\n${advice}`);
}

/** Line and column are 1-based. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

export class DocumentError extends Error {
  override readonly name = 'DocumentError';

  /** `place` is undefined if the whole document is the mistake. `isCutOff` is true if the text ends too early. */
  constructor(
    message: string,
    readonly place?: TextPlace,
    readonly isCutOff = false,
  ) {
    super(message);
  }
}

/** `each` stands for every element of a list. */
type DocumentPath = readonly (string | number | typeof each)[];
const each = Symbol('each element');

/** Returns where a path expects a list, because `[]` or `[0]` follows. `isList` is true if the path itself leads to a list. */
export function listsOn({ legs, root }: Path, isList = false): DocumentPath[] {
  if (root !== 'body') return [];
  const steps = legs.flatMap((leg, index) => (index === 0 ? [...leg] : [each, ...leg]) as DocumentPath);
  const places = steps.flatMap((step, index) => (typeof step === 'string' ? [] : [steps.slice(0, index)]));
  return isList ? [...places, steps] : places;
}

/** Wraps the values at these positions in lists, because in XML a list with one element looks like a single element. */
export function withLists(document: Value, places: readonly DocumentPath[]): Value {
  return [...places].sort((a, b) => a.length - b.length).reduce<Value>(withList, document);
}

function withList(value: Value, [step, ...rest]: DocumentPath): Value {
  if (step === undefined) return Array.isArray(value) ? value : [value];
  if (Array.isArray(value)) {
    const elements = value.map((element, index) => (step === each || step === index ? withList(element, rest) : element));
    return elements.some((element, index) => element !== value[index]) ? elements : value;
  }
  if (typeof step !== 'string' || !isObject(value) || !Object.hasOwn(value, step)) return value;
  const before = value[step] as Value;
  const after = withList(before, rest);
  return after === before ? value : { ...value, [step]: after };
}
