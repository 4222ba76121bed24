import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type Scalar, visit } from 'yaml';
import type { CodedMessage } from '../../core/error-code.ts';
import { invalidOption } from '../../core/failure.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { ExactNumber } from '../../core/value/value.ts';
import { isSecretVariable } from '../secrets/secrets.ts';

/** The value of a variable. */
export type VariableValue = string | number | boolean | ExactNumber;

/** The values that a run gives to the variables of a flow. */
export interface VariableChoice {
  /** Values by name, as they were given: they win over the file. */
  readonly given?: ReadonlyMap<string, string>;
  /** The environment whose values count. Called only if a variable has values by environment. */
  env?(): string;
  /** True if only open variables may be given. */
  readonly onlyOpen?: boolean;
  /** Takes the name of a given variable that the flow does not have. Undefined if that is an error. */
  readonly other?: ((name: string) => void) | undefined;
  /** True for a check without a run: an open variable without a value gets a stand-in. */
  readonly takesStandIns?: boolean;
}

/** A problem of a flow, by its place in the text. */
export interface PlacedIssue extends CodedMessage {
  /** 0-based. */
  readonly offset: number;
  readonly width: number;
}

/** The variables of a flow, with their values for a run. */
export interface FlowVariables {
  /** By name. Undefined for one whose value is wrong or missing: its problem is reported. */
  readonly values: ReadonlyMap<string, VariableValue | undefined>;
  /** The variables that a caller may give. */
  readonly open: ReadonlySet<string>;
  /** The open variables that have a stand-in for a value. */
  readonly standIns: ReadonlySet<string>;
  /** The names as they stand in the file. */
  readonly names: ReadonlyMap<string, Scalar>;
  /** The place of `vars` with all of its values; undefined without variables, and if other places share a value. */
  readonly range: readonly [number, number] | undefined;
  readonly issues: readonly PlacedIssue[];
}

/** Reads the variables of a flow. Values of a wrong kind are left to the schema. Throws an AutomateError (`usage`) for a given value that is refused. */
export function variablesOf(document: Document, choice: VariableChoice): FlowVariables {
  const pair = pairOfVariables(document);
  const written = writtenIn(document, pair);
  const issues: PlacedIssue[] = [];
  const open = openNames(document, written, issues);
  const values = new Map<string, VariableValue | undefined>();
  const standIns = new Set<string>();
  checkGiven(choice, written, open);
  for (const [name, variable] of written) {
    const given = choice.given?.get(name);
    const chosen = chosenIn(variable, choice);
    const found = given === undefined ? scalarValue(chosen) : givenValue(name, given, kindsIn(variable));
    const isMissing = found === undefined && isNothing(chosen);
    if (isMissing && choice.takesStandIns && open.has(name)) standIns.add(name);
    else if (isMissing) issues.push({ ...placeOf(variable.key), ...missing(name, variable, open.has(name), choice) });
    const wrong = typeof found === 'string' && given === undefined ? wrongText(found) : undefined;
    if (wrong !== undefined) issues.push({ ...placeOf(chosen as Node), message: wrong });
    values.set(name, wrong === undefined ? found : undefined);
  }
  const names = new Map([...written].map(([name, { key }]) => [name, key]));
  return { values, open, standIns, names, range: rangeOfVariables(pair), issues };
}

/** Passes on the names of given variables that the flow does not have. Throws an AutomateError (`usage`) for a given value that is refused. */
function checkGiven(choice: VariableChoice, written: ReadonlyMap<string, WrittenVariable>, open: ReadonlySet<string>): void {
  const { given = [], other, onlyOpen = false } = choice;
  for (const [name, text] of given) {
    if (other && !written.has(name)) other(name);
    else refuseGiven(name, text, { written, open, onlyOpen });
  }
}

/** The member `vars` of a flow; undefined without one. */
function pairOfVariables({ contents }: Document) {
  return isMap(contents) ? contents.items.find(({ key }) => isScalar(key) && key.value === 'vars') : undefined;
}

/** True for null, and for no value at all. */
function isNothing(node: ReturnType<typeof chosenIn>): boolean {
  return !node || (isScalar(node) && node.value === null);
}

/** A variable as it is written. */
interface WrittenVariable {
  readonly key: Scalar;
  /** Its values by environment; by no name for one that all environments share. */
  readonly values: ReadonlyMap<string | undefined, Node | null>;
}

function writtenIn(document: Document, pair: Pair | undefined): Map<string, WrittenVariable> {
  const plain = (node: unknown) => (isAlias(node) ? (node.resolve(document) ?? null) : node) as Node | null;
  const membersOf = (node: unknown) => (isMap(node) ? (node.items as Pair<Scalar>[]) : []);
  return new Map(
    membersOf(plain(pair?.value)).map(({ key, value }) => {
      const found = plain(value);
      const byEnv = membersOf(found).map((one) => [String(one.key.value), plain(one.value)] as const);
      return [String(key.value), { key, values: new Map(isMap(found) ? byEnv : [[undefined, found]]) }];
    }),
  );
}

