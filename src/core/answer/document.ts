import { formatCount } from '../text/number.ts';
import { isObject, type Value } from '../value/value.ts';
import type { Path } from './path.ts';

interface KindOfDocument {
  /** In messages. */
  readonly name: string;
  /** Of answers, in lower case and without parameters. */
  readonly contentType?: RegExp;
  /** The media types that a request names in its Accept header. */
  readonly accept?: string;
}

/** A new one is an entry here, and a parser in `http/documents`. */
export const documentKinds = {
  // XHTML is treated as text, like HTML.
  xml: {
    name: 'XML',
    contentType: /^\s*(?:(?:application|text)\/xml|(?!application\/xhtml)\S+\+xml)\s*$/,
    accept: 'application/xml, text/xml',
  },
  csv: { name: 'CSV', contentType: /^\s*text\/csv\s*$/, accept: 'text/csv' },
  ndjson: {
    name: 'NDJSON',
    contentType: /^\s*(?:application|text)\/(?:\S*[.+-])?(?:ndjson|jsonl|jsonlines|json-lines|json-seq)\s*$/,
    accept: 'application/x-ndjson, application/jsonl',
  },
  // CSV without a header, whose last row might be cut off.
  rows: { name: 'CSV' },
} as const satisfies Readonly<Record<string, KindOfDocument>>;

export type DocumentKind = keyof typeof documentKinds;

/** The kinds that an answer can announce, and a flow can ask for. */
export const announcedKinds = (Object.keys(documentKinds) as DocumentKind[]).filter((kind) => kind !== 'rows');

/** `contentType` is in lower case and has no parameters. */
export function announcedKind(contentType: string): DocumentKind | undefined {
  return announcedKinds.find((kind) => documentKinds[kind].contentType.test(contentType));
}

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
