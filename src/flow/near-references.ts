import { compilePath } from '../core/answer/path.ts';
import { type ColumnNames, ownNames } from '../core/column-names.ts';
import type { Problem } from '../core/failure.ts';
import { allSteps } from '../core/plan.ts';
import {
  aliasFor,
  foreignReferences,
  isReferable,
  nearReferences,
  referable,
  referableNames,
  shellReferences,
  shellVariableAdvice,
} from '../core/template/template.ts';
import { yamlWord } from '../core/text/quoted-word.ts';
import { listedNames, nearest } from '../core/text/suggest.ts';
import { orUndefined, type ValuePath } from '../core/value/value.ts';
import type { PlacedStep } from './compilation.ts';
import type { FlowSource } from './source.ts';
import { isExpressionPlace, type OptionPlace, placeOfVariable } from './variable-places.ts';

/** The nodes of a flow, and the fields of its input if they are known. */
export interface FlowFields {
  readonly source: FlowSource;
  readonly names: ColumnNames;
  readonly steps: readonly (PlacedStep | undefined)[];
  readonly columns?: readonly string[];
}

/** Warns about text that looks like a reference such as `{{field}}` but is not one. */
export function nearReferenceWarnings(flow: FlowFields): Problem[] {
  const warnings: Problem[] = [];
  visitTexts(flow.source, ({ text, at, place, problem }) => {
    for (const braces of nearReferences(text)) warnings.push(problem(nearWarning(braces, text, at, flow), braces));
    const foreign = place.names.at(-1) === 'url' ? foreignReferences(text) : takesReferences(place) ? shellReferences(text) : [];
    for (const braces of foreign) warnings.push(problem(foreignWarning(braces), braces));
  });
  return warnings;
}

/**
 * Adds a problem for each text in braces that names a column of the input, although a reference cannot contain that name. Every record
 * would be sent with the braces instead of the column's value. Such a problem is also the reason of any other problem with the same value.
 */
export function withUnreferableColumns(problems: readonly Problem[], flow: FlowFields): Problem[] {
  const columns = [...(flow.columns ?? []), ...[...flow.names.entries()].map(([, column]) => column)];
  const names = new Set(columns.filter((column) => column !== '' && !isReferable(column)));
  let all = [...problems];
  if (names.size === 0) return all;
  visitTexts(flow.source, ({ text, at, place, problem }) => {
    if (!takesReferences(place)) return;
    for (const braces of new Set(nearReferences(text))) {
      const inside = braces.slice(2, -2);
      const column = [inside, inside.trim(), withoutPrefix(inside.trim())].find((name) => names.has(name));
      if (column === undefined) continue;
      const whole = problem('');
      all = all.filter(({ line, column: start }) => line !== whole.line || start !== whole.column);
      all.push(problem(columnProblem(braces, column, wayTo(column, at, flow)), braces));
    }
  });
  return all;
}

/** The problem of a column that a template cannot name, and what to write instead. */
function columnProblem(braces: string, column: string, wayOut: string): string {
  return [
    `${braces} would be sent as it is, although the input has a column "${column}": a name in a template can contain only letters, digits and underscores`,
    wayOut,
    `for the text itself, in a body, a form or set, write { cel: '${JSON.stringify(braces).replaceAll("'", "''")}' }`,
  ].join('\n');
}

/** Returns advice that leads to a reference to the field at a place of the flow. */
function wayTo(field: string, at: ValuePath, flow: FlowFields): string {
  const name = nameAt(field, at, flow);
  if (isReferable(name)) return name === field ? `write {{${name}}}` : `an earlier node renames the field: write {{${name}}}`;
  const alias = flow.names.aliasOf(name);
  if (alias !== undefined) return `the flow calls this column "${alias}": write {{${alias}}}`;
  const isColumn = flow.columns?.includes(name) ?? false;
  const better = referableNames(isColumn && flow.columns ? flow.columns : [name]).get(name) as string;
  if (!isColumn) return `${renaming(name, better)}, and write {{${better}}}`;
  return `${naming(name, better, flow.names)}\nand write {{${better}}}`;
}

/** Returns the name that the nodes up to a place of the flow give to a field. A node that renames a field knows its new name. */
function nameAt(field: string, at: ValuePath, flow: FlowFields): string {
  return stepsTo(at, flow).reduce((name, { node }) => node.renames?.get(name) ?? name, field);
}

/** Returns the nodes up to the node that contains a place, which is the last one. */
function stepsTo(at: ValuePath, { steps }: FlowFields): PlacedStep[] {
  const all = allSteps(steps.filter((step) => step !== undefined)) as PlacedStep[];
  return all.slice(0, all.findLastIndex((step) => step.at.every((name, index) => name === at[index])) + 1);
}

/** A text that may contain references, and a function that creates a problem at a part of it. */
interface PlacedText {
  readonly text: string;
  readonly at: ValuePath;
  readonly place: OptionPlace;
  problem(message: string, within?: string): Problem;
}

/** Visits each text that is no expression, and each member name in a body or a form. */
function visitTexts(source: FlowSource, take: (found: PlacedText) => void): void {
  visit(source.value, [], false);

  function visit(value: unknown, at: ValuePath, isAlone: boolean): void {
    const names = at.filter((step) => typeof step === 'string');
    const place = { names, isKey: false, isAlone, isInList: typeof at.at(-2) === 'number' };
    if (typeof value === 'string' && !isExpressionPlace(place))
      take({ text: value, at, place, problem: (message, within) => source.at(at, message, within) });
    if (typeof value !== 'object' || value === null) return;
    const members = Object.entries(value);
    for (const [name, member] of members) {
      const inside = [...at, Array.isArray(value) ? Number(name) : name];
      if (at.includes('body') || at.includes('form')) {
        const key = { names: [...names, name], isKey: true, isAlone: false, isInList: false };
        take({ text: name, at: inside, place: key, problem: (message) => source.atName(inside, message) });
      }
      visit(member, inside, !Array.isArray(value) && members.length === 1);
    }
  }
}

