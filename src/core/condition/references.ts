import type { ASTNode } from '@marcbachmann/cel-js';
import { isLibraryFunction } from './functions.ts';

/** A field with a number on the other side of an operator. */
export interface BesideNumber {
  readonly field: string;
  /** 0-based, in the expression's text. */
  readonly offset: number;
  /** True if a text in the field is a failure. Otherwise it silently never equals the number. */
  readonly fails: boolean;
}

/** A member of a free name, such as `record.id`. */
export interface Member {
  readonly of: string;
  readonly name: string;
  /** As the expression has it. */
  readonly written: string;
}

/** A literal pattern. */
export interface LiteralPattern {
  readonly pattern: string;
  /** 0-based, in the expression's text. */
  readonly offset: number;
  /** True for a pattern of `regex.extract`. */
  readonly extracts: boolean;
}

/** The references of an expression to fields, and its text for the CEL library. */
export interface References {
  /** The free names, which are the record's fields. */
  readonly names: readonly { readonly field: string; readonly start: number; readonly inHas: boolean }[];
  /** The members of free names that the expression needs: one in `has()` is not needed. */
  readonly members: readonly Member[];
  readonly besideNumbers: readonly BesideNumber[];
  /** The literal patterns of calls of `matches` and `regex.extract`. */
  readonly patterns: readonly LiteralPattern[];
  /** Calls that go through a list or match a pattern: over values of a size, an evaluation takes at most size ** loops steps. */
  readonly loops: number;
  /** The expression with every field looked up in the record, so that no name can clash with a word of CEL. */
  readonly text: string;
  /** The offset in the written expression of an offset in `text`. */
  writtenAt(offset: number): number;
}

/** A text that is put into the expression. */
interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** The variable that holds the record's fields. */
export const recordVariable = 'record__';

/** The variable that holds `true` for each field that is not null. */
export const presentVariable = 'present__';

/** The method that stands for `matches`: the CEL library's own takes exponential time for some patterns. */
export const matchesMethod = 'matches__';

const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
const typeNames = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type']);
const conversions: Readonly<Record<string, string>> = { int: 'whole__(', uint: 'whole__(', double: 'number__(' };

