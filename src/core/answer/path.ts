import { isObject, orUndefined, type Value } from '../value/value.ts';

/** One step into a value: a name, an index, or each element of an array. */
type Step = string | number | typeof each;
const each = Symbol('each element');

/** A compiled path into an answer. */
export interface Path {
  readonly text: string;
  /** The part of the answer that the path starts from. A header's name is its only step, in lower case. */
  readonly root: 'body' | 'status' | 'headers';
  /** The steps, cut at every `[]`: n expansions make n + 1 legs. */
  readonly legs: readonly (readonly (string | number)[])[];
}

/** Compiles `data.user.name`, `results[0].value`, `items[].id`, `["odd key"]`, `$status`, `$headers.etag`, `$body`. Throws an Error with the reason for a refusal. */
export function compilePath(text: string): Path {
  const steps = stepsOf(text);
  const first = steps[0];
  const quoted = text.startsWith('[');
  if (!quoted && first === '$status' && steps.length === 1) return { text, root: 'status', legs: [[]] };
  if (!quoted && first === '$headers') return headerPath(text, steps);
  if (!quoted && typeof first === 'string' && first.startsWith('$') && first !== '$body') {
    throw new Error(
      `expected $status, $headers.NAME or $body, found "${text}"; ${otherSyntax(text) ?? `a field of that name is ["${first}"]`}`,
    );
  }
  return { text, root: 'body', legs: legsOf(!quoted && first === '$body' ? steps.slice(1) : steps) };
}

function headerPath(text: string, steps: Step[]): Path {
  const [, name, ...more] = steps;
  if (typeof name !== 'string' || more.length > 0) throw new Error(`expected $headers.NAME, found "${text}"`);
  return { text, root: 'headers', legs: [[name.toLowerCase()]] };
}

function legsOf(steps: Step[]): (string | number)[][] {
  const legs: (string | number)[][] = [[]];
  for (const step of steps) {
    if (step === each) legs.push([]);
    else (legs.at(-1) as (string | number)[]).push(step);
  }
  return legs;
}

const token = /(?<dot>\.)?(?<name>[^.[\]"\s]+(?: +[^.[\]"\s]+)*)|\[(?:(?<index>\d+)|(?<quoted>"(?:[^"\\]|\\.)*"))?\]/y;

function stepsOf(text: string): Step[] {
  const steps: Step[] = [];
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
    `expected a path such as data.user.name, results[0].value, items[].id or ["odd key"], found "${text}"${advice ? `; ${advice}` : ` (wrong from character ${at + 1})`}`,
  );
}

/** Advice for a path of JSONPath or jq: these begin with `$.` or `.`, and JSONPath writes `['name']` and `[*]`. */
function otherSyntax(text: string): string | undefined {
  const plain = text
    .replace(/^\$?(?:\.|(?=\[))/, '')
    .replaceAll('[*]', '[]')
    .replaceAll(/\['([^'"\\]+)'\]/g, '["$1"]');
  if (plain === text || plain === '') return undefined;
  return orUndefined(() => `did you mean ${compilePath(plain).text}?`);
}

/** The value at the end of the steps, `undefined` if there is none. Inherited properties do not count. */
export function valueAt(value: Value | undefined, steps: readonly (string | number)[]): Value | undefined {
  let current = value;
  for (const step of steps) {
    if (typeof step === 'number') current = Array.isArray(current) ? current[step] : undefined;
    else current = isObject(current) && Object.hasOwn(current, step) ? current[step] : undefined;
  }
  return current;
}

const plainName = /^[^.[\]"\s$][^.[\]"\s]*$/;

/** A path with one more step. A name is quoted if it has to be. */
export function pathTo(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  if (!plainName.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}
