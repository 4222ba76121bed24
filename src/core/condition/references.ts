import type { ASTNode } from '@marcbachmann/cel-js';
import { isLibraryFunction } from './functions.ts';
import {
  argumentOf,
  type Bound,
  type CelOperation,
  elementKind,
  isOperation,
  type Mismatch,
  mismatchIn,
  type NamedField,
} from './mismatches.ts';

export interface Member {
  readonly of: string;
  readonly name: string;
  readonly written: string;
  /** True if the expression tests the member with `has()`, so that it need not exist. */
  readonly isTested: boolean;
}

/** A pattern that is written in the expression itself, as opposed to one from a field. */
export interface LiteralPattern {
  readonly pattern: string;
  /** The 0-based position of the pattern in the expression. */
  readonly offset: number;
  /** True for a pattern of `regex.extract`, false for a pattern of `matches`. */
  readonly extracts: boolean;
}

/** The references to fields and other members in an expression, and the expression in the form that the CEL library evaluates. */
export interface References {
  /** The names in the expression that no macro declares. They are fields of the record, or other variables. */
  readonly names: readonly { readonly field: string; readonly start: number; readonly inHas: boolean }[];
  readonly members: readonly Member[];
  readonly mismatches: readonly Mismatch[];
  readonly patterns: readonly LiteralPattern[];
  /** Counts loops and pattern matches. For values of total size n, an evaluation takes at most n to the power of `loops` steps. */
  readonly loops: number;
  /** The expression, rewritten so that every field is looked up in the record. No field name can then clash with a CEL keyword. */
  readonly text: string;
  /** Converts an offset in `text` to the offset in the expression as the user wrote it. */
  writtenAt(offset: number): number;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

export const recordVariable = 'record__';

/** The internal variable that contains `true` for each field that is not null. */
export const presentVariable = 'present__';

/** The method that is called instead of `matches`, because the CEL library's own method takes exponential time for some patterns. */
export const matchesMethod = 'matches__';

const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
const typeNames = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type']);
const conversions: Readonly<Record<string, string>> = { int: 'whole__(', uint: 'natural__(', double: 'number__(' };

/** `owner` is the variable whose members are named directly, such as the record; undefined if the names are variables themselves. */
export function referencesIn(ast: ASTNode, source: string, owner: string | undefined): References {
  const names: { field: string; start: number; inHas: boolean }[] = [];
  const insertions: Insertion[] = [];
  const members = new Members(source);
  const mismatches: Mismatch[] = [];
  const patterns: LiteralPattern[] = [];
  let loops = 0;
  const namesTypes = source.includes('type(');
  visit(ast, new Map());
  insertions.sort((a, b) => a.at - b.at);
  const text = withInsertions(source, insertions);
  return { names, members: members.all(), mismatches, patterns, loops, text, writtenAt: (offset) => writtenOffset(offset, insertions) };

  function visit(node: unknown, bound: Bound, inHas = false): void {
    if (Array.isArray(node)) for (const child of node) visit(child, bound, inHas);
    if (!isOperation(node)) return;
    if (node.op === 'id') visitName(node, bound, inHas);
    else if (node.op === 'call') visitCall(node, bound);
    else if (node.op === 'rcall') visitMethod(node, bound);
    else if (node.op !== 'value') visitOperator(node, bound);
  }

  function visitName({ args, start }: CelOperation, bound: Bound, inHas: boolean): void {
    const field = args as string;
    if (bound.has(field) || (namesTypes && typeNames.has(field))) return;
    names.push({ field, start, inHas });
    const holder = inHas ? presentVariable : owner;
    if (holder !== undefined) insertions.push({ at: start, text: `${holder}.` });
  }

  function visitCall({ args, start, end }: CelOperation, bound: Bound): void {
    const [name, called] = args as [string, { op?: string }[]];
    const conversion = called.length === 1 ? conversions[name] : undefined;
    if (conversion !== undefined) insertions.push({ at: source.indexOf('(', start) + 1, text: conversion });
    if (name === 'has') members.addTested(called[0]);
    if (name === 'has') mismatches.push(...memberTests(called[0], (operand) => fieldOperand(operand, bound, source, owner)));
    visit(called, bound, name === 'has' && called[0]?.op === 'id');
    if (conversion !== undefined) insertions.push({ at: end - 1, text: ')' });
  }

  function visitMethod({ args }: CelOperation, bound: Bound): void {
    const [name, receiver, called] = args as [string, CelOperation, CelOperation[]];
    const isLibrary = isLibraryCall(receiver, name, bound);
    if (!isLibrary) visit(receiver, bound);
    if (name === 'matches') insertions.push(insertionForMatches(source, receiver));
    const pattern = patternOf(isLibrary ? `${receiver.args}.${name}` : name, called);
    if (pattern) patterns.push(...literalPatterns(pattern));
    const variables = macros.has(name) && called[0]?.op === 'id' ? [called[0].args as string] : [];
    if (variables.length > 0 || pattern) loops += 1;
    const kind = variables.length > 0 ? elementKind(receiver, bound) : undefined;
    visit(called.slice(variables.length), new Map([...bound, ...variables.map((variable) => [variable, kind] as const)]));
  }

  function visitOperator(operation: CelOperation, bound: Bound): void {
    const mismatch = mismatchIn(operation, { source, bound, fieldOf: (operand) => fieldOperand(operand, bound, source, owner) });
    if (mismatch) mismatches.push(mismatch);
    members.add(operation, bound);
    visit(operation.args, bound);
  }
}

/** The field is named alone or, without an owner, as a member of `record`, as in a condition about a response. */
function fieldOperand(operand: unknown, bound: Bound, source: string, owner: string | undefined): NamedField | undefined {
  if (!isOperation(operand)) return undefined;
  const { op, args, start, end } = operand;
  const converted = argumentOf('dyn', operand);
  if (converted !== undefined) return fieldOperand(converted, bound, source, owner);
  const field = owner === undefined ? memberOf(operand, 'record') : op === 'id' ? (args as string) : undefined;
  if (field === undefined || bound.has(owner === undefined ? 'record' : field)) return undefined;
  return { field, written: source.slice(start, end), offset: start };
}

export interface MemberUse {
  readonly name: string;
  /** The 0-based start of the reference in the expression. */
  readonly start: number;
  readonly end: number;
}

/** Returns every use of a member of the variable `of`, in order. If the member is tested with `has()`, its use is the whole call. */
export function usesOfMembers(ast: ASTNode, of: string): MemberUse[] {
  return variableUses(ast, of).flatMap(({ name, ...use }) => (name === undefined ? [] : { name, ...use }));
}

/** Returns true if an expression uses the variable `of` in a different way than by members with constant names. */
export function usesWhole(ast: ASTNode, of: string): boolean {
  return variableUses(ast, of).some(({ name }) => name === undefined);
}

/** Returns every use of a variable, in order. `name` is the member; undefined if its name is computed, or if the whole variable is used. */
function variableUses(ast: ASTNode, of: string): (Omit<MemberUse, 'name'> & { readonly name: string | undefined })[] {
  const uses: (Omit<MemberUse, 'name'> & { readonly name: string | undefined })[] = [];
  visit(ast);
  return uses.sort((a, b) => a.start - b.start);

  function visit(node: unknown): void {
    if (Array.isArray(node)) for (const child of node) visit(child);
    if (!isOperation(node)) return;
    const { op, args } = node;
    const [first, second, third]: unknown[] = Array.isArray(args) ? args : [];
    const tested = op === 'call' && first === 'has' ? (second as CelOperation[])[0] : undefined;
    const name = memberOf(tested ?? node, of);
    if (name !== undefined || isNamed(node, of)) uses.push({ name, start: node.start, end: node.end });
    // A macro such as all() can declare a variable with the same name. Its body then refers to that variable, so the body is skipped.
    else if (op === 'rcall' && macros.has(first as string) && isNamed((third as CelOperation[])[0], of)) visit(second);
    else if (op !== 'value') visit(args);
  }
}

/** Tests for null are `note == null`, `null != record.note` and `has(note)`. */
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

function testedOperands({ op, args }: CelOperation): unknown[] {
  if (op === 'call' && (args as unknown[])[0] === 'has') return (args as unknown[])[1] as unknown[];
  if (op !== '==' && op !== '!=') return [];
  const operands = args as CelOperation[];
  const isNull = (operand: CelOperation) => operand.op === 'value' && operand.args === null;
  return operands.some(isNull) ? operands.filter((operand) => !isNull(operand)) : [];
}

function memberOf(node: unknown, of: string): string | undefined {
  if (!isOperation(node) || (node.op !== '.' && node.op !== '[]')) return undefined;
  const [holder, key] = node.args as [unknown, string | CelOperation];
  const name = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined;
  return isNamed(holder, of) && typeof name === 'string' ? name : undefined;
}

/** The member can be at any depth, such as `name.first`. */
function memberTests(node: unknown, fieldOf: (operand: unknown) => NamedField | undefined): Mismatch[] {
  if (!isOperation(node) || node.op !== '.') return [];
  const [holder] = node.args as [unknown];
  const field = fieldOf(holder);
  return field ? [{ ...field, kind: 'member', fails: false }] : memberTests(holder, fieldOf);
}

function isNamed(node: unknown, name: string): boolean {
  return isOperation(node) && node.op === 'id' && node.args === name;
}

/** True for a call such as `base64.encode(...)`, in which the name before the dot is a library rather than a field. */
function isLibraryCall({ op, args }: CelOperation, name: string, bound: Bound): boolean {
  return op === 'id' && !bound.has(args as string) && isLibraryFunction(args as string, name);
}

function insertionForMatches(source: string, receiver: CelOperation): Insertion {
  return { at: source.indexOf('matches', receiver.end) + 'matches'.length, text: matchesMethod.slice('matches'.length) };
}

function patternOf(called: string, [first, second]: readonly CelOperation[]): PatternArgument | undefined {
  if (called === 'matches') return { argument: first, extracts: false };
  return called === 'regex.extract' ? { argument: second, extracts: true } : undefined;
}

interface PatternArgument {
  readonly argument: CelOperation | undefined;
  readonly extracts: boolean;
}

function literalPatterns({ argument, extracts }: PatternArgument): LiteralPattern[] {
  const isLiteral = argument?.op === 'value' && typeof argument.args === 'string';
  return isLiteral ? [{ pattern: argument.args as string, offset: argument.start, extracts }] : [];
}

class Members {
  readonly #found: Omit<Member, 'isTested'>[] = [];
  readonly #tested = new Set<string>();
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  add(operation: CelOperation, bound: Bound): void {
    const member = this.#in(operation);
    if (member && !bound.has(member.of)) this.#found.push(member);
  }

  /** The argument of `has()` need not exist. */
  addTested(node: unknown): void {
    const member = isOperation(node) ? this.#in(node) : undefined;
    if (member) this.#tested.add(`${member.of}.${member.name}`);
  }

  all(): Member[] {
    return this.#found.map((member) => ({ ...member, isTested: this.#tested.has(`${member.of}.${member.name}`) }));
  }

  #in({ op, args, start, end }: CelOperation): Omit<Member, 'isTested'> | undefined {
    if (op !== '.' && op !== '[]') return undefined;
    const [holder, key] = args as [CelOperation, string | CelOperation];
    const name = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined;
    if (holder.op !== 'id' || typeof name !== 'string') return undefined;
    return { of: holder.args as string, name, written: this.#source.slice(start, end) };
  }
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
