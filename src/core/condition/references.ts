import type { ASTNode } from '@marcbachmann/cel-js';
import { functionsOf } from './functions.ts';
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

/** A pattern, time zone or example that is written in the expression itself, as opposed to one from a field. */
export interface LiteralPattern {
  readonly pattern: string;
  /** The 0-based position of the pattern in the expression. */
  readonly offset: number;
  readonly kind: PatternKind;
}

export type PatternKind = 'matches' | 'extract' | 'read-date' | 'write-date' | 'zone' | 'number';

/** The references to fields and other members in an expression, and the expression in the form that the CEL library evaluates. */
export interface References {
  /** The names in the expression that no macro declares. They are fields of the record, or other variables. */
  readonly names: readonly { readonly field: string; readonly start: number; readonly inHas: boolean }[];
  readonly members: readonly Member[];
  readonly mismatches: readonly Mismatch[];
  readonly patterns: readonly LiteralPattern[];
  /** Counts loops and pattern matches. For values of total size n, an evaluation takes at most n to the power of `loops` steps. */
  readonly loops: number;
  /** True if the value of `exactVariable` is needed. */
  readonly keepsDigits: boolean;
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

/** The macro that is called instead of `has`, because the CEL library's own fails for a member of null, and is true for a null member. */
export const hasMacro = 'has__';

/** The internal variable that contains the same as the record, with numbers that keep their digits. Only `json.text` can read them. */
export const exactVariable = 'exact__';

/** The function that makes ordinary numbers of those that keep their digits. */
export const plainFunction = 'plain__';

/** The internal variable with the evaluation. */
export const evaluationVariable = 'evaluation__';

/**
 * Functions that get the evaluation as their last argument. The CEL library's own `matches` has no such argument, and is never called,
 * because it takes exponential time for some patterns.
 */
const evaluating = new Set(['now', 'matches', 'regex.extract']);

const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** The elements that they return are parts of the value. */
const partMacros = new Set(['filter', 'map']);
const searches = new Set(['matches', 'regex.extract']);
const typeNames = new Set(['int', 'uint', 'double', 'bool', 'string', 'bytes', 'list', 'map', 'null_type', 'type']);
const conversions: Readonly<Record<string, string>> = { int: 'whole__(', uint: 'natural__(', double: 'number__(', timestamp: 'moment__(' };

/** `owner` is the variable whose members are named directly, such as the record; undefined if the names are variables themselves. */
export function referencesIn(ast: ASTNode, source: string, owner: string | undefined): References {
  return new ReferenceWalk(source, owner).through(ast);
}

/** Goes once through an expression, collects what it refers to, and rewrites it for the CEL library. */
class ReferenceWalk {
  readonly #names: { field: string; start: number; inHas: boolean }[] = [];
  readonly #insertions: Insertion[] = [];
  readonly #members: Members;
  readonly #mismatches: Mismatch[] = [];
  readonly #patterns: LiteralPattern[] = [];
  readonly #source: string;
  readonly #owner: string | undefined;
  readonly #namesTypes: boolean;
  #loops = 0;
  #keepsDigits = false;

  constructor(source: string, owner: string | undefined) {
    this.#members = new Members(source);
    this.#source = source;
    this.#owner = owner;
    this.#namesTypes = source.includes('type(');
  }

  through(ast: ASTNode): References {
    this.#visit(ast, { bound: new Map(), exact: new Set() });
    const insertions = this.#insertions.sort((a, b) => a.at - b.at);
    return {
      names: this.#names,
      members: this.#members.all(),
      mismatches: this.#mismatches,
      patterns: this.#patterns,
      loops: this.#loops,
      keepsDigits: this.#keepsDigits,
      text: withInsertions(this.#source, insertions),
      writtenAt: (offset) => writtenOffset(offset, insertions),
    };
  }

  #visit(node: unknown, within: Within): void {
    if (Array.isArray(node)) for (const child of node) this.#visit(child, within);
    if (!isOperation(node)) return;
    if (node.op === 'id') this.#visitName(node, within);
    else if (node.op === 'call') this.#visitCall(node, within);
    else if (node.op === 'rcall') this.#visitMethod(node, within);
    else if (node.op !== 'value') this.#visitOperator(node, within);
  }