function openNames(document: Document, written: ReadonlyMap<string, unknown>, issues: PlacedIssue[]): Set<string> {
  const list = isMap(document.contents) ? document.contents.get('open_vars', true) : undefined;
  const entries = isSeq(list) ? list.items.filter((item) => isScalar(item)) : [];
  for (const entry of entries)
    if (!written.has(String(entry.value)))
      issues.push({ ...placeOf(entry), message: unknownVariable(String(entry.value), written.keys()) });
  return new Set(entries.map(({ value }) => String(value)));
}

/** The message for a variable that the flow does not have. */
export function unknownVariable(name: string, names: Iterable<string>): string {
  const all = [...names];
  const wayOut = /^[A-Za-z_]\w*$/.test(name) ? `\nname it at the top of the flow: vars: { ${name}: VALUE }` : '';
  const choices = didYouMean(name, all) || (all.length > 0 ? `; there are ${all.join(', ')}` : wayOut);
  return `the flow has no variable "${name}"${choices}`;
}

function missing(name: string, { values }: WrittenVariable, isOpen: boolean, { env }: VariableChoice): CodedMessage {
  const where = !values.has(undefined) ? ` for the environment ${env?.() ?? 'default'}, and no default` : '';
  return { message: `the variable "${name}" has no value${where}`, code: 'variable-missing', details: { variable: name, isOpen } };
}

/** The value for the environment of the run. */
function chosenIn({ values }: WrittenVariable, { env }: VariableChoice): Node | null | undefined {
  if (values.has(undefined)) return values.get(undefined);
  const own = env?.() ?? 'default';
  return values.get(values.has(own) ? own : 'default');
}

/** The value of a scalar, numbers with their digits; undefined for null, and for anything that is no value of a variable. */
function scalarValue(node: Node | null | undefined): VariableValue | undefined {
  if (!isScalar(node)) return undefined;
  const { value, source } = node;
  if (typeof value === 'number') return numberOf(source ?? String(value)) ?? value;
  return typeof value === 'string' || typeof value === 'boolean' ? value : undefined;
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function numberOf(text: string): number | ExactNumber | undefined {
  if (!jsonNumber.test(text)) return undefined;
  return String(Number(text)) === text ? Number(text) : new ExactNumber(text);
}

/** The kinds of the values that a variable has in the file. */
function kindsIn({ values }: WrittenVariable): Set<string> {
  return new Set([...values.values()].flatMap((value) => (isScalar(value) && value.value !== null ? [typeof value.value] : [])));
}

/** A given value. It has the kind of the values in the file; a text if there is none. */
function givenValue(name: string, text: string, kinds: ReadonlySet<string>): VariableValue {
  const [kind = 'string'] = kinds.size === 1 ? kinds : [];
  if (kind === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  const number = kind === 'number' ? numberOf(text) : undefined;
  if (number !== undefined) return number;
  if (kind === 'string') return text;
  const expected = kind === 'number' ? 'a number' : 'true or false';
  throw invalidOption('var', `expected ${expected} for "${name}", as in the flow, found ${JSON.stringify(text)}`);
}

interface Known {
  readonly written: ReadonlyMap<string, unknown>;
  readonly open: ReadonlySet<string>;
  readonly onlyOpen: boolean;
}

function refuseGiven(name: string, text: string, { written, open, onlyOpen }: Known): void {
  if (onlyOpen && !open.has(name)) {
    const choices = open.size === 0 ? 'the flow lets callers set none' : `callers may set ${[...open].join(', ')}`;
    throw invalidOption('var', `"${name}" is no variable that a caller may set; ${choices}`);
  }
  if (!written.has(name)) throw invalidOption('var', unknownVariable(name, written.keys()));
  const wrong = isSecretVariable(name, text)
    ? `the value of "${name}" looks like a secret, and a variable is no place for one\nstore it as a credential: automate credentials set NAME`
    : wrongText(text);
  if (wrong !== undefined) throw invalidOption('var', wrong);
}

/** The reason for which a text cannot be the value of a variable; undefined if it can. */
function wrongText(text: string): string | undefined {
  if (text.includes('{{')) return 'the value of a variable is fixed for the run: expected no references in it, found {{';
  return text.isWellFormed() ? undefined : 'the value holds a broken character (a lone surrogate)';
}

/** The place of a node. */
export function placeOf({ range }: Node): Pick<PlacedIssue, 'offset' | 'width'> {
  const [offset = 0, end = 1] = range ?? [];
  return { offset, width: end - offset };
}

/** The place of the values; undefined if an anchor among them may stand for other values of the flow. */
function rangeOfVariables(pair: Pair | undefined): [number, number] | undefined {
  let hasAnchor = false;
  visit(pair?.value as Node | null, {
    Node(_key, node) {
      hasAnchor ||= 'anchor' in node && node.anchor !== undefined;
    },
  });
  if (hasAnchor) return undefined;
  const [start] = (pair?.key as Node | undefined)?.range ?? [];
  const end = (pair?.value as Node | undefined | null)?.range?.[2];
  return start === undefined || end === undefined ? undefined : [start, end];
}
