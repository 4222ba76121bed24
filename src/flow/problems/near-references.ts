import { compilePath } from '../../core/answer/path.ts';
import type { Problem } from '../../core/failure.ts';
import {
  foreignReferences,
  isReferable,
  nearReferences,
  referable,
  referableNames,
  shellVariableAdvice,
} from '../../core/template/template.ts';
import { orUndefined } from '../../core/value/value.ts';
import type { At, Source } from '../source.ts';
import { isExpressionPlace, type OptionPlace, placeOfVariable } from '../variables/variable-places.ts';

/** Returns a warning for each text in the flow that looks like a reference such as `{{field}}` but is not one. */
export function nearReferenceWarnings(source: Source): Problem[] {
  const warnings: Problem[] = [];
  visitTexts(source, ({ text, place, problem }) => {
    for (const braces of nearReferences(text)) warnings.push(problem(nearWarning(braces, text), braces));
    if (place.names.at(-1) === 'url') for (const braces of foreignReferences(text)) warnings.push(problem(foreignWarning(braces), braces));
  });
  return warnings;
}

/**
 * Returns a problem for each text in braces that names a column of the input, although a reference cannot contain that name. Every record
 * would be sent with the braces instead of the column's value.
 */
export function unreferableColumns(source: Source, columns: readonly string[]): Problem[] {
  const names = new Map([...referableNames(columns)].filter(([column]) => !isReferable(column)));
  const problems: Problem[] = [];
  if (names.size === 0) return problems;
  visitTexts(source, ({ text, place, problem }) => {
    if (!takesReferences(place)) return;
    for (const braces of new Set(nearReferences(text))) {
      const inside = braces.slice(2, -2);
      const column = [inside, inside.trim(), withoutPrefix(inside.trim())].find((name) => names.has(name));
      if (column !== undefined) problems.push(problem(columnProblem(braces, column, names.get(column) as string), braces));
    }
  });
  return problems;
}

/** The problem of a column that a template cannot name, and what to write instead. */
function columnProblem(braces: string, column: string, name: string): string {
  return [
    `${braces} would be sent as it is, although the input has a column "${column}": a name in a template can contain only letters, digits and underscores`,
    `${renaming(column, name)}, and write {{${name}}}`,
    `for the text itself, in a body, a form or set, write { cel: '${JSON.stringify(braces).replaceAll("'", "''")}' }`,
  ].join('\n');
}

/** A text of the flow that may contain references, and a function that creates a problem at a part of the text. */
interface PlacedText {
  readonly text: string;
  readonly place: OptionPlace;
  problem(message: string, within: string): Problem;
}

/** Calls `take` for each text in a flow that is no expression, and for each name of a member in a body or a form. */
function visitTexts(source: Source, take: (found: PlacedText) => void): void {
  visit(source.value, [], false);

  function visit(value: unknown, at: At, isAlone: boolean): void {
    const names = at.filter((step) => typeof step === 'string');
    const place = { names, isKey: false, isAlone, isInList: typeof at.at(-2) === 'number' };
    if (typeof value === 'string' && !isExpressionPlace(place))
      take({ text: value, place, problem: (message, within) => source.at(at, message, within) });
    if (typeof value !== 'object' || value === null) return;
    const members = Object.entries(value);
    for (const [name, member] of members) {
      const inside = [...at, Array.isArray(value) ? Number(name) : name];
      if (at.includes('body') || at.includes('form')) {
        const key = { names: [...names, name], isKey: true, isAlone: false, isInList: false };
        take({ text: name, place: key, problem: (message) => source.atName(inside, message) });
      }
      visit(member, inside, !Array.isArray(value) && members.length === 1);
    }
  }
}

/** True for an option into which records insert their fields. */
function takesReferences(place: OptionPlace): boolean {
  const kind = placeOfVariable(place);
  return kind !== undefined && kind !== 'setting';
}

function nearWarning(text: string, around: string): string {
  if (!text.endsWith('}}'))
    return `${text} is not a reference and stays text; a reference ends with two braces\nwrite ${text.replace(/\}$/, '')}}}`;
  const inside = text.slice(2, -2).trim();
  if (/^vars\.[A-Za-z_]\w*$/.test(inside))
    return `${text} is not a reference and stays text; there can be no spaces between the braces\nwrite {{${inside}}}`;
  const name = withoutPrefix(inside);
  const equals = around.startsWith('=') && name !== inside ? ', and no = in front' : '';
  const wayOut = isReferable(name) ? `${name === inside ? 'drop the spaces:' : 'write'} {{${name}}}${equals}` : waysOut(name);
  return `${text} is not a reference and stays text; a name can contain only letters, digits and underscores\n${wayOut}`;
}

function foreignWarning(text: string): string {
  const shell = /^\$\{[A-Z]/.test(text) ? shellVariableAdvice(text) : '';
  return `${text} is not a reference and stays text; a reference has two braces${shell}\n${shell === '' ? '' : 'or, for a field of the record, '}write {{${text.replace(/[^\p{L}\p{M}\p{N}_]/gu, '')}}}`;
}

/** Removes the prefix of a field name in other tools, such as `$json.` or `.`. */
function withoutPrefix(inside: string): string {
  return inside.replace(/^(?:\$json)?\.(?=.)/, '').replace(/^\$json\[(["'])(.*)\1\]$/s, '$2');
}

/** Returns the advice to rename a field whose name cannot be written in a reference. `to`: the new name. */
export function renaming(name: string, to = referable(name)): string {
  return `rename the field with a set node first: rename: { ${JSON.stringify(name)}: ${to} }`;
}

/** Returns advice for a name in braces that cannot be a field reference, with the most likely advice first. */
function waysOut(name: string): string {
  const better = referable(name);
  if (better === '') return 'write the name of a field between the braces';
  const rename = renaming(name);
  if (!/[.[]/.test(name) || !orUndefined(() => compilePath(name))) return rename;
  // Mentions `map`, because a map that is a list of paths uses each path as a field's name.
  const ways = [`if a map adds it, rename it there: map: { ${better}: ${JSON.stringify(name)} }`, `if a column has this name, ${rename}`];
  return [...(isInsideField.test(name) ? [takingOut(name, better)] : []), ...ways].join('\n');
}

/** Matches a path such as `nested.k` that is also a valid CEL expression. */
const isInsideField = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])+$/;

function takingOut(path: string, better: string): string {
  return `if it is a value inside a field, take it out with a set node first: fields: { ${better}: { cel: ${JSON.stringify(path)} } }`;
}
