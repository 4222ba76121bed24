import { type Document, isMap, isSeq, type Node, type Scalar } from 'yaml';
import { memberNames, type UsedScalar, visitScalars } from '../scalars.ts';
import { decidesHost, isExpressionPlace, type OptionPlace, placeOfVariable } from './variable-places.ts';
import { type FlowVariables, type PlacedIssue, placeOf, unknownVariable, type VariableValue } from './variables.ts';
import {
  type FilledText,
  filledExpression,
  filledTemplate,
  hostLength,
  leavesPath,
  usesInExpression,
  usesInTemplate,
  type VariableUse,
  wholeUse,
  wholeValue,
} from './written-variable.ts';

/** The text of a YAML scalar before its variables were replaced, and a function that converts offsets back to that text. */
export interface WrittenScalar extends Pick<FilledText, 'writtenAt'> {
  readonly value: string;
}

/** A document whose variables have been replaced with their values. */
export interface FilledDocument {
  readonly written: ReadonlyMap<Node, WrittenScalar>;
  readonly problems: readonly PlacedIssue[];
  readonly warnings: readonly PlacedIssue[];
  /** The variables that the flow uses, with their values. */
  readonly used: ReadonlyMap<string, VariableValue>;
}

/** Converts an offset in a scalar's text to the offset in the file. */
type OffsetIn = (scalar: Scalar, within: number) => number;

/** Replaces the variables in a document with their values. Code that reads the document later finds only literal text. */
export function fillVariables(document: Document, variables: FlowVariables, offsetIn: OffsetIn): FilledDocument {
  const problems: PlacedIssue[] = [...variables.issues];
  const found = optionsIn(document);
  for (const { option, text, uses, scalar } of found) {
    for (const use of uses) {
      const message = problemOf(option, use, text, variables);
      const place = wholeUse(text, uses) ? placeOf(scalar) : { offset: offsetIn(scalar, use.start), width: use.end - use.start };
      if (message !== undefined) problems.push({ ...place, message });
    }
  }
  const written = new Map<Node, WrittenScalar>();
  for (const { option, text, uses, scalar, isAlias: isOther } of found) {
    if (uses.length === 0 || isOther) continue;
    const { value, writtenAt } = fill(option, text, uses, variables);
    scalar.value = value;
    written.set(scalar, { value: text, writtenAt });
    if (leavesPathIn(option, text, uses, value)) problems.push({ ...placeOf(scalar), message: leavingPath });
  }
  const used = new Set(found.flatMap(({ uses }) => uses.map(({ name }) => name)));
  const unused = [...variables.names].filter(([name]) => !used.has(name));
  const warnings = unused.map(([name, key]) => ({ ...placeOf(key), message: `the variable "${name}" is never used` }));
  const values = [...variables.values].flatMap(([name, value]) => (used.has(name) && value !== undefined ? [[name, value] as const] : []));
  return { written, problems, warnings, used: new Map(values) };
}

/** An option that refers to variables. */
interface FoundOption {
  readonly option: OptionPlace;
  readonly scalar: Scalar;
  readonly text: string;
  readonly uses: readonly VariableUse[];
  /** True if the option is a YAML alias, whose text is written elsewhere in the file. */
  readonly isAlias: boolean;
}

/** Returns all options of a flow that refer to variables. An alias appears with its text, at the path of the alias. */
function optionsIn(document: Document): FoundOption[] {
  const found: FoundOption[] = [];
  visitScalars(document, ({ scalar, isAlias, ...place }) => {
    const text = scalar.value;
    if (typeof text !== 'string' || !text.includes('vars')) return;
    const option = optionAt(place, text);
    if (option.names[0] === 'vars' || option.names[0] === 'open_vars') return;
    const uses = isExpressionPlace(option) ? usesInExpression(text) : usesInTemplate(text);
    if (uses.length > 0) found.push({ option, scalar, text, uses, isAlias });
  });
  return found;
}

function optionAt({ key, ancestors }: Pick<UsedScalar, 'key' | 'ancestors'>, text: string): OptionPlace {
  const names = memberNames(ancestors);
  const holder = ancestors.findLast((node) => isMap(node));
  const isInList = isSeq(ancestors[ancestors.lastIndexOf(holder) - 1]);
  if (key === 'key') return { names: [...names.slice(0, -1), text], isKey: true, isAlone: false, isInList };
  return { names, isKey: false, isAlone: isMap(holder) && holder.items.length === 1, isInList };
}

const leavingPath =
  'with this value the path of the URL has a segment "." or "..", which leads out of the path that is written in the flow';

function problemOf(option: OptionPlace, use: VariableUse, text: string, { names, open }: FlowVariables): string | undefined {
  const { name } = use;
  if (!names.has(name)) return unknownVariable(name, names.keys());
  if (isExpressionPlace(option)) return undefined;
  const place = placeOfVariable(option);
  if (place === undefined)
    return 'a variable is not allowed here\nit is allowed wherever {{field}} is, and in base_url, token_url, the url of an MCP connection, rate, concurrency and timeout';
  if (!open.has(name)) return undefined;
  const isInHost = place === 'url' && use.start < hostLength(text);
  if (!isInHost && !decidesHost(option)) return undefined;
  const where = isInHost ? 'the host of a URL' : (option.names.at(-1) as string);
  return `"${name}" is listed in open_vars: it is not allowed in ${where}, because a caller could use it to send a credential to a different host\nremove it from open_vars`;
}

function fill(option: OptionPlace, text: string, uses: readonly VariableUse[], { values }: FlowVariables) {
  if (isExpressionPlace(option)) {
    const { text: value, writtenAt } = filledExpression(text, uses, values);
    return { value, writtenAt };
  }
  const valueFor = (name: string) => values.get(name) ?? standIn(name, option, text);
  const place = placeOfVariable(option) ?? 'text';
  const { text: value, writtenAt } = filledTemplate(text, uses, place, valueFor);
  const whole = wholeUse(text, uses);
  return { value: (whole && wholeValue(valueFor(whole.name), place)) ?? value, writtenAt };
}

function leavesPathIn(option: OptionPlace, text: string, uses: readonly VariableUse[], value: unknown): boolean {
  return placeOfVariable(option) === 'url' && leavesPath(text, uses, String(value));
}

/**
 * Returns a placeholder for a variable without a value, so that the option causes no further problems. The missing value has already been
 * reported, or a caller will provide it.
 */
function standIn(name: string, option: OptionPlace, text: string): VariableValue {
  const place = placeOfVariable(option);
  if (place === 'setting') return option.names.at(-1) === 'rate' ? '1/s' : 1;
  return place === 'url' && text.startsWith(`{{vars.${name}}}`) ? 'https://variable.invalid' : name;
}