  #visitName({ args, start, end }: CelOperation, { bound, exact, isExact, inHas = false }: Within): void {
    const field = args as string;
    if (exact.has(field) && !isExact) this.#makePlain(start, end);
    if (bound.has(field) || (this.#namesTypes && typeNames.has(field))) return;
    this.#names.push({ field, start, inHas });
    const holder = isExact ? exactVariable : this.#owner;
    if (holder === exactVariable) this.#keepsDigits = true;
    if (holder !== undefined) this.#insertions.push({ at: start, text: `${holder}.` });
  }

  #visitCall({ args, start, end }: CelOperation, within: Within): void {
    const [name, called] = args as [string, { op?: string }[]];
    const conversion = called.length === 1 ? conversions[name] : undefined;
    if (conversion !== undefined) this.#insertions.push({ at: this.#source.indexOf('(', start) + 1, text: conversion });
    if (name === 'has' && called.length === 1) this.#insertions.push({ at: start + name.length, text: hasMacro.slice(name.length) });
    if (name === 'has') this.#members.addTested(called[0]);
    if (name === 'has') this.#mismatches.push(...memberTests(called[0], this.#fieldsWithin(within.bound)));
    // `has()` accepts no calls in its argument, and needs no ordinary numbers.
    const isExact = name === 'has' ? within.exact.size > 0 : name === 'dyn' && within.isExact === true;
    this.#visit(called, { ...within, isExact, inHas: name === 'has' && called[0]?.op === 'id' });
    if (conversion !== undefined) this.#insertions.push({ at: end - 1, text: ')' });
    if (evaluating.has(name)) this.#addEvaluation(called as CelOperation[], end);
  }

  #visitMethod({ args, start, end }: CelOperation, within: Within): void {
    const [name, receiver, called] = args as [string, CelOperation, CelOperation[]];
    const isLibrary = isLibraryCall(receiver, name, within.bound);
    const fullName = isLibrary ? `${receiver.args}.${name}` : name;
    const variables = macroVariables(name, called);
    const isPart = within.isExact === true && partMacros.has(name);
    const isExact = variables.length > 0 && (isPart || /\bjson\s*\.\s*text\b/.test(this.#source.slice(receiver.end, end)));
    if (isExact && name === 'filter' && !isPart) this.#makePlain(start, end);
    if (!isLibrary) this.#visit(receiver, { ...within, isExact });
    this.#patterns.push(...literalPatterns(fullName, called));
    if (variables.length > 0 || searches.has(fullName)) this.#loops += 1;
    const inner = withVariables(within, variables, receiver, isExact);
    this.#visit(called.slice(variables.length, -1), inner);
    this.#visit(called.slice(variables.length).at(-1), { ...inner, isExact: fullName === 'json.text' || (isPart && name === 'map') });
    if (evaluating.has(fullName) && called.length > 0) this.#addEvaluation(called, end);
  }

  #addEvaluation(called: readonly CelOperation[], end: number): void {
    const last = called.at(-1);
    // The last argument can be followed by a comma already, and by comments.
    const needsComma =
      last &&
      !this.#source
        .slice(last.end, end - 1)
        .replace(/\/\/.*/g, '')
        .includes(',');
    this.#insertions.push({ at: end - 1, text: needsComma ? `, ${evaluationVariable}` : evaluationVariable });
  }

  #visitOperator(operation: CelOperation, within: Within): void {
    const { bound } = within;
    const mismatch = mismatchIn(operation, { source: this.#source, bound, fieldOf: this.#fieldsWithin(bound) });
    if (mismatch) this.#mismatches.push(mismatch);
    this.#members.add(operation, bound);
    const exact = within.isExact ? exactOperands(operation) : [];
    for (const operand of operandsOf(operation)) this.#visit(operand, { ...within, isExact: exact.includes(operand), inHas: false });
  }

  #makePlain(start: number, end: number): void {
    this.#insertions.push({ at: start, text: `${plainFunction}(` }, { at: end, text: ')' });
  }

