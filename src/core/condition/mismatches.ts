/** A part of a parsed expression, as the CEL library represents it. */
export interface CelOperation {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
  readonly end: number;
}

export function isOperation(node: unknown): node is CelOperation {
  return typeof node === 'object' && node !== null && 'op' in node;
}

/** A type of values to which text is never equal. */
export type Kind = 'number' | 'bool' | 'timestamp' | 'duration' | 'list' | 'null';

/** The variables that enclosing macros declare, such as `x` in `list.all(x, x > 0)`, and the kind of their values if it is known. */
export type Bound = ReadonlyMap<string, Kind | undefined>;

export interface NamedField {
  readonly field: string;
  /** The text of the reference, such as `id` or `record.id`. */
  readonly written: string;
  /** The 0-based position of the reference in the expression. */
  readonly offset: number;
}

/** A field that the expression uses in a way that makes no sense for text, such as a comparison with a number. */
export interface Mismatch extends NamedField {
  /** The kind of the other value; `type` if the field's type is compared, and `member` if `has()` tests a member of the field. */
  readonly kind: Kind | 'type' | 'member';
  /** True if the evaluation fails when the field is a string. False if the evaluation succeeds, but the comparison is never true. */
  readonly fails: boolean;
  /** The same comparison with text; undefined if there is none. */
  readonly asText?: string;
}

const comparisons = new Set(['==', '!=']);
const calculations = new Set(['<', '<=', '>', '>=', '+', '-', '*', '/', '%']);
const decisions = new Set(['==', '!=', '<', '<=', '>', '>=', 'in', '&&', '||', '!_']);
const kindsOfCalls = new Map<unknown, Kind>([
  ...['int', 'uint', 'double', 'size'].map((name) => [name, 'number'] as const),
  ...['bool', 'has'].map((name) => [name, 'bool'] as const),
  ['timestamp', 'timestamp'],
  ['now', 'timestamp'],
  ['duration', 'duration'],
]);
const otherTypes = new Set(['int', 'uint', 'double', 'bool', 'bytes', 'list', 'map']);

interface OuterExpression {
  readonly source: string;
  readonly bound: Bound;
  fieldOf(operand: unknown): NamedField | undefined;
}

/** Returns the field that an operation compares or calculates with a value of another type than text; undefined if there is none. */
export function mismatchIn(operation: CelOperation, { source, bound, fieldOf }: OuterExpression): Mismatch | undefined {
  const { op, args } = operation;
  const isCalculation = calculations.has(op);
  if (!isCalculation && !comparisons.has(op) && op !== 'in') return undefined;
  const [left, right] = args as [CelOperation, CelOperation];
  const sides = op === 'in' ? [left, ...elementsOf(right)] : [left, right];
  const typed = isCalculation ? undefined : sides.map((side) => fieldOf(argumentOf('type', side))).find((found) => found !== undefined);
  if (typed) return sides.some(isOtherType) ? { ...typed, kind: 'type', fails: false } : undefined;
  const field = sides.map(fieldOf).find((found) => found !== undefined);
  // A list such as [17, "17"] is for inputs of both kinds.
  const texts = new Set(sides.map(stringOf));
  const kind = sides
    .map((side) => (texts.has(writtenIn(side, source)) ? undefined : kindOf(side, bound)))
    .find((found) => found !== undefined);
  if (!field || !kind || (isCalculation && !['number', 'timestamp', 'duration'].includes(kind))) return undefined;
  // An expression that also tests for empty text is for inputs of both kinds.
  if (kind === 'null' && /""|''/.test(source)) return undefined;
  return {
    ...field,
    kind,
    fails: isCalculation,
    asText: isCalculation ? undefined : comparisonWithText(operation, { source, bound, fieldOf }),
  };
}

/** Undefined for a comparison with a calculated number or a timestamp. */
function comparisonWithText({ op, args }: CelOperation, { source, bound, fieldOf }: OuterExpression): string | undefined {
  const sides = args as [CelOperation, CelOperation];
  const texts = sides.map(textOf);
  if (texts.includes(undefined)) return undefined;
  if (op === 'in' || sides.every((side) => side.op !== 'list')) return texts.join(` ${op} `);
  const isElement = (sides[0].op === 'list' ? texts.reverse() : texts).join(' in ');
  return op === '==' ? isElement : `!(${isElement})`;

  function textOf(side: CelOperation): string | undefined {
    const written = writtenIn(side, source);
    if (side.op === 'list') {
      const elements = elementsOf(side).map(textOf);
      return elements.includes(undefined) ? undefined : `[${elements.join(', ')}]`;
    }
    const kind = kindOf(side, bound);
    if (fieldOf(side) || kind === undefined) return written;
    if (kind === 'null') return '""';
    if (isLiteral(side)) return JSON.stringify(written.replace(/u$/i, ''));
    return kind === 'bool' ? `string(${written})` : undefined;
  }
}

function writtenIn({ start, end }: CelOperation, source: string): string {
  return source.slice(start, end);
}

function isLiteral({ op, args }: CelOperation): boolean {
  return op === 'value' || (op === '-_' && isOperation(args) && isLiteral(args));
}

function stringOf({ op, args }: CelOperation): string | undefined {
  return op === 'value' && typeof args === 'string' ? args : undefined;
}

export function argumentOf(name: string, node: unknown): unknown {
  if (!isOperation(node) || node.op !== 'call') return undefined;
  const [called, given] = node.args as [string, unknown[]];
  return called === name && given.length === 1 ? given[0] : undefined;
}

function isOtherType({ op, args }: CelOperation): boolean {
  return op === 'id' && otherTypes.has(args as string);
}

function elementsOf({ op, args }: CelOperation): CelOperation[] {
  return op === 'list' ? (args as CelOperation[]) : [];
}

/** Undefined if the elements differ or are unknown. */
export function elementKind(list: CelOperation, bound: Bound): Kind | undefined {
  const [first, ...others] = elementsOf(list).map((element) => kindOf(element, bound));
  return others.every((kind) => kind === first) ? first : undefined;
}

/** Undefined if the value can be text, or is not known. */
function kindOf({ op, args }: CelOperation, bound: Bound): Kind | undefined {
  if (op === 'id') return bound.get(args as string);
  if (op === 'value') return literalKind(args);
  if (op === 'list') return 'list';
  if (decisions.has(op)) return 'bool';
  const operands = Array.isArray(args) ? args : [args];
  if (op === '?:') return kindOf(operands[1], bound) === kindOf(operands[2], bound) ? kindOf(operands[1], bound) : undefined;
  if (op === '-_' || calculations.has(op)) return operands.some((operand) => kindOf(operand, bound) === 'number') ? 'number' : undefined;
  const [name] = operands;
  if (op === 'call' || op === 'rcall') return kindsOfCalls.get(name);
  return undefined;
}

function literalKind(value: unknown): Kind | undefined {
  if (typeof value === 'boolean') return 'bool';
  if (value === null) return 'null';
  // An object is an unsigned number such as 5u, or bytes.
  return typeof value === 'string' || value instanceof Uint8Array ? undefined : 'number';
}
