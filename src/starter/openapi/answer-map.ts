import { referable } from '../../core/template/template.ts';
import { freeName } from '../../core/text/suggest.ts';
import { answerList } from './answer-list.ts';
import { successfulAnswer } from './described-answer.ts';
import { type OpenApi, type Part, partOf } from './document.ts';
import type { Operation } from './operations.ts';
import { typeOf } from './sample.ts';

const maxFields = 12;
const maxDepth = 3;

/** A scalar value in a response: its path, and the names along that path. */
interface Leaf {
  readonly path: string;
  readonly names: readonly string[];
}

/** A `map` for the values of a response. */
interface AnswerMap {
  readonly map: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

/**
 * Returns a `map` that reads the values of an operation's successful JSON response, outermost values first. If the response is a list, or
 * contains one, the map splits it into one record per element. Undefined if no successful response is JSON. The
 * map replaces none of `columns`, the fields of the records: a value with such a name gets another one, and a note says so.
 */
export function answerMap(document: OpenApi, operation: Operation, columns: readonly string[]): AnswerMap | undefined {
  const answer = successfulAnswer(document, operation.part);
  if (answer?.media.schema === undefined) return undefined;
  const list = answerList(document, operation, answer);
  const [schema, start] = list ? [list.element, `${list.path}[]`] : [document.schema(answer.media.schema), ''];
  const leaves = leavesOf(document, schema, { path: start, names: [] }).sort((one, other) => one.names.length - other.names.length);
  const map = new Map<string, string>();
  const notes: string[] = [];
  for (const { path, names } of leaves.slice(0, maxFields)) {
    const own = referable(names.join('_')) || 'value';
    const field = freeName(own, (name) => columns.includes(name) || map.has(name));
    if (columns.includes(own)) notes.push(`the answer's "${own}" becomes ${field}, because the records already have a field "${own}"`);
    map.set(field, path);
  }
  return map.size === 0 ? undefined : { map: Object.fromEntries(map), notes };
}

/** Returns the scalar values within a schema. `above` lists the enclosing schemas, to detect recursion. */
function leavesOf(document: OpenApi, schema: Part, { path, names }: Leaf, above: readonly Part[] = []): Leaf[] {
  const type = typeOf(schema);
  if (type === 'array' || names.length > maxDepth) return [];
  if (type !== 'object') return path === '' ? [{ path: '$body', names: ['value'] }] : [{ path, names }];
  return Object.entries(partOf(schema.properties)).flatMap(([name, member]) => {
    const own = document.schema(member);
    if (own.writeOnly === true || above.includes(document.at(member))) return [];
    return leavesOf(document, own, { path: step(path, name), names: [...names, name] }, [...above, document.at(member)]);
  });
}

function step(path: string, name: string): string {
  if (!/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}
