import { nearest } from '../text/suggest.ts';
import { isObject, orUndefined, type Value, type ValuePath } from '../value/value.ts';
import { type FactName, factNames } from './facts.ts';

/** `each` stands for every element of a list. */
type PathStep = string | number | typeof each;
const each = Symbol('each element');

export interface Path {
  readonly text: string;
  /** After `headers`, the only step is the header name in lower case. */
  readonly root: 'body' | 'status' | 'headers' | FactName;
  /** The steps of the path, split into legs at every `[]`. A path with n `[]` has n + 1 legs. */
  readonly legs: readonly ValuePath[];
}

const outsideBody: ReadonlySet<string> = new Set(['status', ...factNames]);

/** Compiles paths such as `items[0].id`, `["odd key"]`, `$status` or `$headers.etag`. Throws an Error with the reason if invalid. */
export function compilePath(text: string): Path {
  if (text.startsWith('{{')) refusePath(text, 0);
  const steps = stepsOf(text);
  const first = steps[0];
  const quoted = text.startsWith('[');
  const root = !quoted && typeof first === 'string' && first.startsWith('$') ? first.slice(1) : undefined;
  if (root !== undefined && outsideBody.has(root) && steps.length === 1) return { text, root: root as 'status' | FactName, legs: [[]] };
  if (!quoted && first === '$headers') return headerPath(text, steps);
  if (root !== undefined && root !== 'body') throw new Error(otherRoot(text, first as string));
  return { text, root: 'body', legs: legsOf(!quoted && first === '$body' ? steps.slice(1) : steps) };
}

const facts = factNames.map((name) => `$${name}`);

function otherRoot(text: string, first: string): string {
  const near = nearest(first, ['$status', '$headers', '$body', ...facts]);
  const meant = near === undefined || near === first ? undefined : `did you mean ${near}?`;
  const wayOut = otherSyntax(text) ?? meant ?? `for a field with that name, write ["${first}"]`;
  return `expected $status, $headers.NAME or $body, or ${facts.slice(0, -1).join(', ')} or ${facts.at(-1)} in a map, found "${text}"; ${wayOut}`;
}

/** True for `$url`, `$at` and the other facts of an answer. */
export function isFact({ root }: Path): boolean {
  return (factNames as readonly string[]).includes(root);
}

function headerPath(text: string, steps: PathStep[]): Path {
  const [, name, ...more] = steps;
  if (typeof name !== 'string' || more.length > 0) throw new Error(`expected $headers.NAME, found "${text}"`);
  return { text, root: 'headers', legs: [[name.toLowerCase()]] };
}

function legsOf(steps: PathStep[]): (string | number)[][] {
  const legs: (string | number)[][] = [[]];
  for (const step of steps) {
    if (step === each) legs.push([]);
    else (legs.at(-1) as (string | number)[]).push(step);
  }
  return legs;
}

const token = /(?<dot>\.)?(?<name>[^.[\]"\s]+(?: +[^.[\]"\s]+)*)|\[(?:(?<index>\d+)|(?<quoted>"(?:[^"\\]|\\.)*"))?\]/y;

function stepsOf(text: string): PathStep[] {
  const steps: PathStep[] = [];
  let at = 0;
  while (at < text.length) {
    token.lastIndex = at;
    const groups = token.exec(text)?.groups;
    const misplacedDot = groups?.name !== undefined && (groups.dot === undefined) !== (at === 0);
    if (!groups || misplacedDot) return refusePath(text, at);
    if (groups.name !== undefined) steps.push(groups.name);
    else if (groups.index !== undefined) steps.push(Number(groups.index));
    else if (groups.quoted !== undefined)
      steps.push(orUndefined(() => JSON.parse(groups.quoted as string) as string) ?? refusePath(text, at));
    else steps.push(each);
    at = token.lastIndex;
  }
  if (steps.length === 0) throw new Error('expected a path such as data.user.name, found nothing');
  return steps;
}

function refusePath(text: string, at: number): never {
  const advice = otherSyntax(text);
  throw new Error(
    `expected a path such as data.user.name, results[0].value, items[].id or ["odd key"], found "${text}"${advice ? `; ${advice}` : ` (error at character ${at + 1})`}`,
  );
}

/**
 * Returns the suggested path if the text is written in the syntax of JSONPath, jq or a template. A JSONPath begins with `$.` and can contain
 * `['name']` and `[*]`; a jq path begins with `.`. Returns undefined for other text.
 */
export function otherSyntax(text: string): string | undefined {
  const plain = text
    .replace(/^\{\{\s*([^{}]*?)\s*\}\}$/, '$1')
    .replace(/^\$?(?:\.|(?=\[))/, '')
    .replaceAll('[*]', '[]')
    .replaceAll(/\['([^'"\\]+)'\]/g, '["$1"]');
  if (plain === text || plain === '') return undefined;
  return orUndefined(() => `did you mean ${compilePath(plain).text}?`);
}

/** Ignores inherited properties of objects. */
export function valueAt(value: Value | undefined, steps: ValuePath): Value | undefined {
  let current = value;
  for (const step of steps) {
    if (typeof step === 'number') current = Array.isArray(current) ? current[step] : undefined;
    else current = isObject(current) && Object.hasOwn(current, step) ? current[step] : undefined;
  }
  return current;
}

const plainName = /^(?!\{\{)[^.[\]"\s$][^.[\]"\s]*$/;

export function pathTo(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  if (!plainName.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** Suggests the name of a field for a path. */
export function lastName(path: string): string {
  const { root, legs } = compilePath(path);
  const name = legs.flat().findLast((step) => typeof step === 'string' && step !== '') ?? (path.startsWith('$') ? root : 'value');
  return String(name).replace(/^\$/, '');
}