/** Operators that take numbers on both sides, or texts on both. */
const numberOperators = new Set(['==', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%']);

interface Operation {
  readonly op: string;
  readonly args: unknown;
  readonly start: number;
  readonly end: number;
}

/** Variables that macros around a place bind. */
type Bound = ReadonlySet<string>;

/** Finds the references in a parsed expression. `owner`: the variable that holds what the free names stand for; undefined if they are variables themselves. */
export function referencesIn(ast: ASTNode, source: string, owner: string | undefined): References {
  const names: { field: string; start: number; inHas: boolean }[] = [];
  const insertions: Insertion[] = [];
  const members = new Members(source);
  const besideNumbers: BesideNumber[] = [];
  const patterns: LiteralPattern[] = [];
  let loops = 0;
  const namesTypes = source.includes('type(');
  visit(ast, new Set());
  insertions.sort((a, b) => a.at - b.at);
  const text = withInsertions(source, insertions);
  const found = { names, members: members.needed(), besideNumbers, patterns, loops, text };
  return { ...found, writtenAt: (offset) => writtenOffset(offset, insertions) };

  function visit(node: unknown, bound: Bound, inHas = false): void {
    if (Array.isArray(node)) for (const child of node) visit(child, bound, inHas);
    if (!isOperation(node)) return;
    if (node.op === 'id') visitName(node, bound, inHas);
    else if (node.op === 'call') visitCall(node, bound);
    else if (node.op === 'rcall') visitMethod(node, bound);
    else if (node.op !== 'value') visitOperator(node, bound);
  }

  function visitName({ args, start }: Operation, bound: Bound, inHas: boolean): void {
    const field = args as string;
    if (bound.has(field) || (namesTypes && typeNames.has(field))) return;
    names.push({ field, start, inHas });
    const holder = inHas ? presentVariable : owner;
    if (holder !== undefined) insertions.push({ at: start, text: `${holder}.` });
  }

  function visitCall({ args, start, end }: Operation, bound: Bound): void {
    const [name, called] = args as [string, { op?: string }[]];
    const conversion = called.length === 1 ? conversions[name] : undefined;
    if (conversion !== undefined) insertions.push({ at: source.indexOf('(', start) + 1, text: conversion });
    if (name === 'has') members.addTested(called[0]);
    visit(called, bound, name === 'has' && called[0]?.op === 'id');
    if (conversion !== undefined) insertions.push({ at: end - 1, text: ')' });
  }

  function visitMethod({ args }: Operation, bound: Bound): void {
    const [name, receiver, called] = args as [string, Operation, Operation[]];
    const isLibrary = isLibraryCall(receiver, name, bound);
    if (!isLibrary) visit(receiver, bound);
    if (name === 'matches') insertions.push(insertionForMatches(source, receiver));
    const pattern = patternOf(isLibrary ? `${receiver.args}.${name}` : name, called);
    if (pattern) patterns.push(...literalPatterns(pattern));
    const variables = macros.has(name) && called[0]?.op === 'id' ? [called[0].args as string] : [];
    if (variables.length > 0 || pattern) loops += 1;
    visit(called.slice(variables.length), new Set([...bound, ...variables]));
  }

  function visitOperator(operation: Operation, bound: Bound): void {
    const beside = besideNumberIn(operation, bound);
    if (beside) besideNumbers.push(beside);
    members.add(operation, bound);
    visit(operation.args, bound);
  }
}

/** A place in an expression that names a member, such as `vars.api`. */
export interface MemberUse {
  readonly name: string;
  /** 0-based, in the expression's text. */
  readonly start: number;
  readonly end: number;
}

/** The members of a free name in a parsed expression, in their order. One that `has()` tests stands with the call around it. */
export function usesOfMembers(ast: ASTNode, of: string): MemberUse[] {
  const uses: MemberUse[] = [];
  visit(ast);
  return uses.sort((a, b) => a.start - b.start);

  function visit(node: unknown): void {
    if (Array.isArray(node)) for (const child of node) visit(child);
    if (!isOperation(node)) return;
    const { op, args } = node;
    const [first, second, third]: unknown[] = Array.isArray(args) ? args : [];
    const tested = op === 'call' && first === 'has' ? (second as Operation[])[0] : undefined;
    const name = memberOf(tested ?? node, of);
    if (name !== undefined) uses.push({ name, start: node.start, end: node.end });
    // A macro such as all() may bind the name itself.
    else if (op === 'rcall' && macros.has(first as string) && isNamed((third as Operation[])[0], of)) visit(second);
    else if (op !== 'value') visit(args);
  }
}

/** The fields that a parsed expression tests for null: `note == null`, `null != record.note`, `has(note)`. */
export function nullTestsOf(ast: ASTNode): string[] {
  const found: string[] = [];
  visit(ast);
  return found;

  function visit(node: unknown): void {
    if (Array.isArray(node)) for (const child of node) visit(child);
    if (!isOperation(node) || node.op === 'value') return;
    for (const operand of testedOperands(node)) {
      const field = isOperation(operand) && operand.op === 'id' ? (operand.args as string) : memberOf(operand, 'record');
      if (field !== undefined) found.push(field);
    }
    visit(node.args);
  }
}

/** The operands that an operation compares with null, or the argument of `has()`. */
function testedOperands({ op, args }: Operation): unknown[] {
  if (op === 'call' && (args as unknown[])[0] === 'has') return (args as unknown[])[1] as unknown[];
  if (op !== '==' && op !== '!=') return [];
  const operands = args as Operation[];
  const isNull = (operand: Operation) => operand.op === 'value' && operand.args === null;
  return operands.some(isNull) ? operands.filter((operand) => !isNull(operand)) : [];
}

function memberOf(node: unknown, of: string): string | undefined {
  if (!isOperation(node) || (node.op !== '.' && node.op !== '[]')) return undefined;
  const [holder, key] = node.args as [unknown, string | Operation];
  const name = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined;
  return isNamed(holder, of) && typeof name === 'string' ? name : undefined;
}

function isNamed(node: unknown, name: string): boolean {
  return isOperation(node) && node.op === 'id' && node.args === name;
}

/** True for a call such as `base64.encode(...)`, whose receiver is not a field. */
function isLibraryCall({ op, args }: Operation, name: string, bound: Bound): boolean {
  return op === 'id' && !bound.has(args as string) && isLibraryFunction(args as string, name);
}

function insertionForMatches(source: string, receiver: Operation): Insertion {
  return { at: source.indexOf('matches', receiver.end) + 'matches'.length, text: matchesMethod.slice('matches'.length) };
}

/** The argument of a call that is a pattern; undefined for a call without one. */
function patternOf(called: string, [first, second]: readonly Operation[]): PatternArgument | undefined {
  if (called === 'matches') return { argument: first, extracts: false };
  return called === 'regex.extract' ? { argument: second, extracts: true } : undefined;
}

interface PatternArgument {
  readonly argument: Operation | undefined;
  readonly extracts: boolean;
}

function literalPatterns({ argument, extracts }: PatternArgument): LiteralPattern[] {
  const isLiteral = argument?.op === 'value' && typeof argument.args === 'string';
  return isLiteral ? [{ pattern: argument.args as string, offset: argument.start, extracts }] : [];
}

function besideNumberIn({ op, args }: Operation, bound: Bound): BesideNumber | undefined {
  const operands = numberOperators.has(op) ? (args as Operation[]) : [];
  const field = operands.find((operand) => operand.op === 'id' && !bound.has(operand.args as string));
  const isNumber = operands.some((operand) => operand.op === 'value' && /^(?:bigint|number)$/.test(typeof operand.args));
  return field && isNumber ? { field: field.args as string, offset: field.start, fails: op !== '==' && op !== '!=' } : undefined;
}

/** Gathers the members of names: `record.id`, `record["first-name"]`. */
class Members {
  readonly #found: Member[] = [];
  readonly #tested = new Set<string>();
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  add(operation: Operation, bound: Bound): void {
    const member = this.#in(operation);
    if (member && !bound.has(member.of)) this.#found.push(member);
  }

  /** Takes the argument of `has()`. */
  addTested(node: unknown): void {
    const member = isOperation(node) ? this.#in(node) : undefined;
    if (member) this.#tested.add(`${member.of}.${member.name}`);
  }

  needed(): Member[] {
    return this.#found.filter(({ of, name }) => !this.#tested.has(`${of}.${name}`));
  }

  #in({ op, args, start, end }: Operation): Member | undefined {
    if (op !== '.' && op !== '[]') return undefined;
    const [holder, key] = args as [Operation, string | Operation];
    const name = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined;
    if (holder.op !== 'id' || typeof name !== 'string') return undefined;
    return { of: holder.args as string, name, written: this.#source.slice(start, end) };
  }
}

function isOperation(node: unknown): node is Operation {
  return typeof node === 'object' && node !== null && 'op' in node;
}

function withInsertions(source: string, insertions: readonly Insertion[]): string {
  let text = '';
  let copied = 0;
  for (const insertion of insertions) {
    text += source.slice(copied, insertion.at) + insertion.text;
    copied = insertion.at;
  }
  return text + source.slice(copied);
}

function writtenOffset(offset: number, insertions: readonly Insertion[]): number {
  let inserted = 0;
  for (const { at, text } of insertions) {
    if (at + inserted >= offset) break;
    inserted += Math.min(text.length, offset - at - inserted);
  }
  return offset - inserted;
}