function takesReferences(place: OptionPlace): boolean {
  const kind = placeOfVariable(place);
  return kind !== undefined && kind !== 'setting';
}

function nearWarning(text: string, around: string, at: ValuePath, flow: FlowFields): string {
  if (!text.endsWith('}}'))
    return `${text} is not a reference and stays text; a reference ends with two braces\nwrite ${text.replace(/\}$/, '')}}}`;
  const inside = text.slice(2, -2).trim();
  if (/^vars\.[A-Za-z_]\w*$/.test(inside))
    return `${text} is not a reference and stays text; there can be no spaces between the braces\nwrite {{${inside}}}`;
  const [, variable = ''] = /^(?:var|variables?)\.(\w+)$/.exec(inside) ?? [];
  if (flow.source.variables?.values.has(variable))
    return `${text} is not a reference and stays text; variables are under vars\nwrite {{vars.${variable}}}`;
  if (/^(?:secrets?|credentials?)\.\w+$/.test(inside))
    return `${text} is not a reference and stays text; a secret is a credential\n${credentialUse}`;
  const name = withoutPrefix(inside);
  const equals = around.startsWith('=') && name !== inside ? ', and no = in front' : '';
  const wayOut = isReferable(name) ? `${name === inside ? 'drop the spaces:' : 'write'} {{${name}}}${equals}` : waysOut(name, at, flow);
  return `${text} is not a reference and stays text; a name can contain only letters, digits and underscores\n${wayOut}`;
}

const credentialUse = 'name it in auth: { type: bearer, credential: NAME }; in a body or a form write { credential: NAME }';

function foreignWarning(text: string): string {
  const shell = /^\$\{[A-Z]/.test(text) ? shellVariableAdvice(text) : '';
  return `${text} is not a reference and stays text; a reference has two braces${shell}\n${shell === '' ? '' : 'or, for a field of the record, '}write {{${text.replace(/[^\p{L}\p{M}\p{N}_]/gu, '')}}}`;
}

/** Removes the prefix of a field name in other tools, such as `$json.` or `.`. */
function withoutPrefix(inside: string): string {
  return inside.replace(/^(?:\$json)?\.(?=.)/, '').replace(/^\$json\[(["'])(.*)\1\]$/s, '$2');
}

/** Advice to give a name to a column whose own name cannot be written in a reference. */
export function naming(column: string, alias = aliasFor(column), names = ownNames): string {
  const line = `  ${alias}: ${yamlWord(column)}`;
  return names.isEmpty
    ? `give the column a name at the top of the flow:\ncolumns:\n${line}`
    : `give the column a name under columns:\n${line}`;
}

/** Advice to rename a field whose name cannot be written in a reference. */
export function renaming(name: string, to = referable(name)): string {
  return `rename the field with a set node first: rename: { ${JSON.stringify(name)}: ${to} }`;
}

/** Returns advice for a name in braces that cannot be a field reference, with the most likely advice first. */
function waysOut(name: string, at: ValuePath, flow: FlowFields): string {
  const better = referable(name);
  if (better === '') return 'write the name of a field between the braces';
  if (nameAt(name, at, flow) !== name) return wayTo(name, at, flow);
  const isPath = /[.[]/.test(name) && orUndefined(() => compilePath(name)) !== undefined;
  const earlier = stepsTo(at, flow).slice(0, -1);
  const known = flow.columns && [...new Set([...flow.columns, ...earlier.flatMap(({ node }) => node.columns([]))])];
  if (known && !known.includes(name)) {
    const near = known.find((field) => bareName(field) === bareName(name)) ?? (isPath ? lastOf(name, known) : nearest(name, known));
    if (near !== undefined) return `if you mean the field "${near}", ${wayTo(near, at, flow)}`;
    if (!isPath) return `write the name of a field between the braces; available: ${listedNames(known)}`;
  }
  const isMade = flow.columns && !flow.columns.includes(name);
  const advice = isMade ? renaming(name) : naming(name, undefined, flow.names);
  if (!isPath) return advice;
  // Mentions `map`, because a map that is a list of paths uses each path as a field's name.
  const ways = [`if a map adds it, rename it there: map: { ${better}: ${JSON.stringify(name)} }`, `if a column has this name, ${advice}`];
  return [...(isInsideField.test(name) ? [takingOut(name, better)] : []), ...ways].join('\n');
}

/** The field in a path such as `record.name`, as other tools name it. Undefined if the path can lead into a field. */
function lastOf(path: string, known: readonly string[]): string | undefined {
  const [, first = '', last = ''] = /^(\w+)\.(?:\w+\.)*(\w+)$/.exec(path) ?? [];
  return !known.includes(first) && known.includes(last) ? last : undefined;
}

/** Returns a name without its case and its separators. */
function bareName(name: string): string {
  return referable(name).replaceAll('_', '').toLowerCase();
}

/** Matches a path such as `nested.k` that is also a valid CEL expression. */
const isInsideField = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])+$/;

function takingOut(path: string, better: string): string {
  return `if it is a value inside a field, take it out with a set node first: fields: { ${better}: { cel: ${JSON.stringify(path)} } }`;
}
