/** A part of a parsed expression, as the CEL library represents it. */
export interface Operation {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
  readonly end: number;
}

/** True for a part of a parsed expression. */
export function isOperation(node: unknown): node is Operation {
  return typeof node === 'object' && node !== null && 'op' in node;
}

/** A type of values to which text is never equal. */
export type Kind = 'number' | 'bool';

/** The variables that enclosing macros declare, such as `x` in `list.all(x, x > 0)`, and the kind of their values if it is known. */
export type Bound = ReadonlyMap<string, Kind | undefined>;

/** A field as an expression refers to it. */
export interface NamedField {
  readonly field: string;
  /** The text of the reference, such as `id` or `record.id`. */
  readonly written: string;
  /** The 0-based position of the reference in the expression. */
  readonly offset: number;
}

/** A field that the expression compares with a number or with true or false, or uses in a calculation. */
export interface Mismatch extends NamedField {
  readonly kind: Kind;
  /**
   * True if the evaluation fails when the field is a string. False if the evaluation succeeds, but the comparison is never true.
   */
  readonly fails: boolean;
}

const comparisons = new Set(['==', '!=']);
const calculations = new Set(['<', '<=', '>', '>=', '+', '-', '*', '/', '%']);
const decisions = new Set(['==', '!=', '<', '<=', '>', '>=', 'in', '&&', '||', '!_']);
const numberFunctions = new Set(['int', 'uint', 'double', 'size']);

/**
 * Returns the field that an operation compares or calculates with a value of another type than text; undefined if there is none. `fieldOf`
 * returns the field to which an operand refers.
 */
export function mismatchIn(
  { op, args }: Operation,
  bound: Bound,
  fieldOf: (operand: unknown) => NamedField | undefined,
): Mismatch | undefined {
  const isCalculation = calculations.has(op);
  if (!isCalculation && !comparisons.has(op) && op !== 'in') return undefined;
  const [left, right] = args as [Operation, Operation];
  const sides = op === 'in' ? [left, ...elementsOf(right)] : [left, right];
  const field = sides.map(fieldOf).find((found) => found !== undefined);
  const kind = sides.map((side) => kindOf(side, bound)).find((found) => found !== undefined);
  const isPure = op !== 'in' || sides.every((side) => fieldOf(side) !== undefined || kindOf(side, bound) !== undefined);
  if (!field || !kind || !isPure || (isCalculation && kind === 'bool')) return undefined;
  return { ...field, kind, fails: isCalculation };
}

/** Returns the elements of a list that is written in the expression; empty for any other value. */
function elementsOf({ op, args }: Operation): Operation[] {
  return op === 'list' ? (args as Operation[]) : [];
}

/** Returns the kind of the elements of a list that is written in the expression; undefined if they differ or are unknown. */
export function elementKind(list: Operation, bound: Bound): Kind | undefined {
  const [first, ...others] = elementsOf(list).map((element) => kindOf(element, bound));
  return others.every((kind) => kind === first) ? first : undefined;
}

/** Returns the kind of values that a part of an expression gives; undefined if it can be text, or is not known. */
function kindOf({ op, args }: Operation, bound: Bound): Kind | undefined {
  if (op === 'id') return bound.get(args as string);
  if (op === 'value') return literalKind(args);
  if (decisions.has(op)) return 'bool';
  const operands = Array.isArray(args) ? args : [args];
  if (op === '?:') return kindOf(operands[1], bound) === kindOf(operands[2], bound) ? kindOf(operands[1], bound) : undefined;
  if (op === '-_' || calculations.has(op)) return operands.some((operand) => kindOf(operand, bound) === 'number') ? 'number' : undefined;
  const [name] = operands;
  if (op === 'call' || op === 'rcall') return numberFunctions.has(name) ? 'number' : name === 'bool' || name === 'has' ? 'bool' : undefined;
  return undefined;
}

function literalKind(value: unknown): Kind | undefined {
  if (typeof value === 'boolean') return 'bool';
  // An object is an unsigned number such as 5u, or bytes.
  return typeof value === 'string' || value === null || value instanceof Uint8Array ? undefined : 'number';
}
