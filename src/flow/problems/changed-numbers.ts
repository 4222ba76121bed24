import { type Document, isScalar, type Scalar } from 'yaml';
import { memberNames, visitScalars } from '../scalars.ts';
import type { LiteralSecret } from '../secrets/secrets.ts';
import { type PlacedIssue, placeOf } from '../variables/variables.ts';

/** Numbers in the form of JSON. They keep all their digits, so their text is what is written. */
export const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns the message about a plain scalar that YAML reads as a number with another text, such as `01234`; undefined for any other node. */
export function changedNumber(node: unknown): string | undefined {
  if (!isScalar(node) || typeof node.value !== 'number' || node.type !== 'PLAIN' || node.source === undefined) return undefined;
  if (jsonNumber.test(node.source) || String(node.value) === node.source) return undefined;
  return `YAML reads ${node.source} as the number ${node.value}: write "${node.source}"`;
}

/**
 * Returns a problem for each number that a flow would send or save, or a test would compare, with another text than the one that is written. Options that accept only
 * a string are checked with the other options. A number that is a secret has a problem already, and no message may show it.
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

/** The options of lookups that accept a number and send its text. */
const lookupTexts = /^(?:address\.\w+|point\.\w+|near\.(?:lat|lon)|area\.bbox|geoid|zcta|year)$/;

/** True if the number's text matters at the place with these names in a flow, and the check of options accepts the number. */
function changesFlow(names: readonly string[], scalar: Scalar): boolean {
  const [option = '', ...inside] = names.slice(names.findIndex((name) => name !== 'nodes'));
  if (option === 'map' && inside[1] === 'default') return true;
  if (!Number.isFinite(scalar.value)) return false;
  if (names[0] === 'vars' || names.includes('headers')) return true;
  if (names.at(-2) === 'params' && names.at(-3) === 'auth') return true;
  if (names[0] !== 'nodes' || (inside.length > 1 && inside.at(-1) === 'cel')) return false;
  if (option === 'form' || option === 'fields' || lookupTexts.test([option, ...inside].join('.'))) return true;
  const isJson = ['body', 'arguments', 'extra'].includes(option) || (option === 'batch' && inside[0] === 'items');
  return isJson && changesJson(scalar);
}

/** True if the number's text matters at the place with these names in a test file. */
function changesTest([, part = '', option = '', ...inside]: readonly string[], scalar: Scalar): boolean {
  if (part === 'set' || (part === 'options' && option === 'var')) return true;
  const isAnswer = part === 'answers' && (option === 'sent' ? inside[0] === 'body' : ['body', 'arguments', 'output'].includes(option));
  return (isAnswer || ['record', 'records', 'rows', 'rows_exactly'].includes(part)) && changesJson(scalar);
}

/**
 * True if a number in JSON has a leading zero or a plus, as postcodes and phone numbers have. Other notations, such as `.5`, mean the
 * number.
 */
function changesJson({ source }: Scalar): boolean {
  return /^(?:\+|-?0\d)/.test(source as string);
}
