import { referable } from '../../../core/template/template.ts';
import { type OpenApi, type Part, partOf } from './document.ts';
import type { Operation } from './operations.ts';
import { typeOf } from './sample.ts';

const maxFields = 12;
const maxDepth = 3;

/** A value in an answer: the names that lead to it. */
interface Leaf {
  readonly path: string;
  readonly names: readonly string[];
}

/**
 * The `map` of an operation: the values of its successful JSON answer, the outermost first. An answer that is a list, or holds one
 * under a name such as `data`, becomes a record for each element. Undefined if no successful answer is JSON. `columns`: the columns of
 * the input, which no value may overwrite.
 */
export function answerMap(document: OpenApi, operation: Operation, columns: readonly string[]): Record<string, string> | undefined {
  const written = answerSchema(document, operation.part);
  if (written === undefined) return undefined;
  const { schema, start } = listedSchema(document, document.schema(written), operation);
  const leaves = leavesOf(document, schema, { path: start, names: [] }).sort((one, other) => one.names.length - other.names.length);
  const resource = resourceOf(operation) || 'answer';
  const map = new Map<string, string>();
  for (const { path, names } of leaves.slice(0, maxFields)) {
    const own = referable(names.join('_')) || 'value';
    const field = columns.includes(own) || map.has(own) ? `${resource}_${own}` : own;
    if (!map.has(field)) map.set(field, path);
  }
  return map.size === 0 ? undefined : Object.fromEntries(map);
}

/** The schema of the first successful answer that is JSON. */
function answerSchema({ at }: OpenApi, { responses }: Part): unknown {
  const answers = Object.entries(partOf(responses))
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  for (const [, answer] of answers) {
    const content = Object.entries(partOf(at(answer).content)).find(([type]) => isJson(type));
    if (content) return at(content[1]).schema;
  }
  return undefined;
}

/** True for a media type of JSON. */
export function isJson(type: string): boolean {
  return /^(?:application|text)\/(?:[\w.-]+\+)?json\b|^\*\/\*$/i.test(type);
}

const envelopes = /^(?:data|items|results?|records|values?|entries|hits|rows|list|content|elements)$/i;

/** The schema of one element and the path to it, if the answer is a list; else the answer itself. */
function listedSchema(document: OpenApi, schema: Part, operation: Operation): { readonly schema: Part; readonly start: string } {
  if (typeOf(schema) === 'array') return { schema: document.schema(schema.items), start: '$body[]' };
  const resource = resourceOf(operation);
  for (const [name, member] of Object.entries(partOf(schema.properties))) {
    const own = document.schema(member);
    if (typeOf(own) !== 'array' || !(envelopes.test(name) || name.toLowerCase() === resource.toLowerCase())) continue;
    return { schema: document.schema(own.items), start: `${step('', name)}[]` };
  }
  return { schema, start: '' };
}

/** The scalar values within a schema. `above`: the schemas that hold it, which it may refer to. */
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

/** The last literal part of the path: `pets` for `/v1/pets/{petId}`. */
function resourceOf({ path }: Operation): string {
  const literal = path.split('/').findLast((segment) => segment !== '' && !segment.includes('{'));
  return referable(literal ?? '');
}
