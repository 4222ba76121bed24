import type { ASTNode } from '@marcbachmann/cel-js';

/** A call of the macro, as the CEL library passes it to all three functions. `path` is set once the call is checked. */
interface PresenceCall {
  readonly args: readonly ASTNode[];
  path?: { readonly root: ASTNode; readonly names: readonly Key[] };
}

/** A name, or the index of an element. */
type Key = string | bigint;

/** The parts of the CEL library's checker that its own `has` uses, too. */
interface Checker {
  check(node: ASTNode, context: unknown): unknown;
  getType(name: string): unknown;
  createError(code: string, message: string, node: ASTNode): Error;
}

interface Evaluator {
  run(node: ASTNode, context: unknown): unknown;
}

/**
 * `has(a)`, `has(a.b.c)` and `has(a[0].b)`: true if nothing on the path is missing or null. CEL's own `has` fails for a member of null and
 * is true for a null member, but most APIs write null for nothing.
 */
export function presenceTest({ args }: Pick<PresenceCall, 'args'>): object {
  return { args, typeCheck, evaluate, async: false };
}

function typeCheck(checker: Checker, call: PresenceCall, context: unknown): unknown {
  const names: Key[] = [];
  let root = call.args[0] as ASTNode;
  for (let key = keyOf(root); key !== undefined; key = keyOf(root)) {
    names.unshift(key);
    [root] = root.args as [ASTNode];
  }
  if (root.op !== 'id') throw checker.createError('invalid_macro_argument', 'has() tests a path, such as has(a.b) or has(a[0].b)', root);
  checker.check(root, context);
  call.path = { root, names };
  return checker.getType('bool');
}

/** Undefined if the node is not a member with a constant name or index. */
function keyOf({ op, args }: ASTNode): Key | undefined {
  if (op !== '.' && op !== '[]') return undefined;
  const [, key] = args as [ASTNode, string | ASTNode];
  if (typeof key === 'string') return key;
  return key.op === 'value' && ['string', 'bigint'].includes(typeof key.args) ? (key.args as Key) : undefined;
}

function evaluate(evaluator: Evaluator, { path }: PresenceCall, context: unknown): boolean {
  const { root, names } = path as NonNullable<PresenceCall['path']>;
  let value = evaluator.run(root, context);
  for (const name of names) value = value instanceof Map ? value.get(name) : Array.isArray(value) ? value[Number(name)] : undefined;
  return value !== undefined && value !== null;
}
