import { type Alias, type Document, isAlias, isPair, isScalar, type Node, type Scalar, visit } from 'yaml';
import { jsonNumber } from '../core/value/value.ts';
import type { LiteralSecret } from './secrets/secrets.ts';
import { type PlacedIssue, placeOf } from './variables.ts';

/** A YAML scalar at one of the places where it is used. */
export interface UsedScalar {
  readonly scalar: Scalar;
  /** The key as `visit` of the YAML library passes it: `key` for the name of a member. */
  readonly key: unknown;
  /** From the top of the document to the scalar, by way of the alias if there is one. */
  readonly ancestors: readonly unknown[];
  /** True if an alias stands at the place, and the scalar elsewhere in the file. */
  readonly isAlias: boolean;
}

/** A scalar that aliases repeat is taken once for each of its places. */
export function visitScalars(document: Document, take: (used: UsedScalar) => void): void {
  gather(document.contents, [], false);

  function gather(root: Node | null, above: readonly unknown[], isOfAlias: boolean): void {
    visit(root, {
      Scalar: (key, scalar, ancestors) => take({ scalar, key, ancestors: [...above, ...ancestors], isAlias: isOfAlias }),
      Alias(_key, alias: Alias, ancestors) {
        const target = alias.resolve(document);
        if (target && !isAlias(target)) gather(target, [...above, ...ancestors], true);
      },
    });
  }
}

export function memberNames(ancestors: readonly unknown[]): string[] {
  return ancestors.flatMap((node) => (isPair(node) ? [isScalar(node.key) ? String(node.key.value) : ''] : []));
}

/** A node that is not a scalar has no value. */
interface Styled {
  readonly type?: string | null;
  readonly value?: unknown;
}

/** The start of the scalar if the mistake is not found. `within` is the mistake's text, or its offset in the scalar's value. */
export function offsetWithin(
  text: string,
  node: Styled | undefined,
  [start, end]: readonly [number, number],
  within: string | number,
): number {
  if (typeof within === 'string') return start + Math.max(0, text.slice(start, end).search(wholeWord(within)));
  if (typeof node?.value !== 'string') return start;
  const source = text.slice(start, end);
  const contentStart = node.type?.startsWith('BLOCK') ? source.indexOf('\n') + 1 : node.type === 'PLAIN' ? 0 : 1;
  const units = [...source.slice(contentStart).matchAll(node.type?.startsWith('QUOTE') ? quotedUnit : plainUnit)];
  const unit = units[visibleCount(node.value.slice(0, within))];
  const last = units.at(-1);
  if (unit && within < node.value.trimEnd().length) return start + contentStart + unit.index;
  return last ? start + contentStart + last.index + last[0].length - (node.type?.startsWith('QUOTE') ? 1 : 0) : start;
}

// YAML folds line breaks and indentation, so only visible characters count.
const plainUnit = /\S/g;
const quotedUnit = /\\[^ntr0 ]|''|\S/g;

function visibleCount(text: string): number {
  return text.replace(/\s/g, '').length;
}

/** Does not match inside a longer name. */
function wholeWord(text: string): RegExp {
  const escaped = text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return /^\w+$/.test(text) ? new RegExp(`(?<!\\w)${escaped}(?!\\w)`) : new RegExp(escaped);
}

/** The message for a plain scalar that YAML reads as a number with a different text, such as `01234`. */
export function changedNumber(node: unknown): string | undefined {
  if (!isScalar(node) || typeof node.value !== 'number' || node.type !== 'PLAIN' || node.source === undefined) return undefined;
  if (jsonNumber.test(node.source) || String(node.value) === node.source) return undefined;
  return `YAML reads ${node.source} as the number ${node.value}: write "${node.source}"`;
}

/**
 * Finds numbers that a flow would send or save, or a test would compare, with another text than the written one. Leaves out options that
 * accept only a string, which are checked elsewhere, and secrets, which have a problem already and must not be shown.
 */
export function changedNumbers(document: Document, secrets: readonly LiteralSecret[], kind: 'flow' | 'test'): PlacedIssue[] {
  const changesText = kind === 'flow' ? changesFlow : changesTest;
  const problems = new Map<Scalar, PlacedIssue>();
  visitScalars(document, ({ scalar, key, ancestors }) => {
    const message = key === 'key' ? undefined : changedNumber(scalar);
    if (message === undefined || !changesText(memberNames(ancestors), scalar)) return;
    if (secrets.some(({ range }) => range[0] === scalar.range?.[0])) return;
    problems.set(scalar, { ...placeOf(scalar), message });
  });
  return [...problems.values()];
}

/** Accept a number and send its text. */
const lookupTexts = /^(?:address\.\w+|point\.\w+|near\.(?:lat|lon)|area\.bbox|geoid|zcta|year)$/;

/** True if the number's text matters here in a flow, and the check of options accepts the number. */
function changesFlow(names: readonly string[], scalar: Scalar): boolean {
  const [option = '', ...inside] = names.slice(names.findIndex((name) => name !== 'nodes'));
  if (option === 'map' && inside[1] === 'default') return true;
  if (!Number.isFinite(scalar.value)) return false;
  if (names[0] === 'vars' || names.includes('headers')) return true;
  if (names.at(-2) === 'params' && names.at(-3) === 'auth') return true;
  return names[0] === 'nodes' && !(inside.length > 1 && inside.at(-1) === 'cel') && changesOption(option, inside, scalar);
}

function changesOption(option: string, inside: readonly string[], scalar: Scalar): boolean {
  if (option === 'form' || option === 'fields' || lookupTexts.test([option, ...inside].join('.'))) return true;
  const isJson = ['body', 'arguments', 'extra'].includes(option) || (option === 'batch' && inside[0] === 'items');
  return isJson && changesJson(scalar);
}

/** True if the number's text matters here in a test file. */
function changesTest([, part = '', option = '', ...inside]: readonly string[], scalar: Scalar): boolean {
  if (part === 'set' || (part === 'options' && option === 'var')) return true;
  const isAnswer = part === 'answers' && (option === 'sent' ? inside[0] === 'body' : ['body', 'arguments', 'output'].includes(option));
  return (isAnswer || ['record', 'records', 'rows', 'rows_exactly'].includes(part)) && changesJson(scalar);
}

/** True for a leading zero or a plus, as in postcodes and phone numbers. Other notations, such as `.5`, mean the number. */
function changesJson({ source }: Scalar): boolean {
  return /^(?:\+|-?0\d)/.test(source as string);
}
