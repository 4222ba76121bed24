import type { ASTNode } from '@marcbachmann/cel-js';

/** A call of the macro, as the CEL library passes it to all three functions. `path` is set once the call is checked. */
interface PresenceCall {
  readonly args: readonly ASTNode[];
  path?: { readonly root: ASTNode; readonly names: readonly string[] };
}

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
 * `has(a)` and `has(a.b.c)`: true if nothing on the path is missing or null. CEL's own `has` fails for a member of null and is true for a
 * null member, but most APIs write null for nothing.
 */
export function presenceTest({ args }: Pick<PresenceCall, 'args'>): object {
  return { args, typeCheck, evaluate, async: false };
}

function typeCheck(checker: Checker, call: PresenceCall, context: unknown): unknown {
  const names: string[] = [];
  let root = call.args[0] as ASTNode;
  while (root.op === '.') {
    const [holder, name] = root.args as [ASTNode, string];
    names.unshift(name);
    root = holder;
  }
  if (root.op !== 'id') throw checker.createError('invalid_macro_argument', 'has() invalid argument', root);
  checker.check(root, context);
  call.path = { root, names };
  return checker.getType('bool');
}

function evaluate(evaluator: Evaluator, { path }: PresenceCall, context: unknown): boolean {
  const { root, names } = path as NonNullable<PresenceCall['path']>;
  let value = evaluator.run(root, context);
  for (const name of names) value = value instanceof Map ? value.get(name) : undefined;
  return value !== undefined && value !== null;
}
