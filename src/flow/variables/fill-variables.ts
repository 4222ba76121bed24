import { type Alias, type Document, isAlias, isMap, isPair, isScalar, isSeq, type Node, type Scalar, visit } from 'yaml';
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

/** The text of a scalar before its variables were filled in, and the way back to it. */
export interface WrittenScalar extends Pick<FilledText, 'writtenAt'> {
  readonly value: string;
}

/** A document whose variables are filled in. */
export interface FilledDocument {
  readonly written: ReadonlyMap<Node, WrittenScalar>;
  readonly problems: readonly PlacedIssue[];
  readonly warnings: readonly PlacedIssue[];
  /** The variables that the flow uses, with their values. */
  readonly used: ReadonlyMap<string, VariableValue>;
}

/** Finds the offset in the file of an offset in a scalar's text. */
type OffsetIn = (scalar: Scalar, within: number) => number;

/** Writes the values of variables in place of their names: whatever reads the document later finds literal text. */
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

/** An option's text that may name variables. */
interface FoundOption {
  readonly option: OptionPlace;
  readonly scalar: Scalar;
  readonly text: string;
  readonly uses: readonly VariableUse[];
  /** True for the place of an alias: its text stands elsewhere. */
  readonly isAlias: boolean;
}

/** Every text of the flow that names variables, aliases at their own places, too. */
function optionsIn(document: Document): FoundOption[] {
  const found: FoundOption[] = [];
  gather(document.contents, [], false);
  return found;

  function gather(root: Node | null, above: readonly unknown[], isOfAlias: boolean): void {
    visit(root, {
      Scalar(key, scalar, ancestors) {
        const text = scalar.value;
        if (typeof text !== 'string' || !text.includes('vars')) return;
        const option = optionAt(key, text, [...above, ...ancestors]);
        if (option.names[0] === 'vars' || option.names[0] === 'open_vars') return;
        const uses = isExpressionPlace(option) ? usesInExpression(text) : usesInTemplate(text);
        if (uses.length > 0) found.push({ option, scalar, text, uses, isAlias: isOfAlias });
      },
      Alias(_key, alias: Alias, ancestors) {
        const target = alias.resolve(document);
        if (target && !isAlias(target)) gather(target, [...above, ...ancestors], true);
      },
    });
  }
}

function optionAt(key: unknown, text: string, ancestors: readonly unknown[]): OptionPlace {
  const pairs = ancestors.filter((node) => isPair(node));
  const names = pairs.map((pair) => (isScalar(pair.key) ? String(pair.key.value) : ''));
  const holder = ancestors.findLast((node) => isMap(node));
  const isInList = isSeq(ancestors[ancestors.lastIndexOf(holder) - 1]);
  if (key === 'key') return { names: [...names.slice(0, -1), text], isKey: true, isAlone: false, isInList };
  return { names, isKey: false, isAlone: isMap(holder) && holder.items.length === 1, isInList };
}

const leavingPath = 'with this value the path of the URL has a segment "." or "..", which leaves the path that the flow names';

function problemOf(option: OptionPlace, use: VariableUse, text: string, { names, open }: FlowVariables): string | undefined {
  const { name } = use;
  if (!names.has(name)) return unknownVariable(name, names.keys());
  if (isExpressionPlace(option)) return undefined;
  const place = placeOfVariable(option);
  if (place === undefined)
    return 'a variable cannot stand here\nit may stand where the fields of a record may, and in base_url, token_url, the url of an MCP connection, rate, concurrency and timeout';
  if (!open.has(name)) return undefined;
  const isInHost = place === 'url' && use.start < hostLength(text);
  if (!isInHost && !decidesHost(option)) return undefined;
  const where = isInHost ? 'the host of a URL' : (option.names.at(-1) as string);
  return `a caller may set "${name}", which open_vars lists: it cannot stand in ${where}, where it could send a credential to another host\ntake it out of open_vars`;
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

/** The value of a variable without one, whose problem is reported or whose caller gives it later: it makes no other problem. */
function standIn(name: string, option: OptionPlace, text: string): VariableValue {
  const place = placeOfVariable(option);
  if (place === 'setting') return option.names.at(-1) === 'rate' ? '1/s' : 1;
  return place === 'url' && text.startsWith(`{{vars.${name}}}`) ? 'https://variable.invalid' : name;
}