  #fieldsWithin(bound: Bound): (operand: unknown) => NamedField | undefined {
    return (operand) => fieldOperand(operand, bound, this.#source, this.#owner);
  }
}

interface Within {
  readonly bound: Bound;
  /** Those of the bound variables whose numbers keep their digits. */
  readonly exact: ReadonlySet<string>;
  /** True if the part's value goes unchanged into a text of JSON, so that its numbers have to keep their digits. */
  readonly isExact?: boolean;
  readonly inHas?: boolean;
}

function macroVariables(name: string, called: readonly CelOperation[]): string[] {
  return macros.has(name) && called[0]?.op === 'id' ? [called[0].args as string] : [];
}

/** The surroundings of the body of a macro that declares these variables for the elements of `list`. */
function withVariables({ bound, exact }: Within, names: readonly string[], list: CelOperation, isExact: boolean): Within {
  const kind = names.length > 0 ? elementKind(list, bound) : undefined;
  const kept = [...exact].filter((name) => !names.includes(name));
  return {
    bound: new Map([...bound, ...names.map((name) => [name, kind] as const)]),
    exact: new Set(isExact ? [...kept, ...names] : kept),
  };
}

/** The operands of an object are its names and values in turn. */
function operandsOf({ args }: CelOperation): unknown[] {
  return Array.isArray(args) ? args.flat() : [args];
}

/** The operands whose value is the operation's value, or a part of it. */
function exactOperands(operation: CelOperation): unknown[] {
  const operands = operandsOf(operation);
  if (operation.op === 'list') return operands;
  if (operation.op === 'map') return operands.filter((_, index) => index % 2 === 1);
  if (operation.op === '?:') return operands.slice(1);
  return operation.op === '.' || operation.op === '[]' ? operands.slice(0, 1) : [];
}

/** The field is named as a member of `record` or, with an owner, alone. */
function fieldOperand(operand: unknown, bound: Bound, source: string, owner: string | undefined): NamedField | undefined {
  if (!isOperation(operand)) return undefined;
  const { op, args, start, end } = operand;
  const converted = argumentOf('dyn', operand);
  if (converted !== undefined) return fieldOperand(converted, bound, source, owner);
  const ofRecord = memberOf(operand, 'record');
  const field = ofRecord ?? (owner !== undefined && op === 'id' ? (args as string) : undefined);
  if (field === undefined || bound.has(ofRecord === undefined ? field : 'record')) return undefined;
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

/**
 * Returns the uses of the variable `of` that name no constant member. It is searched if the expression looks for members in it, as in
 * `of[name]`, `name in of` and `of.exists(...)`.
 */
export function wholeUses(ast: ASTNode, of: string): { readonly isSearched: boolean }[] {
  const uses: { readonly isSearched: boolean }[] = [];
  visit(ast, false);
  return uses;

  function visit(node: unknown, isSearched: boolean): void {
    if (Array.isArray(node)) for (const child of node) visit(child, false);
    if (!isOperation(node)) return;
    const { op, args } = node;
    if (isNamed(node, of)) uses.push({ isSearched });
    else if (op === 'value' || op === 'id' || memberOf(node, of) !== undefined) return;
    else if (op === '[]' || op === 'in')
      for (const [index, part] of (args as unknown[]).entries()) visit(part, index === (op === 'in' ? 1 : 0));
    else if (op === 'rcall') {
      const [name, receiver, called] = args as [string, unknown, CelOperation[]];
      visit(receiver, macros.has(name));
      if (!macros.has(name) || !isNamed(called[0], of)) visit(called, false);
    } else visit(args, false);
  }
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

/** The member can be at any depth, such as `name.first`. A member of `record` is a field itself. */
function memberTests(node: unknown, fieldOf: (operand: unknown) => NamedField | undefined): Mismatch[] {
  if (!isOperation(node) || node.op !== '.') return [];
  const [holder] = node.args as [unknown];
  if (isNamed(holder, 'record')) return [];
  const field = fieldOf(holder);
  return field ? [{ ...field, kind: 'member', fails: false }] : memberTests(holder, fieldOf);
}

function isNamed(node: unknown, name: string): boolean {
  return isOperation(node) && node.op === 'id' && node.args === name;
}

/** True for a call such as `base64.encode(...)`, in which the name before the dot is a library rather than a field. */
function isLibraryCall({ op, args }: CelOperation, name: string, bound: Bound): boolean {
  return op === 'id' && !bound.has(args as string) && functionsOf(args as string).includes(name);
}

/** The arguments that have to be patterns, by their places. */
const patternArguments: Readonly<Record<string, readonly (readonly [place: number, kind: PatternKind])[]>> = {
  matches: [[0, 'matches']],
  'regex.extract': [[1, 'extract']],
  'date.parse': [
    [1, 'read-date'],
    [2, 'zone'],
  ],
  'date.format': [
    [1, 'write-date'],
    [2, 'zone'],
  ],
  'number.parse': [[1, 'number']],
};

function literalPatterns(called: string, given: readonly CelOperation[]): LiteralPattern[] {
  const places = Object.hasOwn(patternArguments, called) ? (patternArguments[called] ?? []) : [];
  return places.flatMap(([place, kind]) => {
    const { op, args, start } = given[place] ?? {};
    return op === 'value' && typeof args === 'string' ? [{ pattern: args, offset: start as number, kind }] : [];
  });
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
